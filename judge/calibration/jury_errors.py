"""Do judges err together? What a jury can gain is bounded by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from judge.calibration.resampling import Floats
from judge.calibration.shared_runs import SharedRuns
from judge.errors import StatisticsError
from judge.types.juror import Juror
from judge.types.record import Record

WEAK_KAPPA = 0.4
"""A member whose kappa may be below this makes a jury worse more often than better."""
FEW_VOTES = 1.5
MOST_MEMBERS = 5


class JuryErrors(Record):
    """Attributes:
    members: Those whose errors are compared: of a live jury the ones that were called on every run.
    distinct: How many judges they are, copies counted once.
    runs: Runs that all of them scored; what is below rests on these.
    phi: Correlation of being wrong, by pair of members; None where a member is never or always wrong.
    mean_phi: Mean over the pairs of distinct judges that have one; None without such a pair.
    effective_votes: d / (1 + (d - 1) mean_phi) of d distinct judges: how many independent ones they amount to, at most
        d. A negative mean counts as 0. None with `mean_phi`; 1 of copies alone.
    all_wrong: Share of runs on which every member is wrong: no vote rule can save those.
    unanimous: Share of runs on which all agree; `right_if_unanimous`: they are right, of those.
    no_majority: Share of runs on which no value has more than half of the members.
    right_if_split: The majority is right, of the runs on which members differ and more than half agree.
    warnings: What a reader should know before seating this jury.
    jurors: Coverage, replacements and leave-one-out of every member and reserve.
    weights: Of each judge, for rule "weighted": those of the file, or learnt on dev labels; else empty.
    """

    omit_none: ClassVar[bool] = False

    members: tuple[str, ...]
    distinct: int
    runs: int
    phi: tuple[tuple[str, str, float | None], ...]
    mean_phi: float | None
    effective_votes: float | None
    all_wrong: float | None
    unanimous: float | None
    no_majority: float | None
    right_if_unanimous: float | None
    right_if_split: float | None
    warnings: tuple[str, ...]
    jurors: tuple[Juror, ...] = ()
    weights: dict[str, float] = {}


def phi(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float | None:
    """Correlation of two flags in [-1, 1]; None where one of them never changes."""
    if a.all() or b.all() or not a.any() or not b.any():
        return None
    return float(np.corrcoef(a.astype(np.float64), b.astype(np.float64))[0, 1])


def effective_votes(members: int, mean_phi: float) -> float:
    """Independent votes that `members` votes with correlated errors amount to: k / (1 + (k - 1) phi).

    Five votes with phi 1 are one vote, with phi 0 five. Source: the design effect of Kish 1965 read backwards.
    """
    return members / (1 + (members - 1) * max(0.0, mean_phi))


def jury_errors(
    runs: SharedRuns, members: Sequence[str], *, kappas: Mapping[str, float | None] | None = None
) -> JuryErrors:
    """How the members' errors go together, over the runs that every member scored.

    Args:
        kappas: Lower bound of each member's kappa with people, where it is known.

    Raises:
        StatisticsError: Fewer than two members, or no run that all of them scored.
    """
    if len(members) < 2:
        raise StatisticsError(f"{len(members)} member: a jury needs two.")
    values = runs.values[[runs.place(name) for name in members]]
    whole = ~np.isnan(values).any(0)
    if not whole.any():
        raise StatisticsError(f"No run was scored by all of {', '.join(members)}.")
    values, labels = values[:, whole], runs.labels[whole]
    wrong = np.abs(values - labels[None, :]) > 1e-9
    pairs = tuple((members[i], members[j], phi(wrong[i], wrong[j])) for i, j in combinations(range(len(members)), 2))
    copies = _copies(members, values)
    judges = _distinct(members, copies)
    between = [value for a, b, value in pairs if value is not None and (len(judges) == 1 or {a, b} <= set(judges))]
    mean = float(np.mean(between)) if between else None
    votes = 1.0 if len(judges) == 1 else None if mean is None else effective_votes(len(judges), mean)
    unanimous = np.abs(values - values[:1]).max(0) < 1e-9
    agreeing = (np.abs(values[:, None, :] - values[None, :, :]) < 1e-9).sum(1)  # shape (members, runs)
    settled = 2 * agreeing.max(0) > len(members)
    spoken = ~wrong[agreeing.argmax(0), np.arange(values.shape[1])]
    split = settled & ~unanimous
    return JuryErrors(
        members=tuple(members),
        distinct=len(judges),
        runs=values.shape[1],
        phi=pairs,
        mean_phi=mean,
        effective_votes=votes,
        all_wrong=float(wrong.all(0).mean()),
        unanimous=float(unanimous.mean()),
        right_if_unanimous=float((~wrong[0])[unanimous].mean()) if unanimous.any() else None,
        no_majority=float((~settled).mean()),
        right_if_split=float(spoken[split].mean()) if split.any() else None,
        warnings=_warnings(members, votes, copies, len(judges), kappas or {}),
    )


def too_few_heard(members: Sequence[str], runs: int) -> JuryErrors:
    """What can be said where fewer than two members were asked about every run: nothing of how errors go together."""
    return JuryErrors(
        members=tuple(members),
        distinct=len(members),
        runs=runs,
        phi=(),
        mean_phi=None,
        effective_votes=None,
        all_wrong=None,
        unanimous=None,
        no_majority=None,
        right_if_unanimous=None,
        right_if_split=None,
        warnings=(),
    )


def same_model(a: str, b: str) -> bool:
    """Whether two judges' names end in one model: "openai/gpt-4o" and "litellm/openai/gpt-4o". Case counts."""
    return a.rpartition("/")[2] == b.rpartition("/")[2]


def _copies(members: Sequence[str], values: Floats) -> dict[tuple[str, str], str]:
    """Pairs that are one judge, with why."""
    found = {}
    for i, j in combinations(range(len(members)), 2):
        if same_model(members[i], members[j]):
            found[members[i], members[j]] = "are one model under two names"
        elif (np.abs(values[i] - values[j]) < 1e-9).all() and values.shape[1] > 1:
            found[members[i], members[j]] = "gave the same verdict on every run"
    return found


def _distinct(members: Sequence[str], copies: Iterable[tuple[str, str]]) -> list[str]:
    """The first of each group of copies."""
    later = {b for _, b in copies}
    return [name for name in members if name not in later]


def family(judge: str) -> str:
    """The maker's name that a judge's name begins with, lower case: "openai/gpt-4o" and "GPT-4.1" are both "gpt"."""
    model = judge.rpartition("/")[2].casefold()
    return "".join(c if c.isalpha() else " " for c in model).split(" ")[0] or model


def _warnings(
    members: Sequence[str],
    votes: float | None,
    copies: Mapping[tuple[str, str], str],
    distinct: int,
    kappas: Mapping[str, float | None],
) -> tuple[str, ...]:
    out = [f"{a} and {b} {why}: they are one judge, not two." for (a, b), why in copies.items()]
    if len({family(name) for name in members}) == 1:
        out.append(f"All members are of one family ({family(members[0])}): judges of one family err together more.")
    weak = [name for name in members if (low := kappas.get(name)) is not None and low < WEAK_KAPPA]
    if weak:
        out.append(f"Weak members (kappa may be below {WEAK_KAPPA}): {', '.join(weak)}. They can make a jury worse.")
    if votes is not None and votes < FEW_VOTES:
        counted = f", counted as {distinct} distinct," if distinct < len(members) else ""
        out.append(
            f"{len(members)} members{counted} amount to {votes:.1f} independent votes: "
            "they are wrong on the same runs; further seats repeat the first and gain little over more samples of one "
            "judge."
        )
    if len(members) > MOST_MEMBERS:
        out.append(f"More than {MOST_MEMBERS} members rarely pay: keep the best few.")
    return tuple(out)
