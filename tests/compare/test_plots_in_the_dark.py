"""Plots can be read on dark pages, and leave no value outside."""

from __future__ import annotations

import re

from judge.report import plots
from judge.report.plots import INK, Span, spans


def test_words_of_a_plot_take_the_colour_of_the_page() -> None:
    drawn = spans([Span("agreement", None, None, None)], title="Claims", label="value")
    words = re.findall(r"<text[^>]*>", drawn)
    assert words
    assert all("var(--soft, " in word for word in words)
    # the fallback, where no page says its colour, is still a colour
    assert INK not in drawn.replace(f"var(--soft, {INK})", "")
    assert plots.GREY not in "".join(words)


def test_a_value_beyond_the_usual_limits_is_drawn_all_the_same() -> None:
    usual = spans([Span("a", 0.5, 0.2, 0.8)], title="t", label="x", limits=(-0.5, 1.02))
    far = spans([Span("a", -1.3, -1.6, -0.4)], title="t", label="x", limits=(-0.5, 1.02))
    assert "−1.5" in far  # a tick of the axis
    assert "−1.5" not in usual
