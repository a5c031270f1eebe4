"""Two people label ten runs in a real browser by keyboard, an admin adjudicates, calibrates and reads the report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from held_judge import PATIENCE_S, until
from running_service import Listening
from service_runs import RATERS, run, runs

from judge.store.access_keys import add_key
from judge.store.label_queue import Entry

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

PHONE = {"width": 390, "height": 844}


class Browser:
    """Chromium, with every request that leaves the service's address written down."""

    def __init__(self, browser: Any, url: str) -> None:
        self.url = url
        self.strangers: list[str] = []
        self.complaints: list[str] = []
        self._browser = browser

    def page(self, key: str | None = None, **options: Any) -> Any:
        """A page of a new session; signed in with `key`."""
        page = self._browser.new_context(**options).new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        page.on("request", self._seen)
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if key is not None:
            page.goto(f"{self.url}/sign-in")
            page.locator('input[type="password"]').press_sequentially(key)  # waits for the field, as a person does
            page.keyboard.press("Enter")
            page.wait_for_url("**/label")
        return page

    def _seen(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.strangers.append(request.url)


@pytest.fixture(scope="module")
def opened(chromium: str) -> Iterator[Any]:
    with playwright_api.sync_playwright() as api:
        browser = api.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=1000 * PATIENCE_S)
        yield browser
        browser.close()


@pytest.fixture
def browser(opened: Any, listening: Listening) -> Browser:
    return Browser(opened, listening.url)


@pytest.fixture
def keys(listening: Listening) -> dict[str, str]:
    roles = {"ana": "label", "ben": "label", "boss": "admin", "bot": "score"}
    return {name: add_key(listening.service.engine, name, role) for name, role in roles.items()}


def make_queue(browser: Browser, key: str, **changes: Any) -> None:
    page = browser.page()
    body = {"id": "desk", "title": "Refund desk", "rubric": "process", "pass_mark": 4, "verdicts": True, **changes}
    done = page.request.post(
        f"{browser.url}/v1/queues", data=body | {"trajectories": body.get("trajectories", runs())},
        headers={"Authorization": f"Bearer {key}"},
    )  # fmt: skip
    assert done.status == 201, done.text()


def test_two_people_label_ten_runs_by_keyboard_and_the_report_is_there(
    browser: Browser, keys: dict[str, str], listening: Listening, tmp_path: Path
) -> None:
    make_queue(browser, keys["boss"])
    drawn = [found.trajectory.id for found in listening.service.queues.items("desk")]
    for name, values in RATERS.items():
        page = browser.page(keys[name])
        page.goto(f"{browser.url}/label/desk")
        done = set()
        while page.locator("[data-answer]").count():
            item = drawn[int(page.locator("input[name=item]").input_value()) - 1]
            body = page.content()
            assert "the judge said" not in body.split("<section")[1], "blind until saved"
            assert item not in done
            done.add(item)
            page.keyboard.press("j")
            page.keyboard.press("j")
            page.keyboard.press("d")  # the second step decides
            if item == "run-1":
                page.keyboard.press("t")
                page.keyboard.type("careful")
                page.keyboard.press("Escape")
            page.keyboard.press(str(values[item]))
            with page.expect_navigation():
                page.keyboard.press("Enter")
            assert page.locator(".before").inner_text().startswith("Saved. You said")
        assert done == set(values)
        assert page.locator("h1").inner_text() == "All labelled"
        other = "ben" if name == "ana" else "ana"
        assert other not in page.content()  # nobody sees who else labelled what
        assert page.goto(f"{browser.url}/disagreements/desk").status == 403
        assert page.goto(f"{browser.url}/adjudicate/desk").status == 403

    boss = browser.page(keys["boss"])
    boss.goto(f"{browser.url}/adjudicate/desk")
    for left in (3, 2, 1):  # run-4, run-7, run-9: see RATERS
        assert boss.locator("main > p").first.inner_text() == f"{left} disputed."
        boss.keyboard.press("2" if boss.locator("input[name=item]").input_value() != "run-4" else "4")
        with boss.expect_navigation():
            boss.keyboard.press("Enter")
    assert "Nothing is disputed" in boss.content()

    boss.goto(f"{browser.url}/label")
    text = boss.locator(".card").inner_text()
    assert "10 decided, 0 disputed" in text
    # The judge passes run-1, 2, 4, 6, 8 and 10, people all of them but run-6: 9 of 10 on the same side.
    # Wilson at 95 %: 0.596 to 0.982.
    assert "judge agrees with people: 90 % (9 of 10; 95 % interval 60 to 98 %)" in text
    assert "raters agree with each other: 70 % (7 of 10" in text
    assert "more to decide whether it clears 80 %" in text
    boss.goto(f"{browser.url}/disagreements/desk")
    assert boss.locator("tbody tr").count() == 1
    assert "run-6" in boss.locator("tbody tr").inner_text()
    with boss.expect_navigation():
        boss.locator("tbody a").click()
    beside = boss.locator("aside").inner_text()
    assert "4 “Scripted.”" in beside
    assert "2 ana, [S2] decides" in beside
    assert "num tool calls: 2" in beside

    boss.goto(f"{browser.url}/reports")
    with boss.expect_navigation():
        boss.get_by_role("button", name="Calibrate").click()

    def reported() -> bool:
        boss.goto(f"{browser.url}/reports")
        return bool(boss.locator("tbody a").count())

    until(reported, "the calibration is done")
    row = boss.locator("tbody tr").first.inner_text()
    assert "done" in row
    assert "undecided" in row  # ten labels do not open a gate
    with boss.expect_navigation():
        boss.locator("tbody a").click()
    assert "10" in boss.locator("body").inner_text()
    assert boss.locator("svg").count() >= 1
    assert "passed_process" in boss.content()

    labels = [label.to_json() for label in listening.service.queues.labels("desk")]
    assert len(labels) == 23  # ten of each rater, three adjudicated
    first = next(x for x in labels if x["rater"] == "ana" and x["trajectory_id"] == "run-1")
    assert (first["value"], first["note"], first["rater_kind"]) == (4.0, "[S2] decides. careful", "human")
    assert first["inclusion_probability"] == 1.0
    assert first["labelled_at"]
    assert browser.strangers == []
    assert browser.complaints == [c for c in browser.complaints if "403" in c]


HOSTILE = (
    "<script>document.title='pwned'</script><svg onload=\"document.title='pwned'\"></svg>"
    "<img src=x onerror=\"document.title='pwned'\">\x1b[31mred\x1b[0m \u202egnp.exe {{ 7*7 }} </pre></details>"
)


def test_a_hostile_trace_is_text(browser: Browser, keys: dict[str, str]) -> None:
    evil = run('e"><script>document.title="pwned"</script>', note=HOSTILE, result=HOSTILE + "x" * 10_000_000)
    evil["steps"][1]["name"] = HOSTILE
    evil["task"] = HOSTILE
    make_queue(browser, keys["boss"], trajectories=[evil])
    page = browser.page(keys["ana"])
    page.goto(f"{browser.url}/label/desk")
    assert page.title() == "Label desk"
    assert page.locator("main script, main svg, main img").count() == 0
    shown = page.locator("main").inner_text()
    assert "<script>document.title='pwned'</script>" in shown
    assert "⟨ESC⟩[31mred" in shown
    assert "⟨U+202E⟩" in shown
    assert "{{ 7*7 }}" in shown
    assert "\u202e" not in page.content()
    assert len(page.content()) < 200_000  # ten megabytes of one result are cut, and the cut is stated
    page.keyboard.press("2")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.title() == "All labelled"
    assert browser.complaints == []


def test_keys_that_a_person_uses_skip_fold_and_undo(
    browser: Browser, keys: dict[str, str], listening: Listening
) -> None:
    make_queue(browser, keys["boss"], trajectories=[run("run-1", result="long " * 400), run("run-2")], verdicts=False)
    page = browser.page(keys["ana"])
    page.goto(f"{browser.url}/label/desk")
    first = page.locator("input[name=item]").input_value()
    with page.expect_navigation():
        page.keyboard.press("s")
    second = page.locator("input[name=item]").input_value()
    assert {first, second} == {"1", "2"}
    long = listening.service.queues.item("desk", "run-1").position
    page.goto(f"{browser.url}/label/desk?item={long}")
    for _ in range(3):
        page.keyboard.press("j")
    assert page.locator(".step.current").get_attribute("data-step") == "3"
    page.keyboard.press("o")
    assert page.locator(".step.current details").get_attribute("open") is not None
    page.keyboard.press("d")
    assert page.locator("#step").input_value() == "3"
    page.keyboard.press("d")
    assert page.locator("#step").input_value() == ""
    page.keyboard.press("d")
    page.keyboard.press("t")
    page.keyboard.type("odd")
    page.keyboard.press("Enter")  # nothing was chosen: the server says so and keeps nothing, and the form keeps all
    page.wait_for_selector("[role=alert]")
    assert (page.locator("#step").input_value(), page.locator("#note").input_value()) == ("3", "odd")
    assert "No answer was chosen" in page.locator("[role=alert]").inner_text()
    assert listening.service.queues.entries("desk") == [
        Entry(**(listening.service.queues.entries("desk")[0].model_dump() | {"skipped": True, "value": None}))
    ]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_serious_accessibility_fault_and_no_sideways_scrolling(
    browser: Browser, keys: dict[str, str], scheme: str, width: int, tmp_path: Path
) -> None:
    axe_api = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    make_queue(browser, keys["boss"])
    page = browser.page(keys["boss"], color_scheme=scheme, viewport={**PHONE, "width": width})
    for value in RATERS["ana"].values():
        page.goto(f"{browser.url}/label/desk")
        page.keyboard.press(str(value))
        with page.expect_navigation():
            page.keyboard.press("Enter")
        if value == 2:
            break
    page.goto(page.url)
    one = f"/disagreements/desk/run?item={next(iter(RATERS['ana']))}"
    for path in ("", "/label", "/disagreements/desk", one, "/adjudicate/desk", "/certificates", "/reports"):
        if path:
            page.goto(f"{browser.url}{path}")
        found = axe_api.Axe().run(page).response["violations"]
        serious = [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]
        assert serious == [], json.dumps(serious, indent=1)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, path


def test_what_a_key_did_is_said_and_shown_and_the_last_answer_can_be_changed(
    browser: Browser, keys: dict[str, str], listening: Listening
) -> None:
    make_queue(browser, keys["boss"], trajectories=runs(3))
    page = browser.page(keys["ana"])
    page.goto(f"{browser.url}/label/desk")
    told = page.locator("[data-said]")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.dataset.step") == "1"
    page.keyboard.press("d")
    assert told.inner_text() == "Step 1 decides."
    button = page.locator('[data-decides="1"]')
    assert button.get_attribute("aria-pressed") == "true"
    ink, paper = button.evaluate("e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]")
    assert ink != paper
    page.keyboard.press("4")
    assert told.inner_text().startswith("Chosen: 4 sound")
    save = page.locator("[data-save]").bounding_box()
    assert save["y"] + save["height"] <= page.viewport_size["height"]  # to be seen without scrolling
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.locator("[data-said]", has_text="Saved. You said 4").wait_for(state="attached")
    with page.expect_navigation():
        page.keyboard.press("u")
    assert page.locator("input[type=radio]:checked").input_value() == "4.0"
    page.keyboard.press("3")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert [entry.value for entry in listening.service.queues.entries("desk")] == [3.0]
    assert browser.complaints == []
