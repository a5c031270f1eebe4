"""The suite in docs/suites.md loads, and its page names every key."""

from __future__ import annotations

import re
from pathlib import Path

from judge.engine.suite_file import load_suite
from judge.types.suite import Case

PAGE = Path(__file__).resolve().parents[2] / "docs" / "suites.md"


def test_the_example_loads(tmp_path: Path) -> None:
    found = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    (tmp_path / "shop").mkdir()
    path = tmp_path / "cases.yaml"
    path.write_text(found.group(1), encoding="utf-8")
    (case,) = load_suite(path).cases
    assert [rule.kind for rule in case.invariants] == ["no_repeats", "read_before_mutation", "at_most"]


def test_the_page_names_every_key_of_a_case() -> None:
    text = PAGE.read_text(encoding="utf-8")
    left_out = [name for name in Case.model_fields if f"{name}:" not in text and f"`{name}`" not in text]
    assert left_out == ["note"]
