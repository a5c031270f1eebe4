"""What the tests of batches at a provider share: both providers behind one face, and runs against their servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batch_apis import Answer, BatchServer, MessageBatchServer, OpenAIBatchServer
from batch_items import RUBRIC, provider_settings, write_items
from loopback import Scripted, chat, claude

from judge.config import Settings
from judge.engine.batch import BatchOutcome, judge_batch
from judge.engine.control import Control

USD_A_REPLY = 0.06
"""Of a reply: 100 input and 20 output tokens at $1000 a million are $0.12, and half of that in a batch."""


@dataclass(frozen=True)
class Api:
    """One provider.

    Attributes:
        text: A reply with that text.
        broken: An error for one request, as (status, message).
    """

    provider: str
    server: Callable[..., BatchServer]
    text: Callable[[str], Scripted]
    broken: Callable[[int, str], Scripted]

    @property
    def judge(self) -> str:
        return f"{self.provider}/m1"


def _claude_error(status: int, message: str) -> Scripted:
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 500: "api_error"}
    return Scripted(status, {"error": {"type": kinds[status], "message": message}})


def _openai_error(status: int, message: str) -> Scripted:
    return Scripted(status, {"error": {"message": message, "type": "x", "param": None, "code": None}})


OPENAI = Api("openai", OpenAIBatchServer, lambda text: chat(text), _openai_error)
ANTHROPIC = Api("anthropic", MessageBatchServer, lambda text: claude({"type": "text", "text": text}), _claude_error)
APIS = (OPENAI, ANTHROPIC)


@dataclass
class Batches:
    """A folder with an input and runs of it.

    Attributes:
        said: Notices of all sessions.
    """

    api: Api
    work: Path
    source: Path
    server: BatchServer
    said: list[str]
    batch_api: dict[str, Any]
    flags: dict[str, Any]

    @property
    def folder(self) -> Path:
        return self.work / "run"

    def settings(self, **flags: Any) -> Settings:
        """Those of a judge behind the server."""
        return provider_settings(
            self.work, self.server.url, self.api.provider, batch_api=self.batch_api, **{**self.flags, **flags}
        )

    def run(self, *, control: Control | None = None, detach: bool = False, **flags: Any) -> BatchOutcome:
        """One session; it takes up what is there."""
        more = {name: flags.pop(name) for name in ("out", "engine", "new_input", "progress") if name in flags}
        if "judge_like" in flags:
            more["judge"] = flags.pop("judge_like")
        return judge_batch(
            [self.source],
            RUBRIC,
            **{"out": self.folder, "engine": "provider-batch", **more},
            resume=(self.folder / "manifest.json").is_file(),
            settings=self.settings(**flags),
            control=control,
            detach=detach,
            notice=self.said.append,
        )


def batches(
    api: Api,
    work: Path,
    *,
    items: int,
    answer: Answer | None = None,
    looks: int = 1,
    most: int = 1000,
    batch_api: dict[str, Any] | None = None,
    kind: Callable[..., BatchServer] | None = None,
    **flags: Any,
) -> Batches:
    """An input of `items` trajectories and a server (of that `kind`), which the caller enters and leaves."""
    server = (kind or api.server)(answer, looks=looks, most=most)
    source = write_items(work / "in.jsonl", items)
    return Batches(api, work, source, server, [], batch_api or {}, flags)
