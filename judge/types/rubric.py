"""Rubric, criterion and scale: what a judge is asked, and the values that it may answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from judge.types.record import Record

Aggregate = Literal["mean", "min"]
EvidenceRule = Literal["required", "optional", "none"]


class Level(Record):
    """One named step of a scale. `anchor` says what a run at this level looks like."""

    value: int
    name: str
    anchor: str = ""


class LevelScale(Record):
    """Ordered named levels, worst first."""

    type: Literal["levels"] = "levels"
    levels: tuple[Level, ...] = Field(min_length=2)

    @field_validator("levels")  # of the field: one of the model would run again for every verdict that holds the scale
    @classmethod
    def _ordered(cls, levels: tuple[Level, ...]) -> tuple[Level, ...]:
        values = [level.value for level in levels]
        if any(a >= b for a, b in pairwise(values)):
            raise ValueError(f"levels must rise from worst to best, found {values!r}")
        names = [level.name.strip().casefold() for level in levels]
        if len(set(names)) < len(names):
            raise ValueError(f"two levels share a name: {names!r}")
        return levels

    @property
    def low(self) -> float:
        return float(self.levels[0].value)

    @property
    def high(self) -> float:
        return float(self.levels[-1].value)

    def contains(self, value: float) -> bool:
        """Whether `value` is one of the levels."""
        return any(value == level.value for level in self.levels)


class BinaryScale(Record):
    """Passed (1) or failed (0)."""

    type: Literal["binary"] = "binary"

    @property
    def low(self) -> float:
        return 0.0

    @property
    def high(self) -> float:
        return 1.0

    def contains(self, value: float) -> bool:
        """Whether `value` is 0 or 1."""
        return value in (0, 1)


class RangeScale(Record):
    """Numbers from `min` (worst) to `max` (best); `step` None allows any number between."""

    type: Literal["range"] = "range"
    min: float
    max: float
    step: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _wide(self) -> RangeScale:
        if not self.min < self.max:
            raise ValueError(f"a scale needs min < max, found min={self.min!r}, max={self.max!r}")
        return self

    @property
    def low(self) -> float:
        return self.min

    @property
    def high(self) -> float:
        return self.max

    def contains(self, value: float) -> bool:
        """Whether `value` lies in the range and on the grid of `step`."""
        if not self.min <= value <= self.max:
            return False
        if self.step is None:
            return True
        steps = (value - self.min) / self.step
        return abs(steps - round(steps)) < 1e-9


def _scale(value: Any) -> Any:
    """The short forms that people write in YAML: `binary`, a list of levels, `{min, max, step}`."""
    if value == "binary":
        return {"type": "binary"}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return {"type": "levels", "levels": value}
    if isinstance(value, dict) and "type" not in value:
        return {"type": "range", **value}
    return value


Scale = Annotated[
    Annotated[LevelScale | BinaryScale | RangeScale, Field(discriminator="type")], BeforeValidator(_scale)
]


def normalise(value: float, scale: LevelScale | BinaryScale | RangeScale) -> float:
    """`value` moved to [0, 1] with 0 the worst: (s - low) / (high - low). The only place that does it."""
    return (value - scale.low) / (scale.high - scale.low)


class Criterion(Record):
    """One question to the judge.

    Attributes:
        id: Key of the answer in the judge's JSON.
        question: What is asked, one question.
        anchors: What a run at a value looks like, keyed by the value as text ("pass"/"fail" for a binary
            scale). Levels may carry theirs in the scale instead.
        counts, not_counts: What speaks for a good score, and what is not to be looked at.
        weight: Share in the mean; ignored for a gate.
        gate: A failed gate fails the verdict and is never averaged away. Needs a binary scale,
            or `gate_min`.
        gate_min: Lowest value that passes a gate on another scale.
        applies_when: When the criterion applies; where it does not, the answer is "not_applicable",
            which is kept out of means.
        evidence: Whether the judge must cite steps.
        cite: What must be cited, in words for the judge.
    """

    id: str = Field(pattern=r"^[a-z][a-z0-9_-]*$")
    question: str = Field(min_length=1)
    scale: Scale
    anchors: dict[str, str] = {}
    counts: str = ""
    not_counts: str = ""
    weight: float = Field(default=1.0, gt=0)
    gate: bool = False
    gate_min: float | None = None
    applies_when: str | None = None
    evidence: EvidenceRule = "optional"
    cite: str = ""

    @model_validator(mode="after")
    def _gate(self) -> Criterion:
        if self.gate_min is not None and not self.gate:
            raise ValueError(f"criterion {self.id!r} has gate_min but is no gate: add `gate: true`")
        if self.gate and self.gate_min is None and not isinstance(self.scale, BinaryScale):
            raise ValueError(f"gate {self.id!r} on a scale that is not binary needs gate_min")
        if self.gate_min is not None and not self.scale.low < self.gate_min <= self.scale.high:
            raise ValueError(f"gate_min of {self.id!r} is {self.gate_min!r}, outside its scale")
        return self

    @property
    def pass_mark(self) -> float:
        """Lowest score that passes this gate."""
        return self.scale.high if self.gate_min is None else self.gate_min


class ViewSettings(Record):
    """What of a trajectory a judge sees.

    Attributes:
        reasoning: Show private reasoning, tagged as an unverified claim.
        system: Show system and developer messages.
        result_chars: Longest tool result shown whole, in characters, before any budget; None for no limit.
    """

    reasoning: bool = False
    system: bool = True
    result_chars: int | None = Field(default=None, ge=200)


class Rubric(Record):
    """A set of criteria that one judge call answers.

    Attributes:
        version: Raised with every change that can move a score.
        procedure: "requirements" makes the judge list the task's requirements, the step that
            proves each, and the case for failure before it scores; "direct" asks for reason,
            evidence and score.
        aggregate: How criteria that are no gates combine, on scores normalised to [0, 1].
        policy: Whether a policy text is needed (`--policy-text`).
        diagnostic: A rubric whose result is a hint and may not gate.
    """

    id: str = Field(pattern=r"^[a-z][a-z0-9_-]*$")
    version: str
    title: str
    intent: str
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    procedure: Literal["direct", "requirements"] = "direct"
    template: str | None = None
    view: ViewSettings = ViewSettings()
    aggregate: Aggregate = "mean"
    policy: bool = False
    diagnostic: bool = False
    examples: tuple[str, ...] = ()
    changelog: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Rubric:
        seen: set[str] = set()
        for criterion in self.criteria:
            if criterion.id in seen:
                raise ValueError(f"two criteria are named {criterion.id!r}")
            seen.add(criterion.id)
        return self
