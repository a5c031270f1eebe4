"""Judges against each other on shared runs: paired differences, ranks, and what the labels allow to say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations

import numpy as np

from judge.calibration.confusion import binary_agreement
from judge.calibration.dataset import drawn_unequally
from judge.calibration.frontier import frontier
from judge.calibration.jury_errors import phi
from judge.calibration.kappa import cohen_kappa
from judge.calibration.paired import holm, mcnemar
from judge.calibration.proportions import share
from judge.calibration.rank_stability import rank_stability
from judge.calibration.resampling import Floats, bootstrap, linear, sum_by_cluster
from judge.calibration.separation import separation
from judge.calibration.shared_runs import SharedRuns
from judge.calibration.table import coefficient, count_table
from judge.calibration.wobble import wobble
from judge.errors import TooFewLabels
from judge.types.comparison import CompareDecision, Comparison, JudgePair, JudgeRow, ProbeFindings, Work
from judge.types.estimate import Statistic, undefined

LEVEL = 0.05
RESAMPLES = 4_000
FLIPS = 20_000
EXACT_TASKS = 14
"""Most tasks with a difference for which every sign pattern is counted; above it, patterns are drawn."""
LOW_COVERAGE = 0.98


def compare(
    runs: SharedRuns,
    *,
    label_set: str,
    work: Mapping[str, Work] | None = None,
    probes: Mapping[str, ProbeFindings] | None = None,
    rng: np.random.Generator,
) -> Comparison:
    """Every judge against people, and every two judges against each other, on the runs that all were asked about.

    Args:
        work: What a verdict takes, by judge; judges that are not in it have unknown price, time and tokens.
        probes: What a probing found, by judge; judges that are not in it were not probed.

    Raises:
        TooFewLabels: One judge alone.
    """
    if len(runs.judges) < 2:
        raise TooFewLabels(f"{len(runs.judges)} judge: two are needed for a comparison.")
    rows = _rows(runs, work or {}, probes or {}, rng)
    pairs = _pairs(runs, rng)
    gap = None
    if rows[0].scored and rows[1].scored:
        gap = separation(runs, rows[0].judge, rows[1].judge)
    points = frontier([(row.judge, row.work.usd, row.right.value) for row in rows])
    made = Comparison(
        label_set=label_set,
        criterion=runs.criterion,
        n=len(runs.items),
        n_groups=len(set(runs.groups)),
        judges=rows,
        pairs=pairs,
        frontier=points,
        separation=gap,
        decision=CompareDecision(best=None, level_with=(), words=()),
        left_out=dict(runs.left_out),
    )
    one_value = float(runs.labels[0]) if np.ptp(runs.labels) == 0 else None
    decision = _decide(made, one_value)
    if drawn := drawn_unequally(runs.chances):
        decision = decision.model_copy(update={"words": (*decision.words, drawn)})
    return made.model_copy(update={"decision": decision})


def _rows(
    runs: SharedRuns, work: Mapping[str, Work], probes: Mapping[str, ProbeFindings], rng: np.random.Generator
) -> tuple[JudgeRow, ...]:
    credit = runs.credit()
    ranked = rank_stability(credit, runs.judges, groups=runs.groups, rng=rng)
    places = {entry.agent: entry for entry in ranked.agents}
    rows = []
    for j in (runs.judges.index(entry.agent) for entry in ranked.agents):
        name, place = runs.judges[j], places[runs.judges[j]]
        verdict = runs.values[j]
        scored = ~np.isnan(verdict)
        said = [float(v) if there else None for v, there in zip(verdict, scored, strict=True)]
        heard = bool(scored.any())
        both = binary_agreement(runs.labels, verdict, groups=runs.groups, rng=rng) if runs.binary else None
        right = share(credit[j], groups=runs.groups, rng=rng)
        rows.append(
            JudgeRow(
                judge=name,
                right=right if heard else undefined("it gave no score on any run", n=len(verdict)),
                kappa=_kappa(runs, said, rng),
                tpr=both.tpr if both else None,
                tnr=both.tnr if both else None,
                n=len(verdict),
                scored=int(scored.sum()),
                failures=dict(Counter(why for why in runs.failures[j] if why)),
                rank=place.rank if heard else None,
                rank_low=place.low if heard else None,
                rank_high=place.high if heard else None,
                wobble=_wobble(runs.repeats[j], runs.groups, rng),
                work=work.get(name, Work()),
                probes=probes.get(name),
            )
        )
    return tuple(rows)


def _kappa(runs: SharedRuns, said: list[float | None], rng: np.random.Generator) -> Statistic:
    if runs.domain is None:
        return undefined("the scale has no levels", n=len(said))
    return cohen_kappa(
        runs.labels.tolist(),
        said,
        domain=runs.domain,
        groups=runs.groups,
        weights="unweighted" if runs.binary else "quadratic",
        rng=rng,
    )


def _wobble(repeats: Floats, groups: tuple[str, ...], rng: np.random.Generator) -> Statistic:
    if repeats.shape[1] < 2:
        return undefined("each run was judged once", n=0)
    return wobble(repeats, groups=groups, votes=(), rng=rng).flip_rate


def _pairs(runs: SharedRuns, rng: np.random.Generator) -> tuple[JudgePair, ...]:
    credit, cluster = runs.credit(), runs.clusters
    couples = list(combinations(range(len(runs.judges)), 2))
    gaps = np.stack([credit[i] - credit[j] for i, j in couples])
    by_task = _sign_flips(sum_by_cluster(gaps.T, cluster), rng)
    tasks = int(cluster.max()) + 1
    independent = tasks == len(runs.items)
    own: list[tuple[float, float | None, int | None, int | None]] = []
    for (i, j), task_p in zip(couples, by_task, strict=True):
        if runs.binary:
            only_a, only_b = int((credit[i] > credit[j]).sum()), int((credit[j] > credit[i]).sum())
            both = int((credit[i] * credit[j]).sum())
            exact = mcnemar([[len(runs.items) - both - only_a - only_b, only_a], [only_b, both]]).p
            own.append((exact, None if independent else task_p, only_a, only_b))
        else:
            own.append((task_p, None if independent else task_p, None, None))
    adjusted = holm([max(first, second or 0.0) for first, second, _, _ in own])
    pairs = []
    for (i, j), gap, tested, corrected in zip(couples, gaps, own, adjusted, strict=True):
        p, by_own_task, alone_a, alone_b = tested
        both, same, kappa = _between(runs, i, j)
        mean = float(gap.mean())
        heard = not np.isnan(runs.values[[i, j]]).all(axis=1).any()
        pairs.append(
            JudgePair(
                a=runs.judges[i],
                b=runs.judges[j],
                difference=difference(gap, cluster, rng),
                only_a=alone_a,
                only_b=alone_b,
                p=p,
                p_by_task=by_own_task,
                p_adjusted=corrected,
                both=both,
                same=same,
                kappa=kappa,
                errors=phi(credit[i] < 1, credit[j] < 1),
                better=None if corrected >= LEVEL or not heard else runs.judges[i if mean > 0 else j],
            )
        )
    return tuple(pairs)


def difference(gap: Floats, cluster: np.ndarray, rng: np.random.Generator) -> Statistic:
    """Mean difference of credit, shape (n,) in [-1, 1], with a percentile interval over resampled tasks.

    No interval where one task alone is there, or where all resamples are equal: that is no certainty.
    """
    rows = sum_by_cluster(np.stack([gap, np.ones(len(gap))], axis=1), cluster)
    if len(rows) < 2:
        return Statistic(
            value=float(gap.mean()),
            n=len(gap),
            clusters=len(rows),
            method="none",
            reason="one task: the variation between tasks cannot be seen",
        )
    weighted = linear(rows, lambda sums: sums[:, 0] / sums[:, 1], None, 0.0)
    return bootstrap(weighted, n=len(gap), rng=rng, resamples=RESAMPLES)


def _sign_flips(sums: Floats, rng: np.random.Generator) -> list[float]:
    """Two-sided p of each column's total when the sign of each task's sum is a coin: (g, pairs) to pairs.

    Exact where few tasks differ, else by drawn patterns, the seen one counted in (p is never 0).

    Source: Fisher 1935; Phipson & Smyth 2010, doi:10.2202/1544-6115.1585.
    """
    out = []
    signs = None
    for column in sums.T:
        moved = np.abs(column[np.abs(column) > 1e-12])
        total = abs(float(column.sum())) - 1e-9
        if len(moved) == 0:
            out.append(1.0)
        elif len(moved) <= EXACT_TASKS:
            patterns = 1 - 2 * ((np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1)
            out.append(float((np.abs(patterns @ moved) >= total).mean()))
        else:
            if signs is None:
                signs = rng.integers(2, size=(FLIPS, len(sums)), dtype=np.int8) * 2 - 1
            beyond = int((np.abs(signs @ column) >= total).sum())
            out.append((beyond + 1) / (FLIPS + 1))
    return out


def _between(runs: SharedRuns, i: int, j: int) -> tuple[int, float | None, float | None]:
    """How many runs two judges both scored, their share of equal values and kappa there; None where undefined."""
    a, b = runs.values[i], runs.values[j]
    both = ~np.isnan(a) & ~np.isnan(b)
    n = int(both.sum())
    if n == 0:
        return 0, None, None
    same = float((np.abs(a[both] - b[both]) < 1e-9).mean())
    if runs.domain is None:
        return n, same, None
    domain = np.asarray(runs.domain)
    codes = [np.abs(domain[None, :] - side[both][:, None]).argmin(1) for side in (a, b)]
    table = count_table(codes[0], codes[1], len(domain))
    kappa = float(coefficient(table, "cohen", "unweighted" if runs.binary else "quadratic"))
    return n, same, kappa if np.isfinite(kappa) else None


def _decide(made: Comparison, one_value: float | None) -> CompareDecision:
    """In words; `one_value` is what people gave every run, None where they gave several."""
    heard = [row for row in made.judges if row.scored]
    if not heard:
        said = f"No judge gave a score on any of the {made.n} shared runs: nothing can be compared."
        return CompareDecision(best=None, level_with=(), words=(said,))
    top = max(row.right.value or 0.0 for row in heard)
    leaders = [row.judge for row in heard if row.right.value is not None and row.right.value >= top - 1e-12]
    first = leaders[0]
    beaten = {pair.b if pair.better == pair.a else pair.a for pair in made.pairs if pair.better == first}
    level = tuple(row.judge for row in heard if row.judge not in beaten and row.judge != first)
    others = [name for name in level if name not in leaders]
    words = []
    if len(leaders) > 1:
        words.append(f"{' and '.join(leaders)} are level at the top ({top:.3f}).")
    else:
        words.append(f"{first} agrees with people most ({top:.3f} of full credit on {made.n} shared runs).")
    if beaten:
        who = "It" if len(leaders) == 1 else first
        words.append(f"{who} is shown to be better than {len(beaten)} of {len(made.judges) - 1} others (.05, Holm).")
    if others:
        words.append(f"Not shown to be worse: {', '.join(others)}.")
    gap = made.separation
    if gap is not None and gap.second in level and gap.runs is not None:
        more = max(0, gap.runs - gap.have)
        alone = ", compared alone," if len(made.judges) > 2 else ""
        words.append(
            f"To tell {gap.first} from {gap.second}{alone} would take about {gap.runs} labelled runs"
            + (f" of {gap.tasks} tasks" if gap.tasks is not None and made.n_groups < made.n else "")
            + (f", {more} more than now" if more else "")
            + ", if the difference is as seen."
        )
    if all(row.kappa.lower is None or row.kappa.lower <= 0 for row in heard):
        words.append("None of them is shown to agree with people beyond chance.")
    for row in made.judges:
        if not row.scored:
            words.append(f"{row.judge} gave no score on any run: nothing can be said of its judgement.")
        elif row.scored < LOW_COVERAGE * row.n:
            words.append(f"{row.judge} gave no score on {row.n - row.scored} of {row.n} runs; they count against it.")
    if one_value is not None:
        words.append(
            f"People gave every run the same value ({one_value:g}): a judge that always says so is right on all of "
            "them, and nothing here tells it from a good one."
        )
    if made.n_groups < made.n:
        words.append(f"The {made.n} runs are of {made.n_groups} tasks; tests hold for tasks, not for single runs.")
    words.append("Better is not good enough: a comparison certifies nobody. `judge calibrate` does that.")
    return CompareDecision(best=first if len(leaders) == 1 else None, level_with=level, words=tuple(words))
