"""A calibration as text: plain words first, then the numbers, then what was not tested."""

from __future__ import annotations

from collections.abc import Mapping

from judge.report.numbers import number
from judge.types.calibration_report import CalibrationReport, Confusion, Wobble
from judge.types.certificate import Certificate, Claim
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
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def calibration_text(report: CalibrationReport, certificate: Certificate | None) -> str:
    """The whole report as text."""
    lines = [f"== {report.judge}, criterion {report.criterion}, on {report.label_set}"]
    if certificate is not None:
        lines += ["", DECISION_WORDS[certificate.decision]]
        lines += [f"  {reason}" for reason in certificate.reasons[:6]]
    lines += ["", *report.sentences]
    lines += ["", _counts(report)]
    if report.confusion is not None:
        lines += ["", "Judge against people:", *_confusion(report.confusion)]
    lines += ["", *_statistics("Agreement, with 95 % intervals clustered by task", report.statistics)]
    lines += _baselines(report.baselines)
    if report.ceiling:
        lines += ["", *_statistics("How well people agree with each other", report.ceiling)]
    if report.wobble is not None:
        lines += ["", *_wobble(report.wobble)]
    if report.ranking is not None:
        lines += ["", "Ranking of agents (1 is best, interval over resampled tasks):"]
        lines += [
            f"  {a.name}: rank {number(a.rank)} [{number(a.low)}, {number(a.high)}], mean {decimals(a.mean)}, n={a.n}"
            for a in report.ranking.agents
        ]
        lines.append(f"  the top stays top: {statistic_text(report.ranking.top_stays)}")
    if report.metrics:
        lines += ["", "Agreement with deterministic metrics (Kendall tau-b; people's own beside it):"]
        lines += [
            f"  {m.metric}: {statistic_text(m.association)}; people {statistic_text(m.with_people)}"
            for m in report.metrics
        ]
    if report.pass_rate is not None:
        rate = report.pass_rate
        lines += ["", f"Pass rate (labels drawn: {rate.design}):"]
        lines.append(f"  as the judge counts: {statistic_text(rate.raw)}")
        lines.append(f"  from labels alone:   {statistic_text(rate.labels_only)}")
        lines.append(f"  corrected:           {statistic_text(rate.corrected)}  {rate.method}".rstrip())
    if report.slices:
        lines += ["", "By part of the runs:"]
        for part in report.slices:
            shown = "; ".join(f"{name} {statistic_text(s)}" for name, s in part.statistics.items())
            lines.append(f"  {part.slice} = {part.value} (n={part.n}): {shown}  {part.warning}".rstrip())
    if certificate is not None:
        lines += ["", *claims_text(certificate)]
    if report.disagreements:
        lines += ["", f"Disagreements, worst first ({len(report.disagreements)} shown):"]
        for d in report.disagreements[:10]:
            said = number(d.verdict, absent=d.failure or "no score")
            lines.append(f"  {d.item}: people {number(d.label)}, judge {said}. {d.reason}".rstrip())
    return "\n".join(lines)


def claims_text(certificate: Certificate) -> list[str]:
    """Every claim with its state; what was not tested is said."""
    lines = [f"Claims (profile {certificate.profile}; * is required):"]
    for claim in certificate.claims:
        lines.append(f"  {'*' if claim.required else ' '} {STATE_WORDS[claim.state]:<11}{claim.title}: {claim.reason}")
        if claim.more_labels:
            lines.append(f"      {claim.more_labels} more labels would do if the estimate stays as it is")
    if certificate.not_tested:
        lines.append(f"Not tested: {', '.join(_title(certificate, name) for name in certificate.not_tested)}.")
    return lines


def _title(certificate: Certificate, name: str) -> str:
    return next((claim.title for claim in certificate.claims if claim.name == name), name)


def _counts(report: CalibrationReport) -> str:
    labels = ", ".join(f"{n} {name}" for name, n in report.label_counts.items())
    parts = [
        f"{report.n} labelled runs of {report.n_groups} tasks ({labels}), labels by {', '.join(report.label_kinds)}"
    ]
    if report.failures:
        parts.append("without a score: " + ", ".join(f"{n} × {cause}" for cause, n in report.failures.items()))
    if report.left_out:
        parts.append("left out: " + ", ".join(f"{n} × {why}" for why, n in report.left_out.items()))
    return "; ".join(parts) + "."


def _confusion(confusion: Confusion) -> list[str]:
    width = max(8, *(len(name) for name in confusion.names)) + 2
    rows = ["  " + "people \\ judge".ljust(16) + "".join(name.rjust(width) for name in confusion.names)]
    for name, counts in zip(confusion.names, confusion.counts, strict=True):
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


def _wobble(wobble: Wobble) -> list[str]:
    lines = [f"Wobble over {wobble.repeats} repeats of {wobble.items} runs (cause: {wobble.cause.replace('_', ' ')}):"]
    lines.append(f"  two samples give different verdicts: {statistic_text(wobble.flip_rate)}")
    lines.append(f"  ICC(1,1): {statistic_text(wobble.icc)}; alpha over repeats: {statistic_text(wobble.alpha)}")
    lines.append("  (agreement of a judge with itself is an upper bound of trust, not a proof)")
    if wobble.flips_by_votes:
        shown = ", ".join(f"{k} votes {v:.1%}" for k, v in wobble.flips_by_votes.items())
        lines.append(f"  verdicts that would change on a re-run: {shown}")
    if wobble.votes_needed is not None:
        price = f", about ${wobble.usd_per_verdict:.2g} a verdict" if wobble.usd_per_verdict is not None else ""
        lines.append(f"  votes needed for {wobble.target:.0%}: {wobble.votes_needed}{price}")
    return lines


def claim_line(claim: Claim) -> str:
    """One claim in a sentence, for tables and errors."""
    return f"{claim.title}: {STATE_WORDS[claim.state]} ({claim.reason})"
