"""A probe report as one self-contained page: no script, no address, plots as SVG inside."""

from __future__ import annotations

from markupsafe import Markup

from judge.report import plots
from judge.report.calibration import STATE_WORDS
from judge.report.html import page_template
from judge.report.probe import DECISIONS, sentences, tables
from judge.types.probe import ProbeReport


def probe_page(report: ProbeReport) -> str:
    """The whole report as HTML; every text from a run or a judge is escaped."""
    return page_template("probe").render(
        report=report,
        decision=DECISIONS[report.decision],
        sentences=sentences(report),
        tables=tables(report),
        state_words=STATE_WORDS,
        plots={name: Markup(svg) for name, svg in _plots(report).items()},
    )


def _plots(report: ProbeReport) -> dict[str, str]:
    """By the key of the table that they stand above."""
    drawn: dict[str, str] = {}
    if report.faults:
        found = [(row.type, row.sensitivity) for row in report.faults]
        spans = [plots.Span(name.replace("_", " "), s.value, s.low, s.high) for name, s in found]
        drawn["faults"] = plots.spans(spans, title="Implanted faults noticed", label="share of pairs", limits=(0, 1.02))
    measured = [row for row in report.biases if row.unit == "share of the scale"]
    if measured:
        colours = {"flagged": "missed", "clear": "met", "undecided": "undecided", "not_tested": "not_tested"}
        spans = [
            plots.Span(
                row.type.replace("_", " "),
                row.effect.value,
                row.effect.low,
                row.effect.high,
                state=colours[row.state],
            )
            for row in measured
        ]
        drawn["biases"] = plots.spans(
            spans, title="Paired change (innocent band ±0.10)", label="share of the scale", limits=(-0.6, 0.6)
        )
    return drawn
