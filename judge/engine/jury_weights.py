"""Weights of a jury's judges, learnt from dev labels, and a jury file that holds them for live use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from judge.calibration.recorded_jury import member_weights
from judge.calibration.sets import load_set
from judge.config import Settings
from judge.engine.budget import Budget
from judge.engine.calibrating import judge_set, set_criterion, set_labels
from judge.engine.certifying import beside_labels
from judge.engine.comparing import only_split
from judge.engine.facade import budget_of, rubric_of
from judge.errors import UsageError
from judge.types.calibration_set import CalibrationSet
from judge.types.jury import Jury


@dataclass(frozen=True)
class LearntWeights:
    """Attributes:
    jury: The jury with its weights.
    runs: Labelled dev runs that they are from.
    """

    jury: Jury
    runs: int


def learn_weights(
    jury: Jury,
    name: str | Path | CalibrationSet,
    *,
    settings: Settings,
    rubric: str | Path | None = None,
    criterion: str | None = None,
    progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
) -> LearntWeights:
    """Judges the dev runs of a set with every member and reserve, each alone (cached), and weighs them by it.

    No run of the test split is judged. For how they are weighed see `judge.calibration.recorded_jury.member_weights`.

    Args:
        budget: Of a larger piece of work that this is part of; None for one of its own.

    Raises:
        UsageError: The jury does not weigh, has weights, or no judge of it is better than a coin.
        TooFewLabels: The set has no dev labels.
    """
    _refuse(jury)
    chosen = only_split(name if isinstance(name, CalibrationSet) else load_set(name), "dev")
    asked = set_criterion(chosen, criterion)
    used = rubric_of(rubric if rubric is not None else asked.rubric, settings)
    labels, stale = set_labels(chosen.labels, asked, asked.rubric_version or used.version, chosen.clusters())
    scale = asked.scale or used.criteria[0].scale
    own = next((c.scale for c in used.criteria if c.id == (asked.judged_by or asked.id)), scale)
    data = {}
    budget = budget or budget_of(settings)
    for member in (*jury.members, *jury.reserves):
        own_settings = settings.model_copy(update={"judge": member})
        judged = judge_set(chosen, asked, used, own_settings, None, progress, budget=budget)
        data[member] = beside_labels(
            judged, labels, asked.id, scale,
            judged_by=asked.judged_by, mark=asked.pass_mark, own=own, split="dev", left_out=stale,
        )  # fmt: skip
    weights = member_weights(data)
    return LearntWeights(with_weights(jury, weights), max(len(each.items) for each in data.values()))


def with_weights(jury: Jury, weights: Mapping[str, float]) -> Jury:
    """The jury with learnt weights.

    Raises:
        UsageError: It does not weigh, has weights, or all of these are 0.
    """
    _refuse(jury)
    if not any(weights.values()):
        raise UsageError(
            f"Jury {jury.name!r}: no judge of it agrees with the dev labels more often than a guess would.",
            hint="There is nothing to weigh: take other judges, or label more dev runs.",
        )
    return Jury.model_validate({**jury.model_dump(), "weights": {name: round(w, 4) for name, w in weights.items()}})


def write_jury(jury: Jury, path: Path, *, learnt_from: str) -> None:
    """Writes the jury as a file, named by the file's name. Never over one that exists.

    Raises:
        UsageError: The file exists, or cannot be written.
    """
    fields = {k: v for k, v in jury.model_dump(mode="json", exclude_defaults=True).items() if k != "name"}
    text = f"# The weights were learnt from {learnt_from}.\n" + yaml.safe_dump(fields, sort_keys=False, width=110)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already.", hint="Choose another name with --write-jury.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from None


def _refuse(jury: Jury) -> None:
    if jury.rule != "weighted" or jury.weights:
        why = "has weights already" if jury.weights else f"votes by rule {jury.rule}, which learns none"
        raise UsageError(
            f"Jury {jury.name!r} {why}.", hint="--write-jury is for a jury of rule weighted without weights."
        )
