"""A calibration as one self-contained page: no script, no address, plots as SVG inside."""

from __future__ import annotations

from markupsafe import Markup

from judge.calibration.claims import COUNTS, more_labels_text
from judge.calibration.findings import CalibrationReport, CountTable
from judge.calibration.jury_errors import JuryErrors
from judge.report import plots
from judge.report.calibration import DECISION_WORDS, decimals, statistic_text
from judge.report.html import page_template
from judge.report.jury import jury_lines
from judge.report.numbers import number
from judge.types.certificate import Certificate
from judge.types.estimate import Statistic


def calibration_page(report: CalibrationReport, certificate: Certificate | None, jury: JuryErrors | None = None) -> str:
    """The whole report as HTML, with the judges of a jury. Every text from a trace or a judge is escaped."""
    template = page_template(
        "calibration",
        statistic_text=statistic_text,
        decimals=decimals,
        number=number,
        more_labels_text=more_labels_text,
    )
    return template.render(
        report=report,
        certificate=certificate,
        jury=[] if jury is None else jury_lines(report.judge, jury),
        decision_words=DECISION_WORDS[certificate.decision].partition(":")[2] if certificate else "",
        plots={name: Markup(svg) for name, svg in _plots(report, certificate).items()},
    )


def _plots(report: CalibrationReport, certificate: Certificate | None) -> dict[str, str]:
    drawn = {
        "claims": _claims(certificate) if certificate else "",
        "confusion": _confusion(report.confusion, "Judge against people, pass or fail"),
        "levels": _confusion(report.levels, "Judge against people, all levels"),
        "reliability": "",
        "ceiling": _ceiling(report),
        "wobble": "",
        "flips": "",
        "ranks": "",
    }
    if report.reliability:
        drawn["reliability"] = plots.reliability(
            report.reliability, title="What a score means", xlabel="judge's score", diagonal=False
        )
    if report.wobble:
        wobble = report.wobble[0]
        shares = {k: float(v) for k, v in wobble.ranges.items()}
        drawn["wobble"] = plots.bars(
            shares, title="Range of the repeats of one run", xlabel="highest minus lowest score", ylabel="runs"
        )
        points = [(float(v.votes), v.changes) for v in wobble.found.votes if v.changes is not None]
        if points:
            drawn["flips"] = plots.curve(
                points,
                title="Verdicts that change on a re-run",
                xlabel="votes",
                ylabel="share of runs",
                mark=wobble.target,
            )
    if report.ranking and report.ranking.reason is None:
        rows = [
            (a.agent, a.rank, a.low, a.high)
            for a in report.ranking.agents
            if a.rank is not None and a.low is not None and a.high is not None
        ]
        drawn["ranks"] = plots.ranks(rows, title="Rank of each agent") if rows else ""
    return drawn


def _confusion(counted: CountTable | None, title: str) -> str:
    return plots.confusion(counted.counts, counted.names, title=title) if counted else ""


def _claims(certificate: Certificate) -> str:
    rows = []
    for claim in certificate.claims:
        statistic = claim.estimate
        if claim.name in COUNTS or statistic is None:
            continue  # counts stand on another axis, and what was not tested on none; the table has them
        rows.append(_span(claim.title, statistic, threshold=claim.threshold, state=claim.state))
    if not rows:
        return ""
    return plots.spans(rows, title="Claims: interval against threshold (dark mark)", label="value", limits=(-0.5, 1.02))


def _ceiling(report: CalibrationReport) -> str:
    chosen = [name for name in ("kappa", "kappa_quadratic", "alpha") if name in report.statistics]
    rows = [_span(f"judge and people: {name}", report.statistics[name]) for name in chosen]
    rows += [_span(name.replace("_", " "), statistic) for name, statistic in report.ceiling.items()]
    if not rows:
        return ""
    title = "Agreement against the human ceiling" if report.ceiling else "Agreement (one rater: no ceiling known)"
    return plots.spans(rows, title=title, label="agreement", limits=(-0.5, 1.02))


def _span(name: str, statistic: Statistic, *, threshold: float | None = None, state: str = "plain") -> plots.Span:
    return plots.Span(name, statistic.value, statistic.low, statistic.high, threshold, state)
