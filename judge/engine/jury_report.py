"""The report on a jury, live or recorded: how its judges err together, and what each of them brings."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.calibration.comparison import compare
from judge.calibration.dataset import Dataset, cut_both
from judge.calibration.jury_errors import JuryErrors, jury_errors, too_few_heard
from judge.calibration.jury_members import Open, jurors, open_values, votes_again
from judge.calibration.recorded_jury import Seated, seat, settled
from judge.calibration.shared_runs import shared_runs
from judge.errors import StatisticsError
from judge.types.jury import Jury
from judge.types.verdict import CriterionResult, Verdict, Vote


@dataclass(frozen=True)
class Heard:
    """The votes of a live jury on one criterion.

    Attributes:
        votes: Run to judge to its vote; a judge that was not called has none.
    """

    votes: Mapping[str, Mapping[str, Vote]]

    def score(self, item: str, name: str) -> float | None:
        """A judge's score of a run that it was called on."""
        return self.votes[item][name].score

    def cause(self, item: str, name: str) -> str | None:
        """Why it gave none."""
        vote = self.votes[item][name]
        if vote.score is not None:
            return None
        return "not applicable" if vote.status == "not_applicable" else f"failed: {vote.status}"


def heard(verdicts: Sequence[Verdict], criterion: str) -> Heard:
    """What each judge of a live jury said of every run."""
    results = {v.trajectory_id: next((r for r in v.criteria if r.id == criterion), None) for v in verdicts}
    return Heard({item: _by_judge(result) for item, result in results.items() if result is not None})


def live_jury_report(
    jury: Jury,
    whole: Dataset,
    said: Heard,
    *,
    mark: float | None,
    beside: Mapping[str, Dataset] | None = None,
    rng: np.random.Generator,
) -> JuryErrors:
    """The report on a live jury.

    Errors are compared between judges that were asked about every run; those of a judge that waits for splits are not,
    for splits are the hard runs. Where such a judge was compared by itself on the same runs, that counts.

    Args:
        whole: The jury's verdicts beside the labels.
        mark: What cuts scores into passed and failed, or None.
        beside: Judges that were judged alone on these runs, by name.
    """
    names = (*jury.members, *jury.reserves)
    items = [item for item in whole.items if item in said.votes]
    whole = whole.part([item in said.votes for item in whole.items])
    settle = settled(whole, mark)
    given = [{name: said.score(item, name) for name in said.votes[item]} for item in items]
    causes = {
        name: {item: cause for item in items if name in said.votes[item] and (cause := said.cause(item, name))}
        for name in names
    }
    alone = {name: data for name, data in (beside or {}).items() if name in names}
    known = {
        name: {
            **_raw(alone.get(name)),
            **{item: votes[name] for item, votes in zip(items, given, strict=True) if name in votes},
        }
        for name in names
    }
    binary = (whole.score_scale or whole.scale).type == "binary"

    def again(other: Jury) -> list[Open]:
        return votes_again(other, items, known, binary=binary, settle=settle)

    rows = jurors(jury, whole, given, causes=causes, settle=settle, revote=again, rng=rng)
    data = [
        replace(
            whole,
            judge=name,
            verdicts=(values := tuple(None if (v := known[name][item]) is None else settle(v) for item in items)),
            failures=tuple(
                None if value is not None else causes[name].get(item, "no score")
                for item, value in zip(items, values, strict=True)
            ),
            repeats=(values,),
            scores=(),
            score_scale=None,
        )
        for name in jury.members
        if all(item in known[name] for item in items)
    ]
    return _errors(data, len(items), rng).model_copy(update={"jurors": rows, "weights": dict(jury.weights)})


def recorded_jury_report(
    jury: Jury,
    seated: Seated,
    data: Mapping[str, Dataset],
    dev: Mapping[str, Dataset],
    *,
    mark: float | None = None,
    rng: np.random.Generator,
) -> JuryErrors:
    """The report on a jury of recorded judges.

    Args:
        data, dev, mark: As for `judge.calibration.recorded_jury.seat`.
    """
    whole = seated.data
    keep = set(whole.items)
    causes = {
        name: {item: why for item, why in zip(data[name].items, data[name].failures, strict=True) if why}
        for name in (*jury.members, *jury.reserves)
    }

    def again(other: Jury) -> list[Open]:
        rest = seat(other, data, dev, mark=mark)
        votes = dict(zip(rest.data.items, rest.given, strict=True))
        said = {
            item: open_values(value, why == "tie", votes[item], seated.settle)
            for item, value, why in zip(rest.data.items, rest.data.verdicts, rest.data.failures, strict=True)
        }
        return [said[item] for item in whole.items]

    rows = jurors(
        jury,
        whole,
        seated.given,
        causes=causes,
        settle=seated.settle,
        revote=again,
        rng=rng,
    )
    alone = data if mark is None else {name: cut_both(each, mark) for name, each in data.items()}
    parts = [alone[name].part([item in keep for item in alone[name].items]) for name in jury.members]
    errors = _errors(parts, len(whole.items), rng)
    return errors.model_copy(update={"jurors": rows, "weights": dict(seated.weights)})


def _errors(data: Sequence[Dataset], n: int, rng: np.random.Generator) -> JuryErrors:
    """How judges that were asked about every run err together; one that never gave a score errs with nobody."""
    silent = [one.judge for one in data if not any(value is not None for value in one.verdicts)]
    heard = [one for one in data if one.judge not in silent]
    members = [one.judge for one in heard]
    found = too_few_heard(members, n)
    if len(heard) > 1:
        runs = shared_runs(heard)
        rows = compare(runs, label_set="", rng=rng).judges
        with contextlib.suppress(StatisticsError):  # no run was scored by all
            found = jury_errors(runs, members, kappas={row.judge: row.kappa.lower for row in rows})
    warned = [f"{name} gave no score on any run: its seat is empty." for name in silent]
    return found.model_copy(update={"warnings": (*warned, *found.warnings)})


def _raw(data: Dataset | None) -> dict[str, float | None]:
    """A judge's own scores before any cut."""
    return {} if data is None else dict(zip(data.items, data.scores or data.verdicts, strict=True))


def _by_judge(result: CriterionResult) -> dict[str, Vote]:
    return {str((vote.detail or {})["judge"]): vote for vote in result.votes if "judge" in (vote.detail or {})}
