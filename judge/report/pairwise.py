"""Pairs of runs as text: each verdict in a few lines, and the report: who is better, and what the judge is worth."""

from __future__ import annotations

from collections.abc import Sequence

from judge.calibration.pair_findings import PairReport
from judge.report.calibration import decimals, statistic_text
from judge.report.numbers import plural, usd
from judge.report.probe import Table, table_lines
from judge.types.pair import PairVerdict, PairVote

LEVEL = 1e-6
"""Strengths nearer to each other than this are equal: they are fitted, and differ by rounding."""
FEW_TASKS = 10
"""Below this a ranking has often no interval, or a wide one, and the report says so."""


def pair_text(verdict: PairVerdict) -> str:
    """One verdict: the winner, the cause, what each order said and where."""
    lines = [f"{verdict.a} (a) against {verdict.b} (b): {_headline(verdict)}", f"  {verdict.why}"]
    for criterion in verdict.criteria:
        name = f"{criterion.id}, " if len(verdict.criteria) > 1 else ""
        for order in criterion.orders:
            cited = _cited([vote for vote in order.votes if vote.preferred == order.winner])
            lines.append(f"  {name}{order.first} first (X is {order.first}): {order.winner}{cited}")
    lines += [f"  note: {cut}" for cut in verdict.cuts[:3]]
    return "\n".join(lines)


def _headline(verdict: PairVerdict) -> str:
    if verdict.winner in ("a", "b"):
        return f"{verdict.a if verdict.winner == 'a' else verdict.b} is better"
    return {"tie": "a tie", "not_applicable": "not applicable"}.get(verdict.winner, verdict.winner)


def _cited(votes: Sequence[PairVote]) -> str:
    cites = dict.fromkeys(f"[{cite.run}{cite.step}]" for vote in votes for cite in vote.evidence)
    return f", citing {' '.join(cites)}" if cites else ""


def pair_report_text(report: PairReport) -> str:
    """The whole report as text."""
    asked = f"{plural(report.pairs, 'pair')} of {plural(report.tasks, 'task')}"
    lines = [
        f"== {report.judge} on {asked}, rubric {report.rubric}",
        "",
        *sentences(report),
    ]
    for table in tables(report):
        lines += ["", f"{table.title} ({table.legend}):", *table_lines(table.header, table.rows), *table.below]
    lines += ["", f"Trust: {report.trust.state}. {' '.join(report.trust.reasons)}"]
    lines.append(
        f"{plural(report.calls, 'call')}, {plural(report.cached, 'sample')} from the cache, {usd(report.cost_usd)}."
    )
    return "\n".join(lines)


def sentences(report: PairReport) -> tuple[str, ...]:
    """What the numbers mean; only what they show."""
    out = [
        f"{report.won} decided, {plural(report.ties, 'tie')}, {report.inconclusive} inconclusive "
        f"({report.swapped} because the orders disagree), {report.failed} failed"
        + (f", {report.not_applicable} not applicable" if report.not_applicable else "")
        + "."
    ]
    if report.ranking:
        best, *others = report.ranking
        highs = [one.high for one in others]
        apart = best.low is not None and all(high is not None and best.low > high for high in highs)
        rest = "ahead of every other" if apart else "first, and no interval sets it apart from all others"
        level = [one.name for one in report.ranking if best.strength - one.strength < LEVEL]
        out.append(f"{best.name} is {rest}." if len(level) == 1 else f"{' and '.join(level)} are level at the top.")
        if report.tasks < FEW_TASKS:
            out.append(f"The ranking rests on {plural(report.tasks, 'task')}, which is few: judge more tasks.")
    else:
        out.append(f"No ranking: {report.unranked}")
    position = report.position
    if position.state == "flagged":
        where = "first" if (position.effect.value or 0) > 0 else "second"
        out.append(f"POSITION BIAS: this judge prefers the run that stands {where}, more than is innocent.")
    elif position.state == "undecided":
        out.append("Position bias is undecided: too few tasks to tell it from none.")
    elif position.state == "not_tested":
        out.append(f"Position bias is not tested: {position.effect.reason}.")
    if report.failures:
        listed = ", ".join(f"{count} {kind}" for kind, count in report.failures.items())
        out.append(f"Failed samples, none of them a tie: {listed}.")
    if report.labels_unused:
        out.append(f"{plural(report.labels_unused, 'label')} of people of pairs that were not judged: check the ids.")
    return tuple(out)


def tables(report: PairReport) -> list[Table]:
    """Ranking (or the bare counts), the judge's own consistency, and agreement where it could be measured."""
    return [_ranking(report), _consistency(report)]


def _ranking(report: PairReport) -> Table:
    found = {one.name: one for one in report.tallies}
    below = [
        f"{plural(report.left_out, 'pair')} left out of the ranking: inconclusive, failed or not applicable. A tie is "
        "half a win each."
    ]
    if report.pseudo_wins:
        below.append(
            f"{report.pseudo_wins:g} wins were added between every two in both directions, which draws strengths "
            "together."
        )
    if any(one.low is None for one in report.ranking):
        below.append(
            "No interval: in too many resamples of the tasks somebody never wins or never loses (--pseudo-wins 0.5 "
            "helps), or all tasks say the same."
        )
    names = [one.name for one in report.ranking] or list(found)
    strengths = {one.name: one for one in report.ranking}
    rows = []
    for name in names:
        one, tally = strengths.get(name), found[name]
        counts = (tally.won, tally.lost, tally.tied, tally.inconclusive, tally.failed)
        rows.append((name, _strength(one.strength, one.low, one.high) if one else "-", *map(str, counts)))
    return Table(
        "ranking",
        f"Ranking of {report.ranked}s",
        "Bradley–Terry strengths, which sum to 1, with 95 % interval over tasks",
        (report.ranked, "strength", "won", "lost", "tied", "inconclusive", "failed"),
        rows,
        below,
    )


def _strength(value: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"{decimals(value)} [no interval]"
    return f"{decimals(value)} [{decimals(low)}, {decimals(high)}]"


def _consistency(report: PairReport) -> Table:
    position = report.position
    band = f"{position.state.replace('_', ' ')}; innocent within {position.low:+.2f} to {position.high:+.2f}"
    rows = [
        ("both orders say the same", statistic_text(report.order_agreement), "share of pairs answered in both orders"),
        ("position: pull of the first place", statistic_text(position.effect), band),
    ]
    below = []
    if report.scores is not None:
        rows.append(("the winner has the higher score", statistic_text(report.scores.agreement), "of decided pairs"))
        below.append(
            f"Scores: {plural(report.scores.equal, 'decided pair')} with equal scores and {report.scores.unscored} "
            "with a run without one are in no rate."
        )
    if report.people is not None:
        people = report.people
        rows.append(
            ("people's winner, each order for itself", statistic_text(people.accuracy), f"{people.n} labelled pairs")
        )
        rows.append(
            ("people's winner, where the orders agree", statistic_text(people.right_if_agreed), "of those pairs")
        )
    header = ("of the judge", "value", "")
    return Table("judge", "What the judge is worth", "95 % interval over tasks", header, rows, below)
