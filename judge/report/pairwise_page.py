"""Pairs of runs as one self-contained page: no script, no address, plots as SVG inside."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from judge.calibration.pair_findings import PairReport
from judge.report import plots
from judge.report.html import page_template
from judge.report.pairwise import sentences, tables
from judge.types.pair import PairVerdict

SHOWN = 200
"""Verdicts that a page lists; the rest are counted and stand in the JSON."""


def pair_page(report: PairReport, verdicts: Sequence[PairVerdict]) -> str:
    """The whole report as HTML; every text from a run or a judge is escaped."""
    return page_template("pairwise").render(
        report=report,
        sentences=sentences(report),
        tables=tables(report),
        verdicts=list(verdicts)[:SHOWN],
        more=max(0, len(verdicts) - SHOWN),
        plots={name: Markup(svg) for name, svg in _plots(report).items()},
    )


def _plots(report: PairReport) -> dict[str, str]:
    """By the key of the table that they stand above."""
    drawn: dict[str, str] = {}
    if report.ranking:
        spans = [plots.Span(one.name, one.strength, one.low, one.high) for one in report.ranking]
        label = "Bradley–Terry strength (all sum to 1)"
        drawn["ranking"] = plots.spans(spans, title=f"Strength of each {report.ranked}", label=label, limits=(0, 1.02))
    effect = report.position.effect
    if effect.value is not None:
        colours = {"flagged": "missed", "clear": "met", "undecided": "undecided", "not_tested": "not_tested"}
        span = plots.Span("position", effect.value, effect.low, effect.high, state=colours[report.position.state])
        title = f"Pull of the first place (innocent band ±{report.position.high:.2f})"
        drawn["judge"] = plots.spans([span], title=title, label="share of pairs", limits=(-1.02, 1.02))
    return drawn
