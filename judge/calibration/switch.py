"""May a new judge take an old one's place? Paired on the same labelled runs, with a stated margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from judge.calibration.rank_stability import rank_stability, tau_to
from judge.calibration.resampling import Floats, bounded, linear, sum_by_cluster
from judge.calibration.shared_runs import SharedRuns
from judge.errors import UsageError
from judge.types.comparison import Flip, MovedMark, RankChange, Switch, Work
from judge.types.estimate import Statistic

MARGIN = 0.05
ORDER = {"broken": 0, "fixed": 1, "both_wrong": 2}


def switch(
    runs: SharedRuns,
    *,
    old: str,
    new: str,
    margin: float = MARGIN,
    reasons: Mapping[str, Mapping[str, str]] | None = None,
    agents: Mapping[str, str] | None = None,
    work: Mapping[str, Work] | None = None,
    scores: Mapping[str, Mapping[str, float]] | None = None,
    pass_mark: float | None = None,
    rng: np.random.Generator,
) -> Switch:
    """Whether `new` loses less credit than `margin` against `old`.

    Args:
        margin: Largest loss of credit that is accepted, in (0, 1).
        reasons: Judge to item to its reason. `agents`: item to the agent that made the run.
        scores: Judge to item to its own score, where `pass_mark` cuts scores into passed and failed.
        pass_mark: The old judge's lowest passing score.

    Raises:
        UsageError: The margin is outside (0, 1), the two judges are one, or one was not compared.

    Source: one-sided bound at 95 % against the margin, as in trials of non-inferiority (ICH E9, 3.3.2). The margin
    must be chosen before looking.
    """
    if not 0 < margin < 1:
        raise UsageError(f"The margin is {margin!r}; a share of credit between 0 and 1 is needed.")
    if old == new:
        raise UsageError(f"{old!r} cannot take its own place.", hint="Name two judges.")
    before, after = runs.place(old), runs.place(new)
    credit = runs.credit()
    gap = credit[after] - credit[before]
    found = _bounds(gap, runs, rng)
    flips = _flips(runs, before, after, reasons or {})
    places, tau = _agents(runs, before, after, agents or {}, rng)
    known = [(work or {}).get(name, Work()).usd for name in (old, new)]
    change = known[1] - known[0] if known[0] is not None and known[1] is not None else None
    decision, why = _decision(found, margin, old, new)
    broken = sum(flip.change == "broken" for flip in flips)
    fixed = sum(flip.change == "fixed" for flip in flips)
    as_far = len(flips) - broken - fixed
    neither = int(np.isnan(runs.values[[before, after]]).all(0).sum())
    unchanged = len(runs.items) - len(flips) - neither
    words = [
        why,
        f"{new} is nearer to people on {fixed} runs, {old} on {broken}; on {unchanged} of {len(runs.items)} runs both "
        "said the same"
        + (f", on {as_far} they differ and are as far off" if as_far else "")
        + (f", on {neither} none of them gave a score." if neither else "."),
    ]
    if tau is not None:
        moved = sum(place.old_rank != place.new_rank for place in places)
        words.append(f"{moved} of {len(places)} agents change their rank (tau-b {tau:.2f}).")
    words.append(
        "The change of cost is unknown: a price is missing."
        if change is None
        else f"A verdict costs ${abs(change):.4g} {'more' if change > 0 else 'less'}."
        if change
        else "A verdict costs the same."
    )
    mark = _moved_mark(runs, old, new, scores or {}, pass_mark)
    if mark is not None:
        words.append(
            f"The pass mark {mark.old:g} of {old} is {mark.new:g} on the scale of {new}: {len(mark.changed)} runs then "
            "change between passed and failed."
        )
    words.append(f"{new} needs a certificate of its own: that of {old} does not hold for it.")
    return Switch(
        old=old,
        new=new,
        margin=margin,
        difference=found,
        decision=decision,
        words=tuple(words),
        flips=flips,
        unchanged=unchanged,
        neither=neither,
        agents=places,
        tau=tau,
        usd_change=change,
        moved_mark=mark,
    )


def _bounds(gap: Floats, runs: SharedRuns, rng: np.random.Generator) -> Statistic:
    """Mean difference with bounds that do not fail open: pseudo-runs stand at the ends, -1 and 1."""
    rows = sum_by_cluster(np.stack([gap, np.ones(len(gap))], axis=1), runs.clusters)
    size = len(gap) / len(rows)
    pseudo = np.asarray([[-1.0, 1.0], [1.0, 1.0]]) * size
    weighted = linear(rows, lambda sums: sums[:, 0] / sums[:, 1], pseudo, 0.5)
    return bounded(weighted, n=len(gap), rng=rng, transform="none")


def _decision(
    found: Statistic, margin: float, old: str, new: str
) -> tuple[Literal["switch", "keep", "undecided"], str]:
    value, lower, upper = found.value, found.lower, found.upper
    if value is None or lower is None or upper is None:
        return "undecided", f"Undecided: no bound can be given for the difference ({found.reason})."
    shown = f"its mean credit differs by {value:+.3f} from {old}'s, at worst by {lower:+.3f} (95 %, one-sided)"
    if lower > -margin:
        better = " It is better." if lower > 0 else ""
        return "switch", f"Switch: {new} is not worse than {old} by {margin:g} or more; {shown}.{better}"
    if upper < -margin:
        return "keep", f"Keep {old}: {new} is worse by more than {margin:g}; {shown}, at best {upper:+.3f}."
    return "undecided", f"Undecided: {shown}; a loss of {margin:g} can be neither shown nor ruled out. Label more runs."


def _flips(runs: SharedRuns, before: int, after: int, reasons: Mapping[str, Mapping[str, str]]) -> tuple[Flip, ...]:
    credit = runs.credit()
    old_reasons, new_reasons = (reasons.get(runs.judges[j], {}) for j in (before, after))
    flips = []
    for i, item in enumerate(runs.items):
        old, new = runs.values[before, i], runs.values[after, i]
        if old == new or (np.isnan(old) and np.isnan(new)):
            continue
        gain = credit[after, i] - credit[before, i]
        flips.append(
            Flip(
                item=item,
                group=runs.groups[i],
                label=float(runs.labels[i]),
                old=None if np.isnan(old) else float(old),
                new=None if np.isnan(new) else float(new),
                change="fixed" if gain > 1e-9 else "broken" if gain < -1e-9 else "both_wrong",
                old_reason=old_reasons.get(item, ""),
                new_reason=new_reasons.get(item, ""),
            )
        )
    return tuple(sorted(flips, key=lambda flip: ORDER[flip.change]))


def _agents(
    runs: SharedRuns, before: int, after: int, agents: Mapping[str, str], rng: np.random.Generator
) -> tuple[tuple[RankChange, ...], float | None]:
    """Agents by mean score under each judge, over the runs that both scored; () without two agents."""
    both = ~np.isnan(runs.values[before]) & ~np.isnan(runs.values[after])
    of = [agents.get(item) for item in runs.items]
    names = sorted({name for name, there in zip(of, both, strict=True) if name and there})
    if len(names) < 2:
        return (), None
    ranked = []
    for j in (before, after):
        cells = np.full((len(names), len(runs.items)), np.nan)
        for i, name in enumerate(of):
            if name in names and both[i]:
                cells[names.index(name), i] = runs.values[j, i]
        ranked.append({a.agent: a for a in rank_stability(cells, names, groups=runs.groups, rng=rng).agents})
    places = []
    for name in names:
        old, new = ranked[0][name], ranked[1][name]
        if old.rank is None or new.rank is None or old.mean is None or new.mean is None:
            return (), None
        places.append(
            RankChange(agent=name, old_rank=old.rank, new_rank=new.rank, old_mean=old.mean, new_mean=new.mean)
        )
    means = np.asarray([[place.old_mean for place in places], [place.new_mean for place in places]])
    tau = float(tau_to(means[0], means[1:])[0])
    return tuple(sorted(places, key=lambda place: place.new_rank)), tau if np.isfinite(tau) else None


def _moved_mark(
    runs: SharedRuns, old: str, new: str, scores: Mapping[str, Mapping[str, float]], mark: float | None
) -> MovedMark | None:
    """The new judge's mark that keeps most results of the old one; among equals the one nearest in pass rate."""
    if mark is None or not scores.get(old) or not scores.get(new):
        return None
    shared = [item for item in runs.items if item in scores[old] and item in scores[new]]
    if not shared:
        return None
    passed = np.asarray([scores[old][item] >= mark for item in shared])
    given = np.asarray([scores[new][item] for item in shared])
    best = min(
        np.unique(given).tolist(),
        key=lambda at: (int(((given >= at) != passed).sum()), abs(int((given >= at).sum()) - int(passed.sum())), at),
    )
    moved = given >= best
    changed: dict[str, Literal["passed", "failed"]] = {
        item: "passed" if was else "failed"
        for item, was, now in zip(shared, passed.tolist(), moved.tolist(), strict=True)
        if was != now
    }
    return MovedMark(old=mark, new=float(best), agree=1 - len(changed) / len(shared), changed=changed)
