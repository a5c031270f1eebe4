"""`openai/MODEL`: chat completions of OpenAI, or of any compatible server by `base_url`.

The official SDK sends; its own retries are off. The body goes through its `post`, which sends it as it is:
`chat.completions.create` walks the whole body once more, the schema included, for a quarter of the time of a call.
The body of the answer is decoded here, so that a reply without choices, with a null message or with an unknown
field is a status and not a crash.

A server that puts the whole answer into ``reasoning_content`` and leaves ``content`` empty has
given no answer: the reply is "empty". Reasoning is not taken for a verdict.

Several samples of one prompt are asked in one request by `n`: the prompt is then billed once. With a fixed seed they
are not, since a choice is not the draw that the same seed gives alone; nor where a server has refused `n` or ignored
it. Then OpenAI's own servers are asked for the first sample before the others, which read a long prompt from the
provider's cache.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

from judge.config import Settings
from judge.errors import ProviderError, TerminalError
from judge.providers.choices import CACHED_FROM, choices_of, refuses_choices, shares
from judge.providers.failures import Answered, bad_response, failure
from judge.providers.limits import PerLoop
from judge.providers.prices import context_of
from judge.providers.quota import limit_headers
from judge.providers.redaction import guard_logs
from judge.providers.refusals import OPTIONAL, TOKEN_LIMITS, Adaptation, dropped, refused_parameter
from judge.providers.schema import for_small_model, is_strict
from judge.providers.tokens import estimate_tokens
from judge.providers.transport import close_client, count, from_sdk, is_loopback
from judge.types.request import Reply, ReplyStatus, Request, Sharing, TokenLogprob
from judge.types.trajectory import Usage

OWN_URL = "https://api.openai.com/v1"
TOP_LOGPROBS = 20
NO_KEY = "none"
"""Sent as the key to a server of the user's own where none is configured: the SDK insists on one."""
_NAMES = (*TOKEN_LIMITS, *OPTIONAL, "response_format", "tools", "tool_choice", "system")
_FINISHED: dict[str, ReplyStatus] = {"length": "truncated", "content_filter": "content_filter"}


def open_provider(model: str, settings: Settings) -> OpenAIChat:
    """The provider behind `openai/MODEL`."""
    return OpenAIChat(f"openai/{model}", model, settings)


class OpenAIChat:
    """Chat completions by the official SDK.

    Args:
        name: The judge's full name.
        model: As it is sent.
        address: Gives the base URL when a client is made, in place of the settings'. It may change
            from run to run, so it is neither in the payload nor in the reply.
        extra: Fields of the body that the SDK does not know.
    """

    offline = False

    def __init__(
        self,
        name: str,
        model: str,
        settings: Settings,
        *,
        provider: str = "openai",
        address: Callable[[], str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.context_tokens = context_of(name, settings)
        self._model = model
        self._settings = settings
        self._provider = provider
        configured = settings.provider(provider).base_url
        self._own_server = configured is not None or address is not None
        self._url = configured or OWN_URL
        self._address = address
        self.host: str | None = urlsplit(self._url).netloc if address is None else None
        self._extra = dict(extra or {})
        self._mode = settings.model(name).structured or "json_schema"
        self._small = settings.model(name).small
        self.sends_as_it_is = not self._small  # then nothing but the run's text differs between two runs' payloads
        self._secrets = settings.secrets()
        self._adaptation = Adaptation(adapted)
        self._one_choice = False
        self._last_schema: tuple[dict[str, Any] | None, bool] = (None, False)
        self._clients = PerLoop(self._client, close_client)

    def count_tokens(self, text: str) -> int:
        """An overestimate; see `estimate_tokens`."""
        return estimate_tokens(text)

    def body(self, request: Request) -> dict[str, Any]:
        """The request body before anything is adapted. Parameters that nobody set are absent."""
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": "\n\n".join(request.segments)},
            ],
            "max_tokens" if self._own_server else "max_completion_tokens": sampling.max_output_tokens,
        }
        for name in ("temperature", "top_p", "seed", "reasoning_effort"):
            value = getattr(sampling, name)
            if value is not None:
                body[name] = value
        if sampling.logprobs:
            body["logprobs"] = True
            body["top_logprobs"] = TOP_LOGPROBS
        schema = for_small_model(request, quotes=False) if self._small else request.reply_schema
        if self._mode == "json_schema":
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {
                    "name": request.reply_name,
                    "schema": schema,
                    "strict": self._strict(schema),
                },
            }
        elif self._mode == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif self._mode == "tool":
            function = {"name": request.reply_name, "parameters": schema}
            body["tools"] = [{"type": "function", "function": function}]
            body["tool_choice"] = {"type": "function", "function": {"name": request.reply_name}}
        return body

    def _strict(self, schema: dict[str, Any]) -> bool:
        """Whether `schema` is strict; the last answer is kept, since a run asks by one schema."""
        last, strict = self._last_schema
        if schema != last:  # the parts of an equal schema are mostly the same objects, which makes this quick
            strict = is_strict(schema)
            self._last_schema = schema, strict
        return strict

    def payload(self, request: Request) -> dict[str, Any]:
        """Host and body, without key or headers."""
        return {"url": self._url if self._address is None else None, "body": {**self.body(request), **self._extra}}

    async def complete(self, request: Request) -> Reply:
        """One chat completion; see `Provider.complete`."""
        return (await self.complete_together(request, 1))[0]

    def sharing(self, request: Request, tokens: int) -> Sharing:
        """Together by `n` where that is the same draw and the server has it; see `SharingProvider`."""
        if request.sampling.seed is None and not self._one_choice and "n" not in self._adaptation.learned:
            return "together"
        return "first_alone" if not self._own_server and tokens >= CACHED_FROM else "apart"

    async def complete_together(self, request: Request, copies: int) -> tuple[Reply, ...]:
        """One chat completion with `copies` choices; see `SharingProvider.complete_together`."""
        client = await self._ready()
        body = self.body(request)
        quota: dict[str, str] = {}

        async def send(fitted: dict[str, Any]) -> bytes:
            try:
                raw = await client.post(
                    "/chat/completions",
                    content=_encoded({**fitted, **self._extra}),
                    cast_to=_as_it_came(),
                    options={"security": {"bearer_auth": True}},
                )
            except Exception as error:
                raise self._failure(error, fitted) from None
            content: bytes = raw.content
            quota.update(limit_headers(raw.response.headers))
            return content

        content, refused, spent = await self._adaptation.send(body if copies == 1 else {**body, "n": copies}, send)
        replies = replies_of(self._decode(content), copies, limit=request.sampling.max_output_tokens, host=self.host)
        if copies > 1 and len(replies) == 1 and replies[0].status != "empty":
            self._one_choice = True
        left_out = dropped(body, refused)
        if request.sampling.thinking_tokens is not None:
            left_out = (*left_out, "thinking_tokens")
        told = {"dropped": left_out, "attempts": spent, "quota": quota}
        return tuple([reply.model_copy(update=told) for reply in replies])

    async def _ready(self) -> Any:
        """The running loop's client.

        Raises:
            TerminalError: It would need a key, and there is none.
        """
        if not self._own_server and not self._settings.key(self._provider):
            raise TerminalError(
                f"{self.name} needs an API key and none is set.",
                hint="Set OPENAI_API_KEY, or providers.openai.base_url for a server of your own.",
                provider=self.name,
                reason="auth",
            )
        return await self._clients.get()

    def _failure(self, error: Exception, sent: Mapping[str, Any]) -> ProviderError:
        parameter = None
        if getattr(error, "status_code", None) in {400, 422}:
            said = getattr(error, "body", None)
            asked_n = "n" in sent and refuses_choices(said)
            parameter = "n" if asked_n else refused_parameter(said, sent, names=_NAMES)
            if parameter == "response_format" and sent["response_format"]["type"] == "json_object":
                parameter = "response_format:json_object"
            elif parameter == "tool_choice":
                parameter = "tools"
        elif not hasattr(error, "status_code") and not from_sdk(error):
            raise error
        return failure(error, provider=self.name, secrets=self._secrets, now=time.time(), parameter=parameter)

    def _decode(self, content: bytes) -> Mapping[str, Any]:
        try:
            decoded = orjson.loads(content)
        except orjson.JSONDecodeError:
            try:  # lone surrogates, which some servers send and orjson refuses
                decoded = json.loads(content)
            except ValueError:
                raise bad_response(self.name, "a body that is not JSON") from None
        if not isinstance(decoded, dict):
            raise bad_response(self.name, "JSON that is no chat completion")
        if decoded.get("error") and not decoded.get("choices"):
            raise failure(Answered(decoded), provider=self.name, secrets=self._secrets, now=time.time())
        return decoded

    def _client(self) -> Any:
        import openai

        url = self._address() if self._address else self._url
        guard_logs(self._secrets)
        transport: Any = openai.DefaultAsyncHttpxClient
        if importlib.util.find_spec("aiohttp"):
            transport = openai.DefaultAioHttpClient  # costs a third less time for each call
        return openai.AsyncOpenAI(
            api_key=self._settings.key(self._provider) or NO_KEY,
            base_url=url,
            timeout=self._settings.provider(self._provider).timeout_s,
            max_retries=0,
            default_headers=self._settings.sent_headers(self._provider),
            default_query=self._settings.sent_query(self._provider),
            http_client=transport(follow_redirects=False, trust_env=not is_loopback(url)),
        )

    async def aclose(self) -> None:
        """Close the client of every loop that runs."""
        await self._clients.aclose()


def _encoded(body: dict[str, Any]) -> bytes:
    """The body as it is sent."""
    try:
        return orjson.dumps(body)
    except TypeError:  # a whole number of more than 64 bits
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _as_it_came() -> Any:
    """Tells the SDK to hand over the answer's bytes and headers, and to read nothing in them."""
    import openai

    return openai.HttpxBinaryResponseContent


def adapted(body: dict[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    """`body` without what the model refuses, in another form where there is one."""
    if not refused:
        return body
    out = dict(body)
    old, new = TOKEN_LIMITS
    if old in refused and old in out and new not in refused:
        out[new] = out.pop(old)
    elif new in refused and new in out and old not in refused:
        out[old] = out.pop(new)
    for name in (*OPTIONAL, "thinking", "n"):
        if name in refused:
            out.pop(name, None)
    if "logprobs" in refused:
        out.pop("top_logprobs", None)
    if "tools" in refused:
        out.pop("tools", None)
        out.pop("tool_choice", None)
    if "response_format:json_object" in refused:
        out.pop("response_format", None)
    elif "response_format" in refused and "response_format" in out:
        out["response_format"] = {"type": "json_object"}
    if "system" in refused:
        first, *rest = out["messages"]
        if first["role"] == "system" and rest:
            out["messages"] = [{**rest[0], "content": f"{first['content']}\n\n{rest[0]['content']}"}, *rest[1:]]
    return out


def replies_of(decoded: Mapping[str, Any], copies: int, *, limit: int | None, host: str | None) -> tuple[Reply, ...]:
    """Replies from a decoded chat completion of `copies` choices, whatever is missing in it.

    One reply alone where it holds fewer than two choices, else one for each that was asked for. What the request
    used is split over them all.
    """
    choices = choices_of(decoded, copies)
    model = decoded.get("model")
    model = model if isinstance(model, str) else None
    parts = shares(usage_of(decoded.get("usage")), len(choices))
    return tuple(
        [
            Reply(status="missing", model=model, usage=part, host=host, limit=limit)
            if choice is None
            else _reply(choice, model=model, usage=part, limit=limit, host=host)
            for choice, part in zip(choices, parts, strict=True)
        ]
    )


def _reply(
    choice: Mapping[str, Any], *, model: str | None, usage: Usage | None, limit: int | None, host: str | None
) -> Reply:
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else None
    text = _text(message)
    refusal = message.get("refusal")
    refusal = refusal if isinstance(refusal, str) and refusal.strip() else None
    status: ReplyStatus = _FINISHED.get(finish or "", "ok")
    if refusal is not None:
        status = "refusal"
    elif status == "ok" and (text is None or not text.strip()):
        status = "empty"
    return Reply(
        text=text,
        status=status,
        finish_reason=finish,
        refusal=refusal,
        model=model,
        usage=usage,
        logprobs=logprobs_of(choice.get("logprobs")),
        host=host,
        limit=limit,
    )


def _text(message: Mapping[str, Any]) -> str | None:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if isinstance(content, str) and content.strip():
        return content
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls and isinstance(calls[0], dict):
        function = calls[0].get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(arguments, str):
            return arguments
        if isinstance(arguments, dict):
            return json.dumps(arguments, ensure_ascii=False)
    return content if isinstance(content, str) else None


def usage_of(value: Any) -> Usage | None:
    """Usage from the ``usage`` object of a chat completion; None where there is none."""
    if not isinstance(value, dict):
        return None
    prompt = value.get("prompt_tokens_details")
    completion = value.get("completion_tokens_details")
    return Usage(
        input_tokens=count(value, "prompt_tokens"),
        output_tokens=count(value, "completion_tokens"),
        cache_read_input_tokens=count(prompt, "cached_tokens"),
        reasoning_output_tokens=count(completion, "reasoning_tokens"),
    )


def logprobs_of(value: Any) -> tuple[TokenLogprob, ...] | None:
    """Generated tokens with their alternatives, or None where the server gave none."""
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list) or not content:
        return None
    try:
        return tuple(
            TokenLogprob(
                token=item["token"],
                logprob=item["logprob"],
                top=tuple((other["token"], other["logprob"]) for other in item.get("top_logprobs") or ()),
            )
            for item in content
        )
    except (KeyError, TypeError, ValueError):
        return None
