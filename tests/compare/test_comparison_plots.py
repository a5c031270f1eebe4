"""Plots of a comparison: every judge of the frontier is named, names cover nothing, titles are whole."""

from __future__ import annotations

import re

import numpy as np
from small_judges import judged

from judge.calibration.comparison import compare
from judge.calibration.shared_runs import shared_runs
from judge.report import plots
from judge.report.compare import comparison_text
from judge.report.compare_page import comparison_page
from judge.types.comparison import Work


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


def test_judges_of_one_price_have_no_plot_and_it_is_said() -> None:
    labels = [1, 0, 1, 0, 1]
    runs = shared_runs([judged("a", labels, labels), judged("b", [0, 0, 1, 0, 1], labels)])
    free = {"a": Work(usd=0.0), "b": Work(usd=0.0)}
    page = comparison_page(compare(runs, label_set="tiny", work=free, rng=np.random.default_rng(0)), {})
    assert page.count("<svg") == 3
    assert "All judges with a known price cost the same" in page
    page = comparison_page(compare(runs, label_set="tiny", rng=np.random.default_rng(0)), {})
    assert "No price is known, so there is no plot." in page


def test_what_was_measured_of_nobody_has_no_column_and_is_named_with_how_to_measure_it() -> None:
    labels = [1, 0, 1, 0, 1]
    runs = shared_runs([judged("a", labels, labels), judged("b", [None, 0, 1, 0, 1], labels)])
    timed = compare(runs, label_set="tiny", work={"a": Work(seconds=2.0)}, rng=np.random.default_rng(0))
    text = comparison_text(timed, {})
    (header,) = (line for line in text.splitlines() if line.split()[:2] == ["judge", "right"])
    assert header.split()[-2:] == ["scored", "s"]  # known for one judge, so the other is said to be unknown
    assert "Not measured of any judge: wobble (--repeats 5 on live judges), tokens" in text
    assert "1.000 of 4" in text  # the same on all of the four runs that both scored
