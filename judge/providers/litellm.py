"""`litellm/ANY`: every provider that litellm knows, by its own naming, e.g. `litellm/gemini/gemini-2.5-flash`.

litellm is slow to import and, left alone, fetches a price list and retries: it is imported on the first
call, kept off the network for anything but that call, and its retries and telemetry are off.

Several samples of one prompt are asked in one request where litellm says that the model takes `n`, as by
`judge.providers.openai`. Elsewhere the first is asked before the others, which read a long prompt from the provider's
cache where the provider keeps one by itself; marks for Anthropic's cache are set by `anthropic/MODEL` alone.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from judge.config import Settings, keep_litellm_offline
from judge.errors import ProviderError, TerminalError
from judge.providers.choices import CACHED_FROM, refuses_choices
from judge.providers.failures import bad_response, broken_connection, failure, server_error
from judge.providers.limits import PerLoop
from judge.providers.litellm_clients import Clients, split_cache
from judge.providers.openai import TOP_LOGPROBS, adapted, replies_of
from judge.providers.prices import context_of
from judge.providers.redaction import guard_logs
from judge.providers.refusals import OPTIONAL, TOKEN_LIMITS, Adaptation, dropped, refused_parameter
from judge.providers.schema import for_small_model, is_strict
from judge.providers.tokens import estimate_tokens
from judge.providers.transport import from_sdk
from judge.types.request import Reply, Request, Sharing

NO_KEY = "none"
_NOISE = (r"Items? .* on TypedDict class .* using the `ReadOnly` qualifier", r"Pydantic serializer warnings")
"""Warnings that litellm causes in itself during a call, when it loads its parts and reads its own records."""
_NAMES = (*TOKEN_LIMITS, *OPTIONAL, "thinking", "response_format", "tools", "tool_choice", "system")


def open_provider(model: str, settings: Settings) -> LiteLLM:
    """The provider behind `litellm/ANY`."""
    return LiteLLM(model, settings)


class LiteLLM:
    """Chat completions by litellm."""

    offline = False

    def __init__(self, model: str, settings: Settings) -> None:
        self.name = f"litellm/{model}"
        self.context_tokens = context_of(self.name, settings)
        self._model = model
        self._settings = settings
        self._url = settings.provider("litellm").base_url
        self.host: str | None = urlsplit(self._url).netloc if self._url else None
        self._mode = settings.model(self.name).structured or "json_schema"
        self._small = settings.model(self.name).small
        self._secrets = settings.secrets()
        self._adaptation = Adaptation(adapted)
        self._one_choice = False
        guard_logs(self._secrets)
        self._clients = PerLoop(Clients, Clients.aclose)

    def count_tokens(self, text: str) -> int:
        """An overestimate; see `estimate_tokens`."""
        return estimate_tokens(text)

    def body(self, request: Request) -> dict[str, Any]:
        """The arguments of the call before anything is adapted."""
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": "\n\n".join(request.segments)},
            ],
            "max_tokens": sampling.max_output_tokens,
        }
        for name in ("temperature", "top_p", "seed", "reasoning_effort"):
            value = getattr(sampling, name)
            if value is not None:
                body[name] = value
        if sampling.thinking_tokens:
            body["thinking"] = {"type": "enabled", "budget_tokens": sampling.thinking_tokens}
        if sampling.logprobs:
            body["logprobs"] = True
            body["top_logprobs"] = TOP_LOGPROBS
        asked = for_small_model(request, quotes=False) if self._small else request.reply_schema
        schema = {"name": request.reply_name, "schema": asked, "strict": is_strict(asked)}
        if self._mode == "json_schema":
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self._mode == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif self._mode == "tool":
            function = {"name": request.reply_name, "parameters": asked}
            body["tools"] = [{"type": "function", "function": function}]
            body["tool_choice"] = {"type": "function", "function": {"name": request.reply_name}}
        return body

    def payload(self, request: Request) -> dict[str, Any]:
        """URL and arguments, without key or headers."""
        return {"url": self._url, "body": self.body(request)}

    async def complete(self, request: Request) -> Reply:
        """One completion; see `Provider.complete`."""
        return (await self.complete_together(request, 1))[0]

    def sharing(self, request: Request, tokens: int) -> Sharing:
        """Together by `n` where that is the same draw and the model has it; see `SharingProvider`."""
        if request.sampling.seed is None and not self._one_choice and "n" not in self._adaptation.learned:
            return "together"
        return "first_alone" if self._url is None and tokens >= CACHED_FROM else "apart"

    async def complete_together(self, request: Request, copies: int) -> tuple[Reply, ...]:
        """One completion with `copies` choices; see `SharingProvider.complete_together`."""
        litellm = _litellm()
        if copies > 1 and not self._takes_choices(litellm):
            self._one_choice = True
            copies = 1
        clients = await self._clients.get()
        how: dict[str, Any] = {
            "timeout": self._settings.provider("litellm").timeout_s,
            "num_retries": 0,
            "max_retries": 0,
        }
        headers = self._settings.sent_headers("litellm")
        if headers:
            how["extra_headers"] = headers
        key = self._settings.key("litellm")
        if self._url:
            how |= {"api_base": self._url, "api_key": key or NO_KEY}
        elif key:
            how["api_key"] = key

        async def send(arguments: dict[str, Any]) -> Any:
            try:
                async with clients.lent():
                    return await litellm.acompletion(**arguments, **how)
            except Exception as error:
                raise self._failure(error, arguments) from None

        body = self.body(request)
        got, refused, spent = await self._adaptation.send(body if copies == 1 else {**body, "n": copies}, send)
        replies = replies_of(self._decoded(got), copies, limit=request.sampling.max_output_tokens, host=self.host)
        if copies > 1 and len(replies) == 1 and replies[0].status != "empty":
            self._one_choice = True
        told = {"dropped": dropped(body, refused), "attempts": spent}
        return tuple([reply.model_copy(update=told) for reply in replies])

    def _takes_choices(self, litellm: Any) -> bool:
        """Whether litellm passes `n` on to this model; of a model that it does not know, no."""
        try:
            known = litellm.get_supported_openai_params(model=self._model)
        except Exception:  # a model name without a provider that it knows; the call itself says so
            return False
        return "n" in (known or ())

    def _decoded(self, got: Any) -> Mapping[str, Any]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                decoded = got.model_dump()
        except AttributeError:
            raise bad_response(self.name, "no completion") from None
        return decoded if isinstance(decoded, dict) else {}

    def _failure(self, error: Exception, sent: Mapping[str, Any]) -> ProviderError:
        message = str(getattr(error, "message", error))
        if _NO_KEY_SET.search(message.partition("\n")[0]):  # whatever class and status litellm gives to it
            return TerminalError(
                f"{self.name} needs an API key and none is set.",
                hint="Set the variable that litellm reads for this provider, e.g. GEMINI_API_KEY.",
                provider=self.name,
                reason="auth",
            )
        body = _body_of(error, message)
        parameter = None
        refused_here = type(error).__name__ in {"UnsupportedParamsError", "BadRequestError", "UnprocessableEntityError"}
        if refused_here or getattr(error, "status_code", None) in {400, 422}:
            asked_n = "n" in sent and refuses_choices(body)
            parameter = "n" if asked_n else refused_parameter(body, sent, names=_NAMES)
            if parameter == "response_format" and sent["response_format"]["type"] == "json_object":
                parameter = "response_format:json_object"
            elif parameter == "tool_choice":
                parameter = "tools"
        elif not hasattr(error, "status_code") and not from_sdk(error):
            raise error
        seen = _Seen(error, body)
        return failure(seen, provider=self.name, secrets=self._secrets, now=time.time(), parameter=parameter)

    async def aclose(self) -> None:
        """Close the clients that litellm made for this connection."""
        await self._clients.aclose()


_NO_KEY_SET = re.compile(r"\bmissing (?:\w+ )?(?:api[ _]?key|credentials)\b", re.IGNORECASE)


class _Seen(Exception):
    """A litellm error with the status and the body that it carries in words."""

    def __init__(self, error: Exception, body: Any) -> None:
        name = type(error).__name__
        super().__init__(str(getattr(error, "message", error)))
        self.response = getattr(error, "response", None)
        status = getattr(error, "status_code", None)
        self.__cause__ = error
        broken = name in {"APIConnectionError", "Timeout"} or broken_connection(error) is not None
        self.status_code = None if broken else status
        self.body = body
        self.kind = "timeout" if name == "Timeout" else "connection" if broken else None


def _body_of(error: Exception, message: str) -> Any:
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        return body
    start = message.find("{")
    if start >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(message[start:])
        except ValueError:
            found = None
        if isinstance(found, dict) and server_error(found).get("message"):
            return found
    return {"message": message, "param": getattr(error, "param", None), "code": getattr(error, "code", None)}


def _litellm() -> Any:
    keep_litellm_offline()
    for message in _NOISE:
        warnings.filterwarnings("ignore", message=message)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = False
    litellm.modify_params = False
    split_cache(litellm)
    return litellm
