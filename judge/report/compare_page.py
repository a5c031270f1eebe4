"""A comparison of judges as one self-contained page."""

from __future__ import annotations

import re
from collections.abc import Mapping

from markupsafe import Markup, escape

from judge.calibration.jury_errors import JuryErrors
from judge.report import plots
from judge.report.calibration import statistic_text
from judge.report.compare import (
    JUDGE_WORDS,
    PAIR_HEADER,
    PAIR_WORDS,
    certificate_text,
    judge_table,
    pair_cells,
    pairs_by_interest,
    unmeasured,
)
from judge.report.html import page_template
from judge.report.jury import causes, jury_lines
from judge.report.numbers import number
from judge.types.certificate import Certificate
from judge.types.comparison import Comparison, Switch

MOST_PAIRS = 200
OPEN_PAIRS = 20
"""Pairs that stand open; the others unfold."""


def comparison_page(
    found: Comparison,
    juries: Mapping[str, JuryErrors],
    switched: Switch | None = None,
    certificate: Certificate | None = None,
) -> str:
    """The whole comparison as HTML, with the certificate of the new judge; every text from a judge is escaped."""
    words = {"number": number, "causes": causes, "statistic_text": statistic_text}
    pairs = pairs_by_interest(found)
    header, *rows = judge_table(found)
    return page_template("compare", filters={"coded": _coded}, **words).render(
        found=found,
        switched=switched,
        certified=certificate_text(certificate).split("\n") if certificate is not None else [],
        row_header=header,
        rows=rows,
        row_words=[*JUDGE_WORDS, *unmeasured(found)],
        pair_words=PAIR_WORDS,
        pair_header=PAIR_HEADER,
        pairs=[pair_cells(pair, found.n) for pair in pairs[:MOST_PAIRS]],
        open_pairs=OPEN_PAIRS,
        n_pairs=len(pairs),
        juries=[jury_lines(name, errors) for name, errors in juries.items()],
        unpriced=[row.judge for row in found.judges if row.work.usd is None],
        plots={name: Markup(svg) for name, svg in _plots(found).items()},
    )


def _coded(text: str) -> Markup:
    """The text, escaped, with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _plots(found: Comparison) -> dict[str, str]:
    names = [row.judge for row in found.judges]
    drawn = {
        "right": plots.spans(
            [plots.Span(r.judge, r.right.value, r.right.low, r.right.high) for r in found.judges],
            title="Agreement with people, with 95 % intervals over tasks",
            label="mean credit",
        ),
        "matrix": plots.matrix(_same(found, names), names, title="Equal verdicts, of runs that both scored"),
        "ranks": "",
        "frontier": "",
    }
    ranks = [
        (r.judge, r.rank, r.rank_low, r.rank_high)
        for r in found.judges
        if r.rank is not None and r.rank_low is not None and r.rank_high is not None
    ]
    if ranks:
        drawn["ranks"] = plots.ranks(ranks, title="Rank of each judge")
    if len({point.usd for point in found.frontier}) > 1:
        drawn["frontier"] = plots.frontier(
            [(p.judge, p.usd, p.right, p.on_frontier) for p in found.frontier],
            title="Price and agreement: the line joins judges that none beats on both",
            xlabel="US dollars a verdict",
            ylabel="mean credit",
        )
    return drawn


def _same(found: Comparison, names: list[str]) -> list[list[float | None]]:
    share = {frozenset((pair.a, pair.b)): pair.same for pair in found.pairs}
    return [[None if a == b else share[frozenset((a, b))] for b in names] for a in names]
