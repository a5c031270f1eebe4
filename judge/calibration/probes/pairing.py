"""Verdicts of mutants beside those of their parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge.types.calibration_set import cluster
from judge.types.probe import Mutant, Mutation, Probed
from judge.types.rubric import BinaryScale, normalise
from judge.types.verdict import Verdict

PASS_SHARE = 0.75
"""Share of the scale from which a run counts as passed where nobody says: 4 of 1 to 5."""


def share_of_scale(verdict: Verdict | None) -> float | None:
    """The score in [0, 1], worst to best; None without one."""
    if verdict is None or verdict.status != "ok" or verdict.score is None:
        return None
    return normalise(verdict.score, verdict.scale)


def has_passed(verdict: Verdict | None, pass_mark: float = PASS_SHARE) -> bool | None:
    """Whether a verdict passes its run: no gate failed and the score reaches the mark; None without a score."""
    share = share_of_scale(verdict)
    if verdict is None or share is None:
        return None
    if verdict.passed is False:
        return False
    return share >= (1.0 if isinstance(verdict.scale, BinaryScale) else pass_mark - 1e-9)


def pair(
    mutants: Sequence[Mutant], verdicts: Mapping[str, Verdict], *, pass_mark: float = PASS_SHARE
) -> tuple[Probed, ...]:
    """Each mutant with its parent's verdict, by trajectory id; for constant answers the parent plays no part."""
    return tuple(
        paired(
            one.mutation,
            cluster(one.trajectory),
            None if one.mutation.kind == "null" else verdicts.get(one.mutation.parent),
            verdicts.get(one.trajectory.id),
            pass_mark,
        )
        for one in mutants
    )


def paired(
    mutation: Mutation, cluster: str, before: Verdict | None, after: Verdict | None, pass_mark: float = PASS_SHARE
) -> Probed:
    """One pair."""
    failure = _failure(after) or (None if mutation.kind == "null" else _failure(before))
    cited = tuple(dict.fromkeys(step for result in after.criteria for step in result.evidence)) if after else ()
    return Probed(
        mutation=mutation,
        cluster=cluster,
        before=share_of_scale(before),
        after=share_of_scale(after),
        passed_before=has_passed(before, pass_mark),
        passed_after=has_passed(after, pass_mark),
        cited=cited,
        failure=failure,
    )


def _failure(verdict: Verdict | None) -> str | None:
    if verdict is None:
        return "not judged"
    if share_of_scale(verdict) is not None:
        return None
    return verdict.errors[0].kind if verdict.errors else verdict.status
