"""Every shipped rubric loads, lints clean, and has what a reader of a score needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.errors import RubricError
from judge.prompt import lint_rubric, load_rubric, rubric_names
from judge.registry import shipped

FILES = sorted(shipped("rubrics").glob("*.yaml"))
PROMISED = {
    "process", "outcome", "rules", "side-effects", "grounded-answer", "tool-use", "recovery", "efficiency",
    "honesty", "wrong-step",
}  # fmt: skip


def test_every_promised_rubric_is_shipped() -> None:
    assert set(rubric_names()) >= PROMISED
    assert {path.stem for path in FILES} == set(rubric_names())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_rubric_loads_and_lints_clean(path: Path) -> None:
    assert load_rubric(path.stem).id == path.stem
    assert lint_rubric(path) == ()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_rubric_has_two_contrasting_examples_and_a_history(path: Path) -> None:
    rubric = load_rubric(path.stem)
    assert len(rubric.examples) >= 2
    assert [name for name in rubric.examples if not (path.parent / name).is_file()] == []
    assert rubric.changelog
    assert any(rubric.version in line for line in rubric.changelog)


def test_efficiency_is_never_a_gate() -> None:
    assert not any(criterion.gate for criterion in load_rubric("efficiency").criteria)


def test_a_broken_rubric_is_found(tmp_path: Path) -> None:
    good = FILES[0].read_text(encoding="utf-8")
    bad = tmp_path / FILES[0].name
    bad.write_text(good.replace("criteria:", "criterai:"), encoding="utf-8")
    assert [finding for finding in lint_rubric(bad) if finding.severity == "error"]
    with pytest.raises(RubricError, match="criterai"):
        load_rubric(str(bad))
