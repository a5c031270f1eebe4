"""The outcomes of a batch, from the provider into a file: one for each request, whatever came back."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from judge.errors import RequestRefused
from judge.providers.batches import BatchApi, BatchState, Outcome, OutcomeKind
from judge.types.trajectory import Usage

GONE = "gone"
"""Status of a batch that the provider no longer has."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was fetched.

    Attributes:
        kinds: Outcomes by kind, those under an "unknown" custom id included.
        paid: Cost in US dollars of all replies, used or not; None where one is not known.
    """

    kinds: Counter[str]
    paid: float | None

    def text(self) -> str:
        """`3 succeeded, 1 expired`; what can be no outcome of ours is called an error."""
        said = [f"{count:,} {kind}" for kind, count in self.kinds.most_common() if kind not in {"unknown", "duplicate"}]
        if self.kinds["unknown"]:
            said.append(f"error: {self.kinds['unknown']:,} under custom ids that were not asked for, none used")
        if self.kinds["duplicate"]:
            said.append(f"error: {counted(self.kinds['duplicate'], 'request')} with more than one outcome, none used")
        return ", ".join(said)


async def fetch(
    api: BatchApi,
    state: BatchState,
    *,
    mark: str,
    names: Sequence[str],
    path: Path,
    price: Callable[[Usage], float | None],
    clean: Callable[[str], str],
) -> Fetched:
    """Writes the outcomes of a batch that has ended to `path`, whole or not at all.

    A request without an outcome gets one of kind "missing", one with several of them one of kind "duplicate".

    Args:
        mark: What every custom id of the batch begins with; `names` of the requests are what follows.
        clean: Takes secrets out of an error's text.

    Raises:
        RetryableError: The transfer broke.
    """
    found = dict.fromkeys(names, 0)
    kinds: Counter[str] = Counter()
    paid: float | None = 0.0
    rest: OutcomeKind = "missing"
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        if state.problem:
            body = {"error": {"message": f"the whole batch was turned down, {state.problem}"}}
            for name in names:
                whole = (
                    Outcome(mark + name, "turned_down") if state.passing else Outcome(mark + name, "errored", 400, body)
                )
                file.write(_line(whole))
            found = dict.fromkeys(names, 1)
        elif state.status == GONE:
            rest = "gone"
        else:
            try:
                async with contextlib.aclosing(api.outcomes(state)) as outcomes:
                    async for outcome in outcomes:
                        if outcome.kind == "succeeded":
                            usage = api.usage(outcome)
                            cost = None if usage is None else price(usage)
                            paid = None if cost is None or paid is None else paid + cost
                        name = outcome.custom_id.removeprefix(mark)
                        if not outcome.custom_id.startswith(mark) or name not in found:
                            kinds["unknown"] += 1
                            continue
                        found[name] += 1
                        if found[name] == 1:
                            file.write(_line(_clean(outcome, clean)))
            except RequestRefused:  # kept for a month or so, and no longer
                rest = "gone"
        for name, count in found.items():
            if count == 0:
                file.write(_line(Outcome(mark + name, rest)))
                paid = None  # it may have been billed, and nobody says
    twice = {mark + name for name, count in found.items() if count > 1}
    if twice:
        _without(part, twice)
    kinds.update(_kinds(part))
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(path)
    return Fetched(kinds, paid)


def _without(path: Path, twice: set[str]) -> None:
    """Puts "duplicate" in the place of the outcomes of these custom ids."""
    clean = path.with_suffix(".clean")
    with path.open("rb") as old, clean.open("wb") as new:
        for line in old:
            custom_id = orjson.loads(line)["custom_id"]
            new.write(_line(Outcome(custom_id, "duplicate")) if custom_id in twice else line)
    clean.replace(path)


def _kinds(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        for line in file:
            yield orjson.loads(line)["kind"]


def _clean(outcome: Outcome, clean: Callable[[str], str]) -> Outcome:
    """An error as it may be kept: servers repeat keys in them."""
    if outcome.kind != "errored" or outcome.body is None:
        return outcome
    return replace(outcome, body=orjson.loads(clean(orjson.dumps(outcome.body).decode())))


def counted(count: int, noun: str) -> str:
    """`1 request`, `1,200 requests`."""
    return f"{count:,} {noun}{'' if count == 1 else 's' if not noun.endswith('h') else 'es'}"


def _line(outcome: Outcome) -> bytes:
    return orjson.dumps(asdict(outcome)) + b"\n"
