"""`anthropic/MODEL`: messages of Anthropic, or of any compatible server by `base_url`.

The JSON comes by the model's own decoding (``output_config.format``); where a model refuses that, by
a forced tool; with thinking on, by an offered tool, since forcing one is refused then. A reply
without a tool block is read from its text blocks.

The system text and the last segment that the samples of one trajectory share end in a cache mark. The second mark
is sent only where several samples may be drawn, since writing to the cache costs more than plain input: then the first
sample is asked before the others, which read the prefix from the provider's prompt cache. The mark stands in the
payload, which names what is asked and not how, in both cases.
"""

from __future__ import annotations

import importlib.util
import json
import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

from judge.config import Settings
from judge.errors import ConfigError, ProviderError, TerminalError
from judge.providers.choices import CACHED_FROM
from judge.providers.failures import Answered, bad_response, failure, server_error
from judge.providers.limits import PerLoop
from judge.providers.prices import context_of
from judge.providers.quota import limit_headers
from judge.providers.redaction import guard_logs
from judge.providers.refusals import Adaptation, dropped, refused_parameter
from judge.providers.schema import is_strict, without_bounds
from judge.providers.tokens import estimate_tokens
from judge.providers.transport import close_client, count, from_sdk, is_loopback
from judge.types.request import Reply, ReplyStatus, Request, Sharing
from judge.types.trajectory import Usage

OWN_URL = "https://api.anthropic.com"
NO_KEY = "none"
LEAST_THINKING = 1024
CACHE_MARK = {"type": "ephemeral"}
_NAMES = ("temperature", "top_p", "tool_choice", "thinking", "output_config", "cache_control")
_FINISHED: dict[str, ReplyStatus] = {
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "refusal": "refusal",
}
_NOT_IN_SDK = ("temperature", "top_p", "thinking")
"""Sent beside the SDK's arguments: it has none for the first two, and only adds a warning to the third."""
_UNKNOWN_HERE = ("seed", "logprobs")


def open_provider(model: str, settings: Settings) -> AnthropicMessages:
    """The provider behind `anthropic/MODEL`."""
    return AnthropicMessages(f"anthropic/{model}", model, settings)


class AnthropicMessages:
    """Messages by the official SDK."""

    offline = False

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        self.name = name
        self.context_tokens = context_of(name, settings)
        self._model = model
        self._settings = settings
        configured = settings.provider("anthropic").base_url
        self._own_server = configured is not None
        self._url = re.sub(r"/v1$", "", configured) if configured else OWN_URL  # the SDK adds /v1 itself
        self.host: str | None = urlsplit(self._url).netloc
        self._mode = settings.model(name).structured
        self._secrets = settings.secrets()
        self._adaptation = Adaptation(adapted)
        self._clients = PerLoop(self._client, close_client)

    def count_tokens(self, text: str) -> int:
        """An overestimate; see `estimate_tokens`."""
        return estimate_tokens(text)

    def body(self, request: Request) -> dict[str, Any]:
        """The request body before anything is adapted.

        Raises:
            ConfigError: The thinking budget leaves no room for an answer.
        """
        sampling = request.sampling
        blocks: list[dict[str, Any]] = [{"type": "text", "text": segment} for segment in request.segments]
        if len(blocks) > 1:
            blocks[-2]["cache_control"] = CACHE_MARK
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": sampling.max_output_tokens,
            "system": [{"type": "text", "text": request.system, "cache_control": CACHE_MARK}],
            "messages": [{"role": "user", "content": blocks}],
        }
        thinking = bool(sampling.thinking_tokens)
        if thinking:
            self._check_thinking(request)
            body["thinking"] = {"type": "enabled", "budget_tokens": sampling.thinking_tokens}
        elif sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        elif sampling.top_p is not None:
            body["top_p"] = sampling.top_p
        mode = self._mode or ("json_schema" if is_strict(request.reply_schema) else "tool")
        if mode in {"json_schema", "json_object"}:
            format_ = {"type": "json_schema", "schema": without_bounds(request.reply_schema)}
            body["output_config"] = {"format": format_}
        elif mode == "tool":
            body["tools"] = [_tool(request.reply_name, request.reply_schema)]
            body["tool_choice"] = {"type": "auto"} if thinking else {"type": "tool", "name": request.reply_name}
        if sampling.reasoning_effort is not None:
            body["output_config"] = {**body.get("output_config", {}), "effort": sampling.reasoning_effort}
        return body

    def _check_thinking(self, request: Request) -> None:
        budget = request.sampling.thinking_tokens or 0
        limit = request.sampling.max_output_tokens
        if budget < LEAST_THINKING:
            raise ConfigError(f"thinking_tokens = {budget}, and {self.name} takes no fewer than {LEAST_THINKING}.")
        if limit <= budget:
            raise ConfigError(
                f"max_output_tokens = {limit} must be more than thinking_tokens = {budget}.",
                hint=f"Thinking counts towards it: set max_output_tokens to {budget + 1024} or more.",
            )

    def payload(self, request: Request) -> dict[str, Any]:
        """URL and body, without key or headers."""
        return {"url": self._url, "body": self.body(request)}

    def _left_out(self, request: Request, body: Mapping[str, Any]) -> tuple[str, ...]:
        """Parameters that were set and that this provider does not take, or not together."""
        sampling = request.sampling
        names = [name for name in _UNKNOWN_HERE if getattr(sampling, name) not in (None, False)]
        names += [n for n in ("temperature", "top_p") if getattr(sampling, n) is not None and n not in body]
        return tuple(names)

    def sharing(self, request: Request, tokens: int) -> Sharing:
        """The first sample alone where the prompt is long enough for the cache; see `SharingProvider`."""
        cached = tokens >= CACHED_FROM and "cache_control" not in self._adaptation.learned
        return "first_alone" if cached and len(request.segments) > 1 else "apart"

    async def complete_together(self, request: Request, copies: int) -> tuple[Reply, ...]:
        """One reply alone: there is no request for several messages."""
        return (await self.complete(request),)

    async def complete(self, request: Request) -> Reply:
        """One message; see `Provider.complete`."""
        body = marked_for(request, self.body(request))
        client = await self._ready()
        quota: dict[str, str] = {}

        async def send(adapted: dict[str, Any]) -> bytes:
            plain = {name: value for name, value in adapted.items() if name not in _NOT_IN_SDK}
            spare = {name: value for name, value in adapted.items() if name in _NOT_IN_SDK}
            try:
                raw = await client.messages.with_raw_response.create(**plain, extra_body=spare or None)
                content: bytes = await raw.read()
                quota.update(limit_headers(raw.headers))
            except Exception as error:
                raise self._failure(error, adapted) from None
            return content

        content, refused, spent = await self._adaptation.send(with_fallback(body, request), send)
        reply = self._reply(content, request)
        left_out = {*dropped(body, refused), *self._left_out(request, body)}
        if "effort" in refused and request.sampling.reasoning_effort is not None:
            left_out.add("reasoning_effort")
        return reply.model_copy(update={"dropped": tuple(sorted(left_out)), "attempts": spent, "quota": quota})

    async def _ready(self) -> Any:
        """The running loop's client.

        Raises:
            TerminalError: It would need a key, and there is none.
        """
        if not self._own_server and not self._settings.key("anthropic"):
            raise TerminalError(
                f"{self.name} needs an API key and none is set.",
                hint="Set ANTHROPIC_API_KEY, or providers.anthropic.base_url for a server of your own.",
                provider=self.name,
                reason="auth",
            )
        return await self._clients.get()

    def _failure(self, error: Exception, sent: Mapping[str, Any]) -> ProviderError:
        parameter = None
        if getattr(error, "status_code", None) in {400, 422}:
            parameter = _refused(getattr(error, "body", None), sent)
        elif not hasattr(error, "status_code") and not from_sdk(error):
            raise error
        return failure(error, provider=self.name, secrets=self._secrets, now=time.time(), parameter=parameter)

    def _reply(self, content: bytes, request: Request) -> Reply:
        try:
            decoded = orjson.loads(content)
        except orjson.JSONDecodeError:
            raise bad_response(self.name, "a body that is not JSON") from None
        if not isinstance(decoded, dict):
            raise bad_response(self.name, "JSON that is no message")
        if decoded.get("error"):
            raise failure(Answered(decoded), provider=self.name, secrets=self._secrets, now=time.time())
        return reply_of(decoded, limit=request.sampling.max_output_tokens, host=self.host)

    def _client(self) -> Any:
        import anthropic

        guard_logs(self._secrets)
        transport: Any = anthropic.DefaultAsyncHttpxClient
        if importlib.util.find_spec("aiohttp"):
            transport = anthropic.DefaultAioHttpClient
        return anthropic.AsyncAnthropic(
            api_key=self._settings.key("anthropic") or NO_KEY,
            base_url=self._url,
            timeout=self._settings.provider("anthropic").timeout_s,
            max_retries=0,
            default_headers=self._settings.sent_headers("anthropic"),
            default_query=self._settings.sent_query("anthropic"),
            http_client=transport(follow_redirects=False, trust_env=not is_loopback(self._url)),
        )

    async def aclose(self) -> None:
        """Close the client of every loop that runs."""
        await self._clients.aclose()


def marked_for(request: Request, body: dict[str, Any]) -> dict[str, Any]:
    """`body` without the mark behind the trajectory where no other sample of it is drawn."""
    if request.repeated:
        return body
    return {**body, "messages": [{**turn, "content": _unmarked(turn["content"])} for turn in body["messages"]]}


def _tool(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": "Give the verdict.", "input_schema": schema}


def with_fallback(body: dict[str, Any], request: Request) -> dict[str, Any]:
    """`body` with the tool that takes over where ``output_config.format`` is refused, under a key that is not sent."""
    return {**body, "_tool": _tool(request.reply_name, request.reply_schema)}


def _refused(body: Any, sent: Mapping[str, Any]) -> str | None:
    message = str(server_error(body).get("message") or "")
    config = sent.get("output_config") or {}
    if "effort" in config and re.search(r"\beffort\b", message):
        return "effort"
    if "format" in config and re.search(r"output_config|output_format|structured output|json_schema", message, re.I):
        return "output_config"
    if "tool_choice" in sent and re.search(r"tool_choice|forces? tool use", message):
        return "tool_choice"
    if "thinking" in sent and re.search(r"\bthinking\b|budget_tokens", message):
        return "thinking:adaptive" if sent["thinking"]["type"] == "adaptive" else "thinking"
    if re.search(r"temperature.{0,20}\band\b.{0,20}top_p", message):
        return "top_p" if "top_p" in sent else None
    if "cache_control" in message:
        return "cache_control"
    return refused_parameter(body, sent, names=_NAMES)


def adapted(body: dict[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    """`body` without what the model refuses, in another form where there is one."""
    out = dict(body)
    tool = out.pop("_tool", None)
    if not refused:
        return out
    for name in ("temperature", "top_p"):
        if name in refused:
            out.pop(name, None)
    if "thinking:adaptive" in refused:
        out.pop("thinking", None)
    elif "thinking" in refused and "thinking" in out:
        out["thinking"] = {"type": "adaptive"}
    config = dict(out.get("output_config") or {})
    if "effort" in refused:
        config.pop("effort", None)
    if "output_config" in refused and config.pop("format", None) is not None and tool is not None:
        out["tools"] = [tool]
        out["tool_choice"] = {"type": "auto"} if "thinking" in out else {"type": "tool", "name": tool["name"]}
    out.pop("output_config", None)
    if config:
        out["output_config"] = config
    if "tool_choice" in refused and "tools" in out:
        out["tool_choice"] = {"type": "auto"}
    if "cache_control" in refused:
        out["system"] = _unmarked(out["system"])
        out["messages"] = [{**turn, "content": _unmarked(turn["content"])} for turn in out["messages"]]
    return out


def _unmarked(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks]


def reply_of(decoded: Mapping[str, Any], *, limit: int | None, host: str | None) -> Reply:
    """A Reply from a decoded message, whatever is missing in it."""
    content = decoded.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    used = [block["input"] for block in blocks if block.get("type") == "tool_use" and "input" in block]
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    text: str | None = json.dumps(used[0], ensure_ascii=False) if used else "".join(texts) if texts else None
    stop = decoded.get("stop_reason")
    stop = stop if isinstance(stop, str) else None
    status: ReplyStatus = _FINISHED.get(stop or "", "ok")
    if status == "ok" and (text is None or not text.strip()):
        status = "empty"
    model = decoded.get("model")
    return Reply(
        text=text,
        status=status,
        finish_reason=stop,
        refusal=text if status == "refusal" and text else None,
        model=model if isinstance(model, str) else None,
        usage=usage_of(decoded.get("usage")),
        host=host,
        limit=limit,
    )


def usage_of(value: Any) -> Usage | None:
    """Usage from a message's ``usage``: Anthropic counts cached input apart, `input_tokens` here is all of it."""
    if not isinstance(value, dict):
        return None
    plain = count(value, "input_tokens")
    read = count(value, "cache_read_input_tokens")
    created = count(value, "cache_creation_input_tokens")
    return Usage(
        input_tokens=None if plain is None else plain + (read or 0) + (created or 0),
        output_tokens=count(value, "output_tokens"),
        cache_read_input_tokens=read,
        cache_creation_input_tokens=created,
        reasoning_output_tokens=count(value.get("output_tokens_details"), "thinking_tokens"),
    )
