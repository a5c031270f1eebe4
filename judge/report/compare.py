"""A comparison of judges and a switch, as text: the answer first, then the table it rests on."""

from __future__ import annotations

from collections.abc import Mapping

from judge.calibration.jury_errors import JuryErrors
from judge.report.calibration import DECISION_WORDS, decimals, statistic_text
from judge.report.jury import causes, jury_lines
from judge.report.numbers import number, plural, usd
from judge.types.certificate import Certificate
from judge.types.comparison import Comparison, JudgePair, JudgeRow, ProbeFindings, Switch
from judge.types.estimate import Statistic

SHOWN_PAIRS = 12
SHOWN_FLIPS = 10


def comparison_text(found: Comparison, juries: Mapping[str, JuryErrors]) -> str:
    """The whole comparison."""
    lines = [
        f"== {len(found.judges)} judges, criterion {found.criterion}, on {found.label_set}: "
        f"{plural(found.n, 'shared run')} of {plural(found.n_groups, 'task')}",
        "",
        *found.decision.words,
        "",
        *_columns(judge_table(found)),
        *(f"  {line}" for line in (*JUDGE_WORDS, *unmeasured(found))),
    ]
    for row in found.judges:
        if row.failures:
            lines.append(f"  {row.judge}: without a score " + causes(row.failures))
    lines += [f"  {row.judge}: probes from a {row.probes.source}" for row in found.judges if row.probes is not None]
    ordered = pairs_by_interest(found)
    lines += ["", f"Pairs ({min(SHOWN_PAIRS, len(ordered))} of {len(ordered)}; p by Holm over all):"]
    lines += _columns([PAIR_HEADER, *(pair_cells(pair, found.n) for pair in ordered[:SHOWN_PAIRS])])
    lines += [f"  {line}" for line in PAIR_WORDS]
    if found.frontier:
        best = [f"{p.judge} ({usd(p.usd)}, {decimals(p.right)})" for p in found.frontier if p.on_frontier]
        lines += ["", f"Frontier of price and agreement: {'; '.join(best)}."]
    if found.frontier and (unpriced := [row.judge for row in found.judges if row.work.usd is None]):
        lines.append(f"Price unknown, so not on the frontier: {', '.join(unpriced)}. State one with --price NAME=USD.")
    for name, errors in juries.items():
        lines += ["", *jury_lines(name, errors)]
    if found.left_out:
        lines += ["", "Left out: " + causes(found.left_out)]
    return "\n".join(lines)


def switch_text(found: Switch) -> str:
    """The switch, with the runs that flip and both reasons."""
    lines = [f"== {found.old} → {found.new}, margin {found.margin:g}", "", *found.words, ""]
    lines.append(f"Difference of credit: {statistic_text(found.difference)}, by {found.difference.method}")
    if found.agents:
        lines += ["", "Agents by the new judge (rank before, rank now):"]
        lines += [f"  {a.agent}: {number(a.old_rank)} → {number(a.new_rank)}" for a in found.agents]
    if found.flips:
        lines += ["", f"Runs that change ({min(SHOWN_FLIPS, len(found.flips))} of {len(found.flips)}):"]
    for flip in found.flips[:SHOWN_FLIPS]:
        before, after = (number(value, absent="no score") for value in (flip.old, flip.new))
        lines.append(
            f"  {flip.item} ({flip.change.replace('_', ' ')}): people {number(flip.label)}, {before} → {after}"
        )
        lines += [f"      old: {flip.old_reason or 'no reason recorded'}"[:300]]
        lines += [f"      new: {flip.new_reason or 'no reason recorded'}"[:300]]
    if found.moved_mark is not None and found.moved_mark.changed:
        moved = found.moved_mark
        lines += ["", f"Under the moved pass mark ({moved.old:g} → {moved.new:g}) these change:"]
        lines += [
            f"  {item}: {was} before, {'failed' if was == 'passed' else 'passed'} now"
            for item, was in moved.changed.items()
        ]
    return "\n".join(lines)


def certificate_text(found: Certificate) -> str:
    """What a calibration of the new judge decided."""
    lines = [f"Certificate {found.id} of {found.scope.judge.name}: {DECISION_WORDS[found.decision]}"]
    return "\n".join([*lines, *(f"  {reason}" for reason in found.reasons[:6])])


ROW_HEADER = [
    "judge", "right", "kappa", "good passed", "bad caught", "rank", "scored", "wobble", "s", "tokens", "price",
    "probes",
]  # fmt: skip
PAIR_HEADER = ["pair", "better", "difference", "only a / only b", "p", "p by task", "p Holm", "same", "errors"]
MEASURED = {
    "wobble": "wobble (--repeats 5 on live judges)",
    "s": "seconds (live judges, first pass)",
    "tokens": "tokens (live judges)",
    "price": "price (--price NAME=USD)",
    "probes": "probes (judge probe, then --probes)",
}
"""Columns that may be unknown for every judge, each with how it is measured."""
JUDGE_WORDS = (
    "right: mean credit, 1 for a run on which the judge says what people say; a run without a score earns none.",
    "kappa: agreement beyond chance, 0 is what chance gives and 1 is perfect.",
    "good passed, bad caught: of the runs that people passed, or failed, the share on which the judge did so too.",
    "rank: 1 is best, with its 95 % interval over tasks. wobble: chance that two samples of a run differ.",
)
PAIR_WORDS = (
    "difference: mean credit of the first less that of the second, with its 95 % interval over tasks.",
    "p: how often equal judges would differ so much, by the exact McNemar test on passed and failed; p by task: by "
    "flipping the sign of whole tasks.",
    "p Holm: the larger of the two, corrected for the number of pairs; below .05 the better one is named, where both "
    "gave a score.",
    "same: equal verdicts, of the runs that both scored (how many, where not all). errors: correlation of being wrong.",
)


def judge_table(found: Comparison) -> list[list[str]]:
    """A header and a row a judge, without the columns that are unknown for all."""
    rows = [row_cells(row) for row in found.judges]
    kept = [place for place, name in enumerate(ROW_HEADER) if name not in MEASURED or not _unknown(rows, place)]
    return [[cells[place] for place in kept] for cells in (ROW_HEADER, *rows)]


def unmeasured(found: Comparison) -> list[str]:
    """What was measured of no judge, with how to: one line, or none."""
    rows = [row_cells(row) for row in found.judges]
    missing = [how for name, how in MEASURED.items() if _unknown(rows, ROW_HEADER.index(name))]
    return [f"Not measured of any judge: {', '.join(missing)}."] if missing else []


def _unknown(rows: list[list[str]], place: int) -> bool:
    return all(row[place] in ("unknown", "not probed") for row in rows)


def row_cells(row: JudgeRow) -> list[str]:
    """One judge as cells under ROW_HEADER; "-" where the scale has no such rate, "unknown" where nobody measured."""
    rank = "-" if row.rank is None else f"{row.rank:g}"
    if row.rank_low is not None and row.rank_high is not None:
        rank += f" [{row.rank_low:.3g}, {row.rank_high:.3g}]"
    return [
        row.judge,
        _with_interval(row.right),
        _short(row.kappa.value),
        "-" if row.tpr is None else _short(row.tpr.value),
        "-" if row.tnr is None else _short(row.tnr.value),
        rank,
        f"{row.scored}/{row.n}",
        _short(row.wobble.value),
        number(row.work.seconds),
        number(row.work.tokens),
        usd(row.work.usd),
        _probes(row.probes),
    ]


PROBE_WORDS = {
    "implanted_faults": "faults seen",
    "specificity_on_parents": "unchanged passed",
    "attacks": "attacks broken",
    "null_answers": "constant answers passed",
    "biases": "largest bias",
}


def _probes(found: ProbeFindings | None) -> str:
    if found is None:
        return "not probed"
    return ", ".join(f"{PROBE_WORDS.get(name, name)} {_short(claim.value)}" for name, claim in found.claims.items())


def pair_cells(pair: JudgePair, n: int) -> list[str]:
    """One pair as cells under PAIR_HEADER; `n` runs were shared."""
    same = _short(pair.same) if pair.both in (0, n) else f"{_short(pair.same)} of {pair.both}"
    alone = "-" if pair.only_a is None else f"{pair.only_a} / {pair.only_b}"
    return [
        f"{pair.a} - {pair.b}",
        pair.better or "not shown",
        _with_interval(pair.difference),
        alone,
        f"{pair.p:.2g}",
        "-" if pair.p_by_task is None else f"{pair.p_by_task:.2g}",
        f"{pair.p_adjusted:.2g}",
        same,
        _short(pair.errors),
    ]


def pairs_by_interest(found: Comparison) -> list[JudgePair]:
    """Pairs with the best judge first, then the others, each by p."""
    first = found.judges[0].judge
    return sorted(found.pairs, key=lambda pair: (first not in (pair.a, pair.b), pair.p_adjusted, pair.p))


def _with_interval(statistic: Statistic) -> str:
    """A cell: `.571 [.391, .735]`, or `.571 [none]` where the data give no interval; compare.json says why."""
    return statistic_text(statistic) if statistic.low is not None else f"{_short(statistic.value)} [none]"


def _short(value: float | None) -> str:
    return "unknown" if value is None else decimals(value)


def _columns(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
