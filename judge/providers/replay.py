"""`replay/FILE`: verdicts recorded earlier, by this project or by anyone, answered again.

The file is JSON Lines (or one JSON list, or the JSON that `judge score --json` prints). A line is either
a verdict (`judge.verdict/1`), whose votes are the samples, or a plain record::

    {"trajectory_id": "run-1", "score": 4, "reason": "…", "evidence": [2, 3], "criterion": "process"}

Several plain records of one trajectory and criterion are its samples, in order. `criterion` may be left out
where the rubric has one. A trajectory or a sample that was not recorded is an error, not a score.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson

from judge.config import Settings
from judge.errors import ConfigError, RequestRefused
from judge.providers.answers import NOT_APPLICABLE, UNKNOWN, Answer, write
from judge.providers.tokens import estimate_tokens
from judge.types.record import Record
from judge.types.request import Reply, ReplyStatus, Request
from judge.types.trajectory import Usage

_WORDS = {"abstain": UNKNOWN, "not_applicable": NOT_APPLICABLE}
_KEPT: dict[str, ReplyStatus] = {
    "refusal": "refusal",
    "content_filter": "content_filter",
    "truncated": "truncated",
}


class Recorded(Record):
    """One recorded vote: an answer, or the status of a failed one with the first part of its text."""

    answer: Answer | None = None
    status: ReplyStatus = "ok"
    raw_head: str | None = None


def open_provider(model: str, settings: Settings) -> Replay:
    """The provider behind `replay/FILE`.

    Raises:
        ConfigError: The file is missing or a line is no recorded verdict; the message names the line.
    """
    path = Path(model).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"The recorded verdicts at {model!r} cannot be read: {error.strerror or error}.") from None
    return Replay(model, content)


class Replay:
    """Answers from the file."""

    offline = True
    host: str | None = None
    context_tokens: int | None = None

    def __init__(self, model: str, content: bytes) -> None:
        self.name = f"replay/{model}"
        self._identity = hashlib.sha256(content).hexdigest()
        self._votes: dict[tuple[str, str | None], list[Recorded]] = defaultdict(list)
        for line, record in _records(content, model):
            self._read(record, f"{model}, {line}")
        if not self._votes:
            raise ConfigError(f"{model!r} holds no recorded verdict.", hint="See the module judge.providers.replay.")

    def _read(self, record: Any, where: str) -> None:
        if not isinstance(record, dict) or not isinstance(record.get("trajectory_id"), str):
            raise ConfigError(f"{where}: a recorded verdict is an object with a trajectory_id.")
        identity = record["trajectory_id"]
        if isinstance(record.get("criteria"), list):
            for criterion in record["criteria"]:
                votes = criterion.get("votes") or [criterion]
                self._votes[identity, criterion["id"]] += [_vote(vote, where) for vote in votes]
        else:
            self._votes[identity, record.get("criterion")].append(_vote(record, where))

    def count_tokens(self, text: str) -> int:
        """An estimate."""
        return estimate_tokens(text)

    def payload(self, request: Request) -> dict[str, Any]:
        """The file's hash and the trajectory asked for."""
        return {"replay": self._identity, "trajectory_id": request.subject.trajectory_id}

    async def complete(self, request: Request) -> Reply:
        """The recorded vote of this sample on every criterion."""
        identity = request.subject.trajectory_id
        criteria = list(request.subject.criteria)
        answers: dict[str, Answer] = {}
        for name in criteria:
            votes = self._votes.get((identity, name))
            if votes is None and len(criteria) == 1:
                votes = self._votes.get((identity, None))
            if votes is None:
                raise self._missing(f"no verdict on trajectory {identity!r}, criterion {name!r}", "not_recorded")
            if request.sample >= len(votes):
                raise self._missing(
                    f"{len(votes)} samples of trajectory {identity!r}, and sample {request.sample} was asked for",
                    "sample_not_recorded",
                )
            vote = votes[request.sample]
            if vote.answer is not None:
                answers[name] = vote.answer
            elif len(criteria) == 1:
                return Reply(
                    text=vote.raw_head,
                    status=vote.status if vote.status != "ok" or vote.raw_head else "empty",
                    finish_reason="recorded",
                    model=self.name,
                    usage=_NOTHING,
                )
        return Reply(text=write(request, answers), finish_reason="recorded", model=self.name, usage=_NOTHING)

    def _missing(self, found: str, reason: str) -> RequestRefused:
        return RequestRefused(f"{self.name} holds {found}.", provider=self.name, reason=reason)

    async def aclose(self) -> None:
        """Nothing to close."""


_NOTHING = Usage(input_tokens=0, output_tokens=0)


def _records(content: bytes, name: str) -> list[tuple[str, Any]]:
    try:
        whole = orjson.loads(content)
    except orjson.JSONDecodeError:
        whole = None
    if isinstance(whole, dict) and isinstance(whole.get("results"), list):
        whole = whole["results"]
    if isinstance(whole, list):
        return [(f"item {number}", item) for number, item in enumerate(whole, 1)]
    out: list[tuple[str, Any]] = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            try:
                out.append((f"line {number}", orjson.loads(line)))
            except orjson.JSONDecodeError as error:
                raise ConfigError(f"{name}, line {number} is not JSON: {error}.") from None
    return out


def _vote(record: dict[str, Any], where: str) -> Recorded:
    status = record.get("status", "ok")
    score = record.get("score")
    if status not in {"ok", *_WORDS}:
        return Recorded(status=_KEPT.get(status, "ok"), raw_head=record.get("raw_head"))
    if status in _WORDS:
        score = _WORDS[status]
    if isinstance(score, bool) or not isinstance(score, int | float | str):
        raise ConfigError(f"{where}: a recorded verdict needs a score, found {score!r}.")
    quotes = {quote["step"]: quote["text"] for quote in record.get("quotes") or () if isinstance(quote, dict)}
    cited = [
        (entry["step"], str(entry.get("quote", ""))) if isinstance(entry, dict) else (int(entry), quotes.get(entry, ""))
        for entry in record.get("evidence") or ()
    ]
    return Recorded(answer=Answer(score=score, reason=str(record.get("reason") or ""), evidence=tuple(cited)))
