"""Going back in the browser carries no answer over to another run."""

from __future__ import annotations

import pytest
from held_judge import PATIENCE_S
from running_service import Listening
from service_runs import runs

from judge.store.access_keys import add_key

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


def test_back_after_saving_chooses_nothing_for_the_next_run(chromium: str, listening: Listening) -> None:
    keys = {
        name: add_key(listening.service.engine, name, role) for name, role in {"ana": "label", "boss": "admin"}.items()
    }
    with playwright_api.sync_playwright() as api:
        browser = api.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=1000 * PATIENCE_S)
        page = browser.new_context().new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        made = page.request.post(
            f"{listening.url}/v1/queues", data={"id": "desk", "rubric": "process", "trajectories": runs(3)},
            headers={"Authorization": f"Bearer {keys['boss']}"},
        )  # fmt: skip
        assert made.status == 201, made.text()
        page.goto(f"{listening.url}/sign-in")
        page.locator('input[type="password"]').press_sequentially(keys["ana"])
        page.keyboard.press("Enter")
        page.wait_for_url("**/label")
        page.goto(f"{listening.url}/label/desk")
        assert page.locator("input[name=item]").input_value() == "1"
        page.keyboard.press("4")
        page.keyboard.press("t")
        page.keyboard.type("of the first")
        page.keyboard.press("Escape")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        page.go_back()
        page.wait_for_function("document.querySelector('input[name=item]').value === '2'")
        page.wait_for_load_state()  # by which the keys are heard
        assert page.locator("input[type=radio]:checked").count() == 0
        assert page.locator("#note").input_value() == ""
        page.keyboard.press("Enter")  # nothing was chosen for the second run, so nothing is saved
        page.wait_for_selector("[role=alert]")
        browser.close()
    assert [entry.value for entry in listening.service.queues.entries("desk")] == [4.0]
