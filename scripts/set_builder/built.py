"""A run with the fault that was put into it, and the labels that follow from the fault alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from judge.types import Label, Trajectory

LABELLED_AT = "2026-11-30"
RUBRIC_VERSION = "1"
PASS_MARK = 4  # "sound" in rubrics/process.yaml

Split = Literal["dev", "test"]


@dataclass(frozen=True)
class Kind:
    """A way to do the task.

    Attributes:
        value: Process quality, 1 to 5: the level of rubrics/process.yaml whose anchor fits this way.
        fault: Name of the fault, or None for a sound run.
        says: One line for the card.
    """

    value: int
    fault: str | None
    says: str

    @property
    def passed(self) -> bool:
        """Whether the card counts the path as passed."""
        return self.value >= PASS_MARK


@dataclass(frozen=True)
class Built:
    """One run of a set: what was recorded, how it was built, and its split."""

    trajectory: Trajectory
    kind: str
    split: Split


def agent_for(number: int, passed: bool, names: Sequence[str]) -> str:
    """Which of three agents a run is given to: the first mostly runs soundly, the last mostly does not.

    Of five sound runs the agents get 3, 1 and 1; of five faulty ones 1, 1 and 3.
    """
    shares = (0, 0, 0, 1, 2) if passed else (0, 1, 2, 2, 2)
    return names[shares[number * 2 % 5]]


def labels(built: Built, kinds: Mapping[str, Kind]) -> tuple[Label, Label]:
    """The two labels of a run: process quality, and whether its path passes."""
    kind = kinds[built.kind]
    note = f"fault: {kind.fault}" if kind.fault else f"no fault; built as {built.kind}"
    common: dict[str, Any] = {
        "trajectory_id": built.trajectory.id,
        "rater": "construction",
        "rater_kind": "policy",
        "split": built.split,
        "labelled_at": LABELLED_AT,
        "note": note,
        "rubric_version": RUBRIC_VERSION,
    }
    return (
        Label(**common, criterion="process", value=kind.value),
        Label(**common, criterion="passed_path", value=int(kind.passed)),
    )
