"""A calibration as text: plain words first, then the numbers, then what was not tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge.calibration.claims import more_labels_text
from judge.calibration.findings import CalibrationReport, CountTable, WobbleReport
from judge.report.numbers import number, plural
from judge.types.certificate import Certificate
from judge.types.estimate import Statistic

DECISION_WORDS = {
    "certified": "CERTIFIED for what is listed below, and for nothing else.",
    "refused": "REFUSED: shown to be not good enough.",
    "undecided": "UNDECIDED: not enough evidence either way.",
}
STATE_WORDS = {"met": "met", "missed": "MISSED", "undecided": "undecided", "not_tested": "not tested"}


def statistic_text(statistic: Statistic) -> str:
    """`.571 [.391, .735]`, or why there is no number."""
    if statistic.value is None:
        return f"undefined: {statistic.reason}"
    shown = decimals(statistic.value)
    if statistic.low is None or statistic.high is None:
        return f"{shown} [no interval: {statistic.reason}]" if statistic.reason else shown
    return f"{shown} [{decimals(statistic.low)}, {decimals(statistic.high)}]"


def decimals(value: float) -> str:
    """Three decimals, without a leading zero inside (-1, 1)."""
    if abs(value) >= 10:
        return f"{value:,.1f}"
    text = f"{round(value, 3) + 0.0:.3f}"  # + 0.0 takes the sign off a zero
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def calibration_text(report: CalibrationReport, certificate: Certificate | None, label_next: Sequence[str] = ()) -> str:
    """The whole report as text."""
    lines = [f"== {report.judge}, criterion {report.criterion}, on {report.label_set}"]
    if certificate is not None:
        lines += ["", DECISION_WORDS[certificate.decision]]
        lines += [f"  {reason}" for reason in certificate.reasons[:6]]
    lines += ["", *report.sentences, "", _counts(report)]
    for title, counted in (("Judge against people:", report.confusion), ("All levels:", report.levels)):
        if counted is not None:
            lines += ["", title, *_table(counted)]
    lines += ["", *_statistics("Agreement, with 95 % intervals clustered by task", report.statistics)]
    lines += _baselines(report.baselines)
    if report.ceiling:
        lines += ["", *_statistics("How well people agree with each other", report.ceiling)]
    if report.alternative_annotator is not None and report.alternative_annotator.winning_rate is not None:
        annotators = report.alternative_annotator
        lines.append(
            f"  alternative annotator test (epsilon {annotators.epsilon:g}): the judge may stand in for "
            f"{annotators.winning_rate:.0%} of the raters"
        )
    for wobble in report.wobble:
        lines += ["", *_wobble(wobble)]
    lines += _ranking(report)
    if report.metrics:
        lines += ["", "Agreement with deterministic metrics (Kendall tau-b; people's own beside it):"]
        lines += [
            f"  {m.metric}: {statistic_text(m.association)}; people {statistic_text(m.with_people)}"
            + (f"; furthest apart: {', '.join(m.disagreements[:3])}" if m.disagreements else "")
            for m in report.metrics
        ]
    lines += _pass_rate(report)
    if report.automation is not None:
        test = report.automation.on_test
        lines += ["", "With your costs (chosen on dev labels, reported on test):"]
        lines.append(f"  decided without a person: {statistic_text(test.coverage)}")
        lines.append(f"  of those, as people would: {statistic_text(test.agreement)}")
    if report.slices:
        lines += ["", "By part of the runs:"]
        for part in report.slices:
            shown = "; ".join(f"{name} {statistic_text(s)}" for name, s in part.statistics.items())
            lines.append(f"  {part.slice} = {part.value} (n={part.n}): {shown}  {part.warning}".rstrip())
    if certificate is not None:
        lines += ["", *claims_text(certificate)]
    if label_next:
        lines += ["", f"To label next, split votes first: {', '.join(label_next[:10])}"]
    if report.disagreements:
        worst = report.disagreements[:10]
        lines += ["", f"Disagreements, worst first ({len(worst)} of {len(report.disagreements)} kept are shown):"]
        for d in worst:
            said = number(d.verdict, absent=d.failure or "no score")
            lines.append(f"  {d.item}: people {number(d.label)}, judge {said}. {d.reason}".rstrip())
    return "\n".join(lines)


def claims_text(certificate: Certificate) -> list[str]:
    """Every claim with its state; what was not tested is said."""
    lines = [f"Claims (profile {certificate.profile}; * is required):"]
    for claim in certificate.claims:
        lines.append(f"  {'*' if claim.required else ' '} {STATE_WORDS[claim.state]:<11}{claim.title}: {claim.reason}")
        if more := more_labels_text(claim):
            lines.append(f"      {more}")
    if certificate.not_tested:
        titles = {claim.name: claim.title for claim in certificate.claims}
        lines.append(f"Not tested: {', '.join(titles.get(name, name) for name in certificate.not_tested)}.")
    lines.append(
        f"Certificate {certificate.id}: issued {certificate.issued_at}, expires {certificate.expires_at}; "
        f"these labels have been used {certificate.label_uses} time{'s' if certificate.label_uses > 1 else ''}."
    )
    return lines


def _counts(report: CalibrationReport) -> str:
    labels = ", ".join(f"{n} {name}" for name, n in report.label_counts.items())
    kinds = ", ".join(report.label_kinds)
    runs, tasks = plural(report.n, "labelled run"), plural(report.n_groups, "task")
    parts = [f"{runs} of {tasks} ({labels}), labels of kind {kinds}"]
    if report.failures:
        parts.append("without a score: " + ", ".join(f"{n} × {cause}" for cause, n in report.failures.items()))
    if report.left_out:
        parts.append("left out: " + ", ".join(f"{n} × {why}" for why, n in report.left_out.items()))
    return "; ".join(parts) + "."


def _table(counted: CountTable) -> list[str]:
    width = max(8, *(len(name) for name in counted.names)) + 2
    rows = ["  " + "people \\ judge".ljust(16) + "".join(name.rjust(width) for name in counted.names)]
    for name, counts in zip(counted.names, counted.counts, strict=True):
        rows.append("  " + name.ljust(16) + "".join(str(count).rjust(width) for count in counts))
    return rows


def _statistics(title: str, statistics: Mapping[str, Statistic]) -> list[str]:
    width = max((len(name) for name in statistics), default=0)
    return [f"{title}:", *(f"  {name.ljust(width)}  {statistic_text(s)}" for name, s in statistics.items())]


def _baselines(baselines: Mapping[str, Mapping[str, float | None]]) -> list[str]:
    if not baselines:
        return []
    lines = ["", "What a judge that does not look would reach:"]
    for name, values in baselines.items():
        shown = ", ".join(f"{k} {'undefined' if v is None else decimals(v)}" for k, v in values.items())
        lines.append(f"  {name}: {shown}")
    return lines


def _wobble(wobble: WobbleReport) -> list[str]:
    found = wobble.found
    cause = wobble.cause.replace("_", " ")
    lines = [f"Wobble over {found.repeats} repeats of {wobble.n_items} runs (cause: {cause}):"]
    lines.append(f"  two samples give different verdicts: {statistic_text(found.flip_rate)}")
    lines.append(f"  ICC(1,1): {statistic_text(found.icc)}; alpha over repeats: {statistic_text(found.alpha)}")
    lines.append("  (agreement of a judge with itself is an upper bound of trust, not a proof)")
    known = [f"{v.votes} votes {v.changes:.1%}" for v in found.votes if v.changes is not None]
    if known:
        lines.append(f"  verdicts that would change on a re-run: {', '.join(known)}")
    if found.votes_needed is not None:
        price = f", about ${wobble.usd_per_verdict:.2g} a verdict" if wobble.usd_per_verdict else ""
        lines.append(f"  votes needed for {wobble.target:.0%}: {found.votes_needed}{price}")
    return lines


def _ranking(report: CalibrationReport) -> list[str]:
    ranking = report.ranking
    if ranking is None:
        return []
    if ranking.reason:
        return ["", f"Ranking of agents: {ranking.reason}."]
    lines = ["", "Ranking of agents (1 is best, interval over resampled tasks):"]
    for a in ranking.agents:
        low, high = number(a.low, absent="?"), number(a.high, absent="?")
        lines.append(f"  {a.agent}: rank {number(a.rank)} [{low}, {high}], mean {number(a.mean)}")
    if ranking.top_stays is not None:
        lines.append(
            f"  the top stays top in {ranking.top_stays:.0%} of the resamples; tau {statistic_text(ranking.tau)}"
        )
    return lines


def _pass_rate(report: CalibrationReport) -> list[str]:
    rate = report.pass_rate
    if rate is None:
        return []
    lines = ["", f"Pass rate (labels drawn: {rate.design}):"]
    lines.append(f"  as the judge counts: {statistic_text(rate.judge_rate)}")
    lines.append(f"  from labels alone:   {statistic_text(rate.labels_only)}")
    lines.append(f"  corrected:           {statistic_text(rate.corrected)}  ({rate.method})")
    if rate.wider_than_labels:
        lines.append("  the corrected interval is wider than the one from the labels alone: use the labels")
    return lines
