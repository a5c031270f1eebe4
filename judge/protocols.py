"""All extension points on one page.

Each has a name under which `judge.registry` finds it, in the package or by an entry point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from judge.types.metric import MetricResult
from judge.types.policy import Ruling
from judge.types.record import Record
from judge.types.reference import Reference
from judge.types.request import Reply, Request, Sharing
from judge.types.trajectory import Trajectory


class Provider(Protocol):
    """Turns a Request into a Reply: any model, or a rule.

    `complete` raises `RetryableError` when waiting may help, `RequestRefused` when this request is
    wrong, `TerminalError` when no call will succeed. A reply without a usable answer (refused, cut,
    empty) is a Reply with that status, not an exception: its usage still counts.
    """

    name: str
    """The judge's name, e.g. "openai/gpt-4o"."""
    context_tokens: int | None
    """Tokens that prompt and reply may take together, or None where unknown."""
    offline: bool
    """True for judges that answer from the `subject` and call no model (rules, fake, replay)."""

    async def complete(self, request: Request) -> Reply: ...

    def payload(self, request: Request) -> dict[str, Any]:
        """The call as it would be sent, with the effective host and without secrets. Hashed as the cache key."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` for this model, exact or a stated overestimate."""
        ...

    async def aclose(self) -> None: ...


@runtime_checkable
class SharingProvider(Provider, Protocol):
    """A provider that can let the samples of one prompt share its price. Optional: others ask each sample apart."""

    def sharing(self, request: Request, tokens: int) -> Sharing:
        """How samples of `request`, a prompt of about `tokens` tokens, are best asked now."""
        ...

    async def complete_together(self, request: Request, copies: int) -> tuple[Reply, ...]:
        """`copies` replies to one request, with status "missing" in the place of one that the answer left out.

        One reply alone where the server answers one at a time: then `sharing` no longer says "together", and the
        others are asked one by one. What a call used is split over its replies and adds up to what the server said.
        """
        ...


class Cache(Protocol):
    """Keeps text by key. Only replies that parsed to a valid vote are put in."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, text: str) -> None: ...

    def close(self) -> None: ...


class Claim(Protocol):
    """The right to make one call, for as long as it is renewed."""

    @property
    def lease_s(self) -> float:
        """Seconds for which it stands without being renewed."""
        ...

    def renew(self) -> None: ...

    def release(self) -> None: ...


@runtime_checkable
class SharedCache(Cache, Protocol):
    """A cache of many processes, which also says who of them asks for a reply that it does not hold."""

    def claim(self, key: str, token: str) -> Claim | None:
        """The right to ask for the reply of `key`, or None while the holder of another token has it."""
        ...


class Candidate(Record):
    """One importer's claim on a file.

    Attributes:
        score: Strength from 0 (no claim) to 100 (certain).
        evidence: What was seen, in words.
    """

    format: str
    score: int
    evidence: str


class Head(Record):
    """The first records of a file, decoded, for detection.

    Attributes:
        whole: The file as one JSON value, or None where it is line by line (or too large to say).
        records: Up to 60 decoded records: the lines of a JSONL, or the items of a top-level list.
        lines: Whether the file is JSON Lines.
    """

    whole: Any = None
    records: tuple[Any, ...] = ()
    lines: bool = False


class Importer(Protocol):
    """Reads one format, losslessly and without repairing what is scored."""

    name: str
    title: str

    def sniff(self, head: Head) -> Candidate | None:
        """This format's claim on a file, or None."""
        ...

    def read(
        self, records: Iterable[tuple[str, Any]], *, path: Path | None, mapping: Mapping[str, Any] | None
    ) -> Iterator[Trajectory]:
        """Trajectories from (locator, decoded record) pairs, as they come."""
        ...


class Metric(Protocol):
    """One number about a trajectory, without a model. A pure function of its arguments."""

    name: str
    unit: str

    def measure(self, trajectory: Trajectory, reference: Reference | None) -> MetricResult: ...


class CustomCheck(Protocol):
    """A policy check written in Python: a function, pure, that a policy file names under `custom`."""

    def __call__(self, trajectory: Trajectory, parameters: Mapping[str, Any]) -> Ruling: ...
