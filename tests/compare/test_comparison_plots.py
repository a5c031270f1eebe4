"""Plots of a comparison: every judge of the frontier is named, names cover nothing, titles are whole."""

from __future__ import annotations

import re

from judge.report import plots


def texts(svg: str) -> list[str]:
    return [text for text in re.findall(r">([^<>]+)</text>", svg) if text.strip()]


def test_a_frontier_names_its_judges_and_leaves_out_names_that_would_cover_them() -> None:
    crowd = [(f"crowded-{i}", 0.010 + i * 1e-5, 0.700 + i * 1e-4, False) for i in range(12)]
    best = [("cheap", 0.0001, 0.6, True), ("dear", 0.5, 0.9, True)]
    said = texts(plots.frontier([*crowd, *best], title="Price", xlabel="US dollars", ylabel="credit"))
    assert {"cheap", "dear"} <= set(said)
    assert 1 <= sum(text.startswith("crowded") for text in said) < 12
    assert "US dollars, logarithmic" in said


def test_near_and_free_prices_stand_on_a_plain_axis() -> None:
    for cheap in (0.0, 0.01):
        points = [("a", cheap, 0.6, True), ("b", 0.02, 0.9, True)]
        assert "US dollars" in texts(plots.frontier(points, title="Price", xlabel="US dollars", ylabel="credit"))


def test_a_long_title_begins_at_the_edge_of_the_plot_and_not_at_that_of_its_axes() -> None:
    title = "Agreement with people, with 95 % intervals over tasks"
    svg = plots.spans([plots.Span("a judge with a very long name indeed", 0.5, 0.4, 0.6)], title=title, label="credit")
    assert texts(svg).count(title) == 1
    drawn = next(line for line in svg.splitlines() if f">{title}</text>" in line)
    place = re.search(r'translate\(([\d.]+)|\bx="([\d.]+)', drawn)
    assert place is not None
    assert float(place[1] or place[2]) < 20
