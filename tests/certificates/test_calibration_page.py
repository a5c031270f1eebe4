"""report.html: self-contained, safe against hostile text, and whole with any part missing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from calibration_parts import GOOD, certificate, examined, joined, pairs, said

from judge.calibration.examine import Beside
from judge.calibration.findings import CalibrationReport
from judge.report.calibration import calibration_text, decimals, statistic_text
from judge.report.folder import write_calibration
from judge.report.page import calibration_page
from judge.types.estimate import Statistic, undefined
from judge.types.rubric import RangeScale

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>"
NAMESPACES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")
VOID = {"meta", "img", "br", "hr", "input", "link"}


class Tags(HTMLParser):
    """Names of the tags, and whether each one that opens is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "srcset")], attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def tags(page: str) -> Tags:
    found = Tags()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


def full() -> CalibrationReport:
    """A report with every part: two raters, repeats, two agents, a metric, slices, disagreements."""
    rng = np.random.default_rng(2)
    items = [f"{agent}{i}" for agent in "xy" for i in range(40)]
    truth = {item: float(rng.random() < (0.7 if item[0] == "x" else 0.4)) for item in items}
    verdicts = [
        said(item, truth[item] if rng.random() < 0.9 else 1 - truth[item], sample=k) for item in items for k in range(3)
    ]
    labels = [
        said(item, truth[item], name, group=item[1:], rater_kind="human", slices={"agent": item[0], "length": HOSTILE})
        for item in items
        for name in ("ann", "bob")
    ]
    texts = dict.fromkeys(items, HOSTILE)
    beside = Beside(
        metrics={HOSTILE: {item: float(i % 3) for i, item in enumerate(items)}},
        agents={item: item[0] for item in items},
        reasons=texts,
        notes=texts,
        views=texts,
    )
    return examined(joined(verdicts, labels), beside=beside, design="random", rubric=HOSTILE)


@pytest.fixture(scope="module")
def whole() -> CalibrationReport:
    return full()


def test_the_page_needs_nothing_from_elsewhere(whole: CalibrationReport) -> None:
    page = calibration_page(whole, certificate())
    addresses = re.findall(r"https?://[^\"'\s<>)]+", page)
    assert [address for address in addresses if address not in NAMESPACES] == []
    assert not re.search(r"@import|url\((?!#)", page)
    assert "default-src 'none'" in page


def test_hostile_text_stays_text(whole: CalibrationReport) -> None:
    page = calibration_page(whole, certificate())
    found = tags(page)
    assert "script" not in found.seen
    assert "img" not in found.seen
    assert page.count("&lt;script&gt;alert(1)") > 3


def test_each_plot_is_there(whole: CalibrationReport) -> None:
    page = calibration_page(whole, certificate())
    for title in (
        "Claims: interval against threshold",
        "Judge against people, pass or fail",
        "What a score means",
        "Agreement against the human ceiling",
        "Range of the repeats of one run",
        "Verdicts that change on a re-run",
        "Rank of each agent",
    ):
        assert title in page, title
    assert tags(page).seen.count("svg") == 7


OPTIONAL = (
    "confusion", "levels", "statistics", "baselines", "ceiling", "alternative_annotator", "metrics", "wobble",
    "ranking", "pass_rate", "reliability", "automation", "health", "slices", "disagreements", "sentences",
    "left_out", "failures",
)  # fmt: skip


@pytest.mark.parametrize("part", OPTIONAL)
def test_page_and_text_are_whole_with_any_part_missing(whole: CalibrationReport, part: str) -> None:
    empty = type(whole).model_fields[part].get_default(call_default_factory=True)
    report = whole.model_copy(update={part: empty})
    tags(calibration_page(report, certificate()))
    assert calibration_text(report, certificate())


def test_a_report_with_next_to_nothing_in_it_renders_with_and_without_a_certificate() -> None:
    for data in (pairs([(None, 1.0)]), pairs([(1.0, 1.0)]), pairs([(3.0, 4.0)], RangeScale(min=1, max=5))):
        report = examined(data)
        for found in (None, certificate(), certificate({})):
            tags(calibration_page(report, found))
            assert report.judge in calibration_text(report, found)


def test_a_page_of_the_same_report_is_the_same_bytes(whole: CalibrationReport) -> None:
    assert calibration_page(whole, certificate()) == calibration_page(whole, certificate())


def test_numbers_as_text() -> None:
    shown = [decimals(value) for value in (0.5714, -0.25, 1.0, 0.0, -0.0004, 1234.5)]
    assert shown == [".571", "-.250", "1.000", ".000", ".000", "1,234.5"]
    assert statistic_text(Statistic(value=0.5, low=0.25, high=0.75, n=9)) == ".500 [.250, .750]"
    assert statistic_text(undefined("one class", n=0)) == "undefined: one class"
    assert statistic_text(Statistic(value=0.5, n=1, reason="one cluster")) == ".500 [no interval: one cluster]"


def test_text_gives_every_claim_its_state_and_the_uses_of_the_labels(whole: CalibrationReport) -> None:
    text = calibration_text(whole, certificate(GOOD, label_uses=2), ("r7",))
    assert "  * met        failed runs caught: 0.950" in text
    assert "    not tested attacks that move the verdict: needs judge probe" in text
    assert "these labels have been used 2 times." in text
    assert "To label next, split votes first: r7" in text
    assert "Wobble over 3 repeats of 80 runs (cause: sampling):" in text
    kept = len(whole.disagreements)
    assert f"Disagreements, worst first ({min(10, kept)} of {kept} kept are shown):" in text
    few = whole.model_copy(update={"disagreements": whole.disagreements[:2]})
    assert "Disagreements, worst first (2 of 2 kept are shown):" in calibration_text(few, None)


def test_files_are_written_whole_and_nothing_else_is_left(whole: CalibrationReport, tmp_path: Path) -> None:
    written = write_calibration(whole, certificate(), tmp_path / "r")
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == sorted(path.name for path in written)
    assert CalibrationReport.model_validate_json((tmp_path / "r" / "report.json").read_text(encoding="utf-8")) == whole
