"""`local/smollm2-135m`, `local/PATH.gguf`: a model inside this process, by llama.cpp.

The official OpenAI SDK talks to llama.cpp's own server on a loopback port. What a small model
needs is added to each request, and stands in the payload:

- temperature 0.7 where none is set, and a seed made from the configured seed, the sample and the attempt: a vote of
  several samples is a vote of different draws. llama.cpp is not exact to the last bit: whether the prefix came from
  its prompt cache can change a draw. What was drawn is kept in the reply cache, which does not change;
- a longest text and list in the schema, so that an answer ends, and step numbers only up to the last step;
- for the smallest model, which cannot copy, quotes are left empty: it cites step numbers alone;
- chat control marks of the trajectory ("<|im_end|>") are broken up: llama.cpp would take them for its own.
"""

from __future__ import annotations

import asyncio
import hashlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from judge.config import Settings
from judge.providers.embedded import EmbeddedServer, embedded_server, need_llama
from judge.providers.openai import OpenAIChat
from judge.providers.schema import for_small_model
from judge.providers.weights import KNOWN, find_weights, identity
from judge.types.request import Reply, Request

TEMPERATURE = 0.7
CONTEXT = 8192
CHAT_TEMPLATE_TOKENS = 64
"""Room for the marks that the chat template puts around system and user text."""


def open_provider(model: str, settings: Settings) -> LocalModel:
    """The provider behind `local/MODEL`. Nothing is loaded yet.

    Raises:
        MissingExtra: xllamacpp is not installed.
        ConfigError, UnknownName: See `find_weights`.
    """
    need_llama()
    return LocalModel(model, settings)


class LocalModel:
    """One weights file, served in this process."""

    offline = False
    host: str | None = None
    most_at_once = 2  # one in work, one waiting at the server's door

    def __init__(self, model: str, settings: Settings) -> None:
        self.name = f"local/{model}"
        self._weights = find_weights(model, settings)
        self._identity = identity(model, self._weights)
        trained = KNOWN[model].context_tokens if model in KNOWN else CONTEXT
        self._context = settings.model(self.name).context_tokens or trained
        self.context_tokens: int | None = self._context - CHAT_TEMPLATE_TOKENS
        self._seed = settings.seed or 0
        self._quotes = model not in KNOWN
        self._chat = OpenAIChat(
            self.name,
            model.rpartition("/")[2],
            settings,
            provider="local",
            address=lambda: self.server().url + "/v1",
        )

    def server(self) -> EmbeddedServer:
        """The running server, started on first use (half a second for the smallest model)."""
        return embedded_server(self._weights, context_tokens=self._context)

    def count_tokens(self, text: str) -> int:
        """Exact, by the model's own tokenizer; starts the server."""
        return self.server().count_tokens(_unmarked(text)) if text else 0

    def payload(self, request: Request) -> dict[str, Any]:
        """Weights, engine and body; no port."""
        return {"weights": self._identity, "engine": _engine(), **self._chat.payload(self._prepared(request))}

    async def complete(self, request: Request) -> Reply:
        """One chat completion inside this process; see `Provider.complete`."""
        await asyncio.to_thread(self.server)
        reply = await self._chat.complete(self._prepared(request))
        return reply.model_copy(update={"model": self.name.removeprefix("local/")})

    def _prepared(self, request: Request) -> Request:
        sampling = request.sampling
        temperature = TEMPERATURE if sampling.temperature is None else sampling.temperature
        seed = draw_seed(self._seed if sampling.seed is None else sampling.seed, request.sample, request.attempt)
        return request.model_copy(
            update={
                "system": _unmarked(request.system),
                "segments": tuple(_unmarked(segment) for segment in request.segments),
                "reply_schema": for_small_model(request, quotes=self._quotes),
                "sampling": sampling.model_copy(update={"temperature": temperature, "seed": seed}),
            }
        )

    async def aclose(self) -> None:
        """Close the client; the server stays for the next user and stops at exit."""
        await self._chat.aclose()


def draw_seed(seed: int, sample: int, attempt: int) -> int:
    """A seed in [0, 2**31) for one draw, the same on every machine."""
    digest = hashlib.sha256(f"{seed}/{sample}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def _unmarked(text: str) -> str:
    return text.replace("<|", "< |").replace("<s>", "< s>").replace("</s>", "< /s>")


def _engine() -> str:
    try:
        return f"xllamacpp {version('xllamacpp')}"
    except PackageNotFoundError:
        return "xllamacpp"
