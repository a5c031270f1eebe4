r"""Whether what a judge cites exists: steps that it was shown, and words that stand in them.

A quote stands verbatim when it is part of the step's text as the judge read it. Only three things are
folded, on both sides, because copying into JSON changes them: runs of white space, backslashes (escapes
of JSON and of disarmed control tokens), and the line prefix. A quote may span a declared cut; then each
side of it must stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from judge.prompt.marks import PREFIX
from judge.prompt.view import step_text
from judge.types.trajectory import Step, Trajectory
from judge.types.verdict import Quote

_STEP = re.compile(r"\s*\[?[Ss](?:tep)?\s?(\d{1,7})\]?\s*")
_ESCAPED_SPACE = re.compile(r"\\[nrt]")
_PREFIX = re.compile(rf"(?m)^{re.escape(PREFIX.rstrip())}(?: |$)")
_CUT = re.compile(r"\[?… [\d,]+ of [\d,]+ characters left out …\]?")


class Cited(NamedTuple):
    """Evidence that exists, or what is wrong with it.

    Attributes:
        steps: Cited steps in the judge's order, without repeats.
        problem: "" when all of it stands.
    """

    steps: tuple[int, ...] = ()
    quotes: tuple[Quote, ...] = ()
    problem: str = ""


class Shown:
    """The steps that a judge was shown, with their text when it is asked for; `letter` stood before their numbers."""

    def __init__(self, trajectory: Trajectory, indices: Sequence[int], letter: str = "S") -> None:
        self._letter = letter
        wanted = set(indices)
        self._steps: dict[int, Step] = {step.index: step for step in trajectory.steps if step.index in wanted}
        self._texts: dict[int, str] = {}

    def __contains__(self, index: object) -> bool:
        return index in self._steps

    @property
    def count(self) -> int:
        """How many steps were shown."""
        return len(self._steps)

    def kind(self, index: int) -> str:
        """Kind of a shown step."""
        return self._steps[index].kind

    def has_kind(self, kind: str) -> bool:
        """Whether any shown step is of this kind."""
        return any(step.kind == kind for step in self._steps.values())

    def says(self, index: int, quote: str) -> bool:
        """Whether `quote` stands in the step."""
        text = self._texts.get(index)
        if text is None:
            text = self._texts[index] = folded(_PREFIX.sub("", step_text(self._steps[index], self._letter)))
        return _stands(quote, text) or _stands(_PREFIX.sub("", quote), text)

    def says_anywhere(self, words: str) -> bool:
        """Whether any shown step holds `words`."""
        return any(self.says(index, words) for index in self._steps)


def _stands(quote: str, text: str) -> bool:
    return all(piece in text for piece in map(folded, _CUT.split(quote)) if piece)


def folded(text: str) -> str:
    """`text` without what copying into JSON may change."""
    if "\\" in text:
        text = _ESCAPED_SPACE.sub(" ", text).replace("\\", "")
    return " ".join(text.split())


def cited(value: Any, shown: Shown) -> Cited:
    """The evidence of an answer: a list of step numbers, "S3" texts or {"step", "quote"} objects.

    An absent list is an empty one. The first thing that does not exist makes a problem.
    """
    if value is None:
        return Cited()
    if not isinstance(value, list):
        return Cited(problem=f"evidence is {_short(value)}, not a list of steps")
    steps: dict[int, None] = {}
    quotes: list[Quote] = []
    for entry in value:
        quote: Any = None
        named = entry
        if isinstance(entry, dict):
            named, quote = entry.get("step"), entry.get("quote")
        index = step_index(named)
        if index is None:
            return Cited(problem=f"evidence names no step: {_short(entry)}")
        if index not in shown:
            return Cited(problem=f"evidence cites step {index}, which was not shown")
        steps[index] = None
        if quote is None:
            continue
        if not isinstance(quote, str):
            return Cited(problem=f"a quote from step {index} is not text: {_short(quote)}")
        if quote.strip():
            if not shown.says(index, quote):
                return Cited(problem=f"step {index} does not hold the words quoted from it: {_short(quote)}")
            quotes.append(Quote(step=index, text=clean(quote)))
    return Cited(tuple(steps), tuple(quotes))


def step_index(value: Any) -> int | None:
    """The number in 3, 3.0, "S3", "[S3]" or "3"; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        found = _STEP.fullmatch(value)
        if found:
            return int(found.group(1))
        text = value.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 7 else None
    return None


def clean(text: str) -> str:
    """`text` without lone surrogates, which no file and no hash can hold."""
    return text.encode("utf-8", "replace").decode("utf-8") if not _is_utf8(text) else text


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _short(value: Any) -> str:
    text = clean(repr(value))
    return text if len(text) <= 80 else text[:79] + "…"
