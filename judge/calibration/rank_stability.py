"""Rank stability: is the ranking of agents the same on other tasks, on other runs of the judge, without one judge?

Three sources of change are told apart: tasks (bootstrap over groups), the judge's own wobble (one repeat drawn for
each item, tasks kept), and both. Ties within the noise are ties: read the rank intervals.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.rank_correlation import Concordance, kendall_w
from judge.calibration.ratings import cluster_codes
from judge.calibration.resampling import Floats, ratio
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined
from judge.types.record import Record

Vary: TypeAlias = Literal["tasks", "judge", "both"]


class AgentRank(Record):
    """One agent's place.

    Attributes:
        mean: Mean score over items, or None without one.
        rank: 1 is best; agents with equal means share the middle rank.
        low, high: Interval of the rank over resamples; None with `mean`.
    """

    omit_none: ClassVar[bool] = False

    agent: str
    mean: float | None
    rank: float | None
    low: float | None
    high: float | None


class RankStability(Record):
    """Attributes:
    agents: Best first.
    tau: Median tau-b between resampled and full ranking, with the interval of the resamples.
    top_stays: Share of resamples in which the best agent stays alone at the top.
    swaps: For each pair (better, worse) of the full ranking: share of resamples in which the worse is at least level.
    """

    omit_none: ClassVar[bool] = False

    vary: Vary
    agents: tuple[AgentRank, ...]
    tau: Statistic
    top_stays: float | None
    swaps: tuple[tuple[str, str, float], ...]
    resamples: int
    undefined_resamples: int
    reason: str | None = None


class LeaveOneJudgeOut(Record):
    """tau-b between the ranking of all judges and that without one; None where one side does not rank."""

    omit_none: ClassVar[bool] = False

    tau: dict[str, float | None]
    top_stays: dict[str, bool]
    concordance: Concordance


def _cube(scores: ArrayLike, agents: Sequence[str]) -> Floats:
    cube = np.asarray(scores, dtype=np.float64)
    if cube.ndim == 2:
        cube = cube[:, :, None]
    if cube.ndim != 3 or len(cube) != len(agents):
        raise StatisticsError(
            f"Scores have shape {cube.shape} for {len(agents)} agents.",
            hint="Give (agents, items) or (agents, items, repeats).",
        )
    if len(set(agents)) != len(agents):
        raise StatisticsError(f"Agents repeat: {list(agents)!r}.")
    return cube


def _mean_over_repeats(cube: Floats) -> Floats:
    there = ~np.isnan(cube)
    return ratio(np.where(there, cube, 0.0).sum(2), there.sum(2).astype(np.float64))


def _middle_ranks(means: Floats) -> Floats:
    """Ranks of (b, agents), 1 the best, ties sharing the middle."""
    higher = (means[:, None, :] > means[:, :, None] + 1e-12).sum(2)
    level = (np.abs(means[:, None, :] - means[:, :, None]) <= 1e-12).sum(2)
    ranks: Floats = 1 + higher + (level - 1) / 2
    return ranks


def tau_to(reference: Floats, others: Floats) -> Floats:
    """tau-b of a vector (a,) with each row of (b, a); NaN where a side is one tie."""
    side = np.sign(np.where(np.abs(d := reference[:, None] - reference[None, :]) <= 1e-12, 0.0, d))
    apart = others[:, :, None] - others[:, None, :]
    sides = np.sign(np.where(np.abs(apart) <= 1e-12, 0.0, apart))
    untied = np.abs(sides).sum((1, 2)) * np.abs(side).sum()
    return ratio((sides * side[None]).sum((1, 2)), np.sqrt(untied))


def rank_stability(
    scores: ArrayLike,
    agents: Sequence[str],
    *,
    groups: Sequence[Hashable] | None = None,
    vary: Vary = "tasks",
    rng: np.random.Generator,
    resamples: int = 2_000,
    confidence: float = 0.95,
) -> RankStability:
    """Stability of the ranking of agents by mean score.

    Args:
        scores: Shape (agents, items) or (agents, items, repeats); column j is the same item for all agents (paired);
            NaN where missing. To rank trajectories, give one item each and vary "judge".
        groups: Task of each item.
        vary: What is drawn anew.

    Returns:
        Null statistics with fewer than two agents, or fewer than two tasks to draw from.

    Raises:
        StatisticsError: Shapes do not fit, or agents repeat.
    """
    cube = _cube(scores, agents)
    count, items, repeats = cube.shape
    cluster = cluster_codes(groups, items)
    tasks = int(cluster.max()) + 1 if items else 0
    flat = _mean_over_repeats(cube)
    full = ratio(np.where(np.isnan(flat), 0, flat).sum(1), (~np.isnan(flat)).sum(1).astype(np.float64))
    reason = None
    if count < 2 or np.isnan(full).any():
        reason = "fewer than two agents" if count < 2 else "an agent has no score"
    elif vary != "judge" and tasks < 2:
        reason = "one task: there is nothing to draw from"
    elif vary != "tasks" and repeats < 2:
        reason = "one run of the judge: its wobble is not known"
    order = np.argsort(-np.where(np.isnan(full), -np.inf, full), kind="stable")
    if reason is not None:
        return RankStability(
            vary=vary,
            agents=tuple(
                AgentRank(
                    agent=agents[i], mean=None if np.isnan(full[i]) else float(full[i]), rank=None, low=None, high=None
                )
                for i in order
            ),
            tau=undefined(reason, n=items, clusters=tasks, confidence=confidence),
            top_stays=None,
            swaps=(),
            resamples=0,
            undefined_resamples=0,
            reason=reason,
        )
    member = np.zeros((items, tasks))
    member[np.arange(items), cluster] = 1.0
    drawn = np.empty((resamples, count))
    # drawing one repeat for each item needs every item's scores; drawing tasks needs the sums of tasks alone
    for start in range(0, resamples, 200):
        size = min(200, resamples - start)
        values = np.broadcast_to(flat, (size, count, items))
        if vary != "tasks":
            pick = rng.integers(repeats, size=(size, count, items))
            values = np.take_along_axis(np.broadcast_to(cube, (size, *cube.shape)), pick[..., None], axis=3)[..., 0]
        there = ~np.isnan(values)
        weights = (
            np.ones((size, tasks))
            if vary == "judge"
            else rng.multinomial(tasks, np.full(tasks, 1 / tasks), size=size).astype(np.float64)
        )
        weight = (weights @ member.T)[:, None, :]
        drawn[start : start + size] = ratio((np.where(there, values, 0.0) * weight).sum(2), (there * weight).sum(2))
    whole = ~np.isnan(drawn).any(1)
    kept = drawn[whole]
    lost = int((~whole).sum())
    ranks = _middle_ranks(kept) if len(kept) else np.empty((0, count))
    taus = tau_to(full, kept)
    taus = taus[~np.isnan(taus)]
    tail = (1 - confidence) / 2
    own = _middle_ranks(full[None, :])[0]
    best = int(order[0])
    swaps = tuple(
        (agents[i], agents[j], float((kept[:, j] >= kept[:, i] - 1e-12).mean()))
        for place, i in enumerate(order)
        for j in order[place + 1 :]
    )
    if len(taus) < 0.95 * resamples:
        tau = undefined(
            f"{resamples - len(taus)} of {resamples} resamples do not rank the agents",
            n=items,
            clusters=tasks,
            confidence=confidence,
        )
    else:
        low, high, lower, upper, median = (
            float(x) for x in np.quantile(taus, [tail, 1 - tail, 1 - confidence, confidence, 0.5])
        )
        tau = Statistic(
            value=median,
            low=low,
            high=high,
            lower=lower,
            upper=upper,
            confidence=confidence,
            n=items,
            clusters=tasks,
            method=f"median over resamples of {vary}",
        )
    return RankStability(
        vary=vary,
        agents=tuple(
            AgentRank(
                agent=agents[i],
                mean=float(full[i]),
                rank=float(own[i]),
                low=float(np.quantile(ranks[:, i], tail)) if len(ranks) else None,
                high=float(np.quantile(ranks[:, i], 1 - tail)) if len(ranks) else None,
            )
            for i in order
        ),
        tau=tau,
        top_stays=float((ranks[:, best] == 1.0).mean()) if len(ranks) else None,
        swaps=swaps,
        resamples=resamples,
        undefined_resamples=lost,
    )


def leave_one_judge_out(scores: Mapping[str, ArrayLike], agents: Sequence[str]) -> LeaveOneJudgeOut:
    """How the ranking by the mean over judges changes without each of them.

    Args:
        scores: Judge to scores of shape (agents, items), NaN where missing.

    Raises:
        StatisticsError: Fewer than two judges, or shapes that do not fit.
    """
    if len(scores) < 2:
        raise StatisticsError(f"{len(scores)} judges, two needed to leave one out.")
    means = {}
    for name, table in scores.items():
        flat = _mean_over_repeats(_cube(table, agents))
        there = ~np.isnan(flat)
        means[name] = ratio(np.where(there, flat, 0.0).sum(1), there.sum(1).astype(np.float64))
    stacked = np.stack(list(means.values()))
    if np.isnan(stacked).any():
        raise StatisticsError("A judge scored no run of some agent.", hint="Leave that judge or agent out first.")
    full = stacked.mean(0)
    top = int(np.argmax(full))
    tau: dict[str, float | None] = {}
    stays: dict[str, bool] = {}
    for place, name in enumerate(means):
        rest = np.delete(stacked, place, axis=0).mean(0)
        value = float(tau_to(full, rest[None, :])[0])
        tau[name] = value if np.isfinite(value) else None
        stays[name] = bool(_middle_ranks(rest[None, :])[0, top] == 1.0)
    return LeaveOneJudgeOut(tau=tau, top_stays=stays, concordance=kendall_w(stacked.T))
