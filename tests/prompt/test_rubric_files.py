"""Rubric files: what loads, what is refused with file and line, and what lint says of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge.errors import RubricError, UnknownName
from judge.prompt import RubricWarning, lint_rubric, load_rubric, new_rubric, rubric_names
from judge.prompt.lint import CODES, lint_text
from judge.registry import shipped
from judge.types import BinaryScale, Criterion, LevelScale, Rubric, Trajectory, ViewSettings, normalise

GOOD = """\
id: mine
version: "1"
title: Mine
intent: Whether the run is mine.
criteria:
  - id: one
    question: Did the agent ask before the change?
    scale: binary
    anchors:
      pass: A user message agrees to the change before the call.
      fail: No message agrees to the change before the call.
    applies_when: a call changes something
    cite: the call
"""


def line_of(text: str, words: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if words in line)


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_good_file_is_good(tmp_path: Path) -> None:
    rubric = load_rubric(write(tmp_path, GOOD))
    assert (rubric.id, rubric.version, rubric.criteria[0].scale) == ("mine", "1", BinaryScale())
    assert lint_text(GOOD) == ()


# (a change to GOOD, the code of the finding, words on its line, words of its message)
FAULTS = [
    ("title: Mine", "title: no", "unquoted-boolean", "title: no", 'quote it, "no"'),
    ("title: Mine", "title: Yes", "unquoted-boolean", "title: Yes", 'quote it, "Yes"'),
    ("      pass: A", "      on: x\n      pass: A", "unquoted-boolean", "on: x", 'quote it, "on"'),
    (
        "    scale: binary",
        "    scale: [{value: 1, name: no}, {value: 2, name: yes}]",
        "unquoted-boolean",
        "scale:",
        "quote it",
    ),
    ("intent:", "intnet:", "unknown-key", "intnet", "Did you mean 'intent'?"),
    ("    question:", "    weigth: 1\n    question:", "unknown-key", "weigth", "Did you mean 'weight'?"),
    (
        "    cite: the call",
        "    cite: the call\n    scale: binary",
        "duplicate-key",
        "    scale: binary\n",
        "stands twice",
    ),
    ("    scale: binary", "    scale: {min: 0, max: 5, stepp: 1}", "unknown-key", "stepp", "Did you mean 'step'?"),
    ("title: Mine\n", "", "invalid", "id: mine", "key 'title' is missing"),
    ("  - id: one", "  - id: One!", "invalid", "id: One!", "pattern"),
    ("    scale: binary", "    scale: {min: 5, max: 5}", "invalid", "scale:", "criterion 'one'"),
    ("    scale: binary", "    scale: {min: 5, max: 1}", "invalid", "scale:", "min < max"),
    ("    scale: binary", "    scale: [{value: 2, name: a}, {value: 1, name: b}]", "invalid", "scale:", "rise"),
    ("    cite: the call", "    cite: the call\n    gate: maybe", "invalid", "gate: maybe", "boolean"),
    ("    cite: the call", "    cite: the call\n    weight: 0", "invalid", "weight: 0", "greater than 0"),
    ("id: mine", "id: [mine", "syntax", "", "not YAML"),
    ("id: mine", "template: '{{ tittle }}'\nid: mine", "undefined-variable", "tittle", "'tittle'"),
    ("id: mine", "template: '{% if %}'\nid: mine", "template-syntax", "template", "does not parse"),
    ("id: mine", "template: |\n  {{ title }}\n  {{ tittle }}\nid: mine", "undefined-variable", "tittle", "'tittle'"),
    ("id: mine", "template: '{{ title.x }}'\nid: mine", "undefined-variable", "template", "no attribute 'x'"),
]


@pytest.mark.parametrize(("old", "new", "code", "at", "says"), FAULTS)
def test_what_does_not_load_names_file_line_and_fault(
    old: str, new: str, code: str, at: str, says: str, tmp_path: Path
) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    path = write(tmp_path, text)
    findings = [finding for finding in lint_rubric(path) if finding.code == code]
    assert findings
    assert says in findings[0].message
    assert findings[0].severity == "error"
    if at and code != "duplicate-key":
        assert findings[0].line == line_of(text, at)
    if code == "duplicate-key":
        assert findings[0].line == len(text.rstrip().split("\n"))
    with pytest.raises(RubricError, match=rf"{re.escape(str(path))}:\d+: "):
        load_rubric(path)


def test_text_stays_the_text_that_was_written(tmp_path: Path) -> None:
    text = GOOD.replace('version: "1"', "version: 1.10").replace("title: Mine", "title: 2026-01-02")
    rubric = load_rubric(write(tmp_path, text))
    assert (rubric.version, rubric.title) == ("1.10", "2026-01-02")


def test_quoted_words_and_real_booleans_are_fine(tmp_path: Path) -> None:
    levels = '[{value: 0, name: "no", anchor: none asked}, {value: 1, name: "yes", anchor: someone asked}]'
    text = GOOD.replace("    scale: binary", f"    scale: {levels}\n    gate: true\n    gate_min: 1")
    text = re.sub(r"    anchors:\n.*\n.*\n", "", text)
    rubric = load_rubric(write(tmp_path, text))
    assert isinstance(rubric.criteria[0].scale, LevelScale)
    assert [level.name for level in rubric.criteria[0].scale.levels] == ["no", "yes"]
    assert rubric.criteria[0].gate is True


def test_two_criteria_of_one_name_refuse_to_load(tmp_path: Path) -> None:
    text = GOOD + GOOD[GOOD.index("  - id: one") :]
    path = write(tmp_path, text)
    with pytest.raises(RubricError, match=r"mine\.yaml:14: .*'one'"):
        load_rubric(path)
    assert [finding.code for finding in lint_rubric(path)] == ["duplicate-name"]


def test_case_duplicate_criteria(case: Callable[[str], dict[str, Any]], tmp_path: Path) -> None:
    names = case("G-D06")["input"]["rubric_bad"]
    criterion = GOOD[GOOD.index("  - id: one") :]
    text = GOOD[: GOOD.index("  - id: one")] + "".join(criterion.replace("id: one", f"id: {name}") for name in names)
    with pytest.raises(RubricError, match="'accuracy'"):
        load_rubric(write(tmp_path, text))


def test_case_bad_scale(case: Callable[[str], dict[str, Any]], tmp_path: Path) -> None:
    entry = case("G-D18")
    low, high = entry["input"]["bad_scale"]
    text = GOOD.replace("    scale: binary", f"    scale: {{min: {low}, max: {high}}}")
    with pytest.raises(RubricError, match="criterion 'one'"):
        load_rubric(write(tmp_path, text))
    low, high = entry["input"]["scale"]
    text = GOOD.replace("    scale: binary", f"    scale: {{min: {low}, max: {high}}}")
    text = text.replace("      pass:", f"      {high}:").replace("      fail:", f"      {low}:")
    fine = load_rubric(write(tmp_path, text))
    got = [normalise(score, fine.criteria[0].scale) for score in entry["input"]["scores"]]
    assert got == entry["right"]["exact"]["normalised"]


@pytest.mark.parametrize(
    ("old", "new", "code", "at"),
    [
        ("Did the agent ask", "On a scale of 1-5, did the agent ask", "scale-contradiction", "question"),
        ("Did the agent ask", "Give a value between 0 and 10, did it ask", "scale-contradiction", "question"),
        ("    cite: the call", "    counts: 7 out of 10 points", "scale-contradiction", "counts"),
        ("      pass: A", "      great: An x was called.\n      pass: A", "scale-contradiction", "great"),
        ("      pass: A user message agrees to the change before the call.\n", "", "missing-anchor", "anchors"),
        ("A user message agrees to the change before the call.", "Very good overall.", "adjective-anchor", "pass"),
        ("before the change?", "before the change and/or after it?", "double-question", "question"),
        ("before the change?", "before the change, and was the change right?", "double-question", "question"),
        ("before the change?", "before it? Was it right?", "double-question", "question"),
        ("    applies_when: a call changes something\n", "", "no-not-applicable-rule", "- id: one"),
        ("    cite: the call\n", "    gate: true\n", "gate-without-citation", "gate"),
        (
            "    cite: the call",
            "    cite: the call\n    gate: true\n    evidence: none",
            "gate-without-citation",
            "gate",
        ),
        ("id: mine", "diagnostic: true\nid: mine", "", ""),
        ("    cite: the call", "    cite: the call\n    weight: 0.5", "weights", "weight"),
        ("ask before the change?", "keep the policy?", "no-policy", "question"),
        (
            "id: mine",
            'template: |\n  {{ title }}\n  Answer {"score": 1, "reason": "x"}\nid: mine',
            "score-before-reason",
            "Answer",
        ),
        ("id: mine", "template: |\n  Give a score, then explain why.\nid: mine", "score-before-reason", "Give"),
    ],
)
def test_lint_finds_what_moves_scores_without_an_error(old: str, new: str, code: str, at: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    findings = lint_text(text)
    if not code:
        assert findings == ()
        return
    assert [finding.code for finding in findings] == [code], findings
    assert findings[0].line == line_of(text, at)


def test_a_contradiction_warns_at_load_with_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("Did the agent ask", "Rated 0-10, did the agent ask"))
    with pytest.warns(RubricWarning, match=r"mine\.yaml:7: The text says '0-10'"):
        assert load_rubric(path).id == "mine"


def two(question: str, weights: tuple[str, str] = ("", "")) -> str:
    second = GOOD[GOOD.index("  - id: one") :].replace("id: one", "id: two")
    second = second.replace("Did the agent ask before the change?", question)
    first = GOOD + (f"    weight: {weights[0]}\n" if weights[0] else "")
    return first + second + (f"    weight: {weights[1]}\n" if weights[1] else "")


def test_lint_finds_overlapping_and_equal_questions() -> None:
    assert [f.code for f in lint_text(two("Did the agent ask the user before the change?"))] == ["overlap"]
    assert [f.code for f in lint_text(two("Did the agent ask before the change?"))] == ["duplicate-name"]
    assert lint_text(two("Which file holds the answer?")) == ()


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        (("0.1", "0.9"), False),
        (("0.7", "0.2"), True),
        (("0.7", ""), True),
        (("60", "40"), False),
        (("60", "45"), True),
        (("2", "1"), False),
        (("", ""), False),
    ],
)
def test_lint_adds_weights_up_exactly(weights: tuple[str, str], found: bool) -> None:
    codes = [finding.code for finding in lint_text(two("Which file holds the answer?", weights))]
    assert codes == (["weights"] if found else [])


def test_a_gate_in_a_diagnostic_rubric_is_found() -> None:
    text = "diagnostic: true\n" + GOOD + "    gate: true\n    evidence: required\n"
    assert [finding.code for finding in lint_text(text)] == ["diagnostic-gate"]


def test_every_code_is_known_and_documented() -> None:
    source = (Path(__file__).resolve().parents[2] / "docs" / "rubrics.md").read_text(encoding="utf-8")
    assert [code for code in CODES if f"`{code}`" not in source] == []
    package = Path(lint_text.__code__.co_filename).parent
    used = {
        code
        for path in package.glob("*.py")
        for code in re.findall(
            r'"([a-z]+(?:-[a-z]+)+|syntax|invalid|weights|overlap)"', path.read_text(encoding="utf-8")
        )
    }
    assert set(CODES) <= used


def test_the_example_in_the_documentation_lints_clean() -> None:
    source = (Path(__file__).resolve().parents[2] / "docs" / "rubrics.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", source, re.DOTALL)
    assert [lint_text(example) for example in examples] == [()]


def test_every_key_is_documented() -> None:
    source = (Path(__file__).resolve().parents[2] / "docs" / "rubrics.md").read_text(encoding="utf-8")
    keys = {*Rubric.model_fields, *Criterion.model_fields, *ViewSettings.model_fields}
    assert [key for key in sorted(keys) if f"`{key}`" not in source] == []


def test_a_new_rubric_loads_and_lints_clean(tmp_path: Path) -> None:
    text = new_rubric("my-rubric")
    assert lint_text(text) == ()
    assert load_rubric(write(tmp_path, text)).id == "my-rubric"
    with pytest.raises(RubricError, match="cannot be the id"):
        new_rubric("No Good: {x}")


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'process'"):
        load_rubric("proces")
    with pytest.raises(RubricError, match="no rubric file"):
        load_rubric("nowhere/mine.yaml")


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "YAML mapping"),
        (b"- a\n- b\n", "YAML mapping"),
        (b"\x00\x01\x02", "not YAML"),
        (b"id: m\xff\n", ":1: not UTF-8"),
        (b"<!DOCTYPE html><html></html>", "YAML mapping"),
        (b"id: !!python/object/apply:os.system [x]\n", "is not read here"),
        (b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % (
            (c + 1, c + 1, *[c] * 8)) for c in range(97, 110)), "Unknown key"),
    ],
)  # fmt: skip
def test_files_that_are_no_rubric(raw: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(raw)
    with pytest.raises(RubricError, match=says):
        load_rubric(path)


def test_a_file_of_aliases_does_not_fill_the_memory(tmp_path: Path) -> None:
    rows = ["criteria:", "  - &a0 {id: x}"]
    rows += [f"  - &a{k + 1} [{', '.join([f'*a{k}'] * 10)}]" for k in range(9)]
    with pytest.raises(RubricError, match="unfolds to more than"):
        load_rubric(write(tmp_path, "\n".join(rows)))


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RubricError, match="at most 1,000,000"):
        load_rubric(write(tmp_path, "#" * 1_000_001))


# -- the shipped ones -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", rubric_names())
def test_a_shipped_rubric_is_complete(name: str) -> None:
    rubric = load_rubric(name)
    assert lint_rubric(name) == ()
    assert all(criterion.applies_when and criterion.cite for criterion in rubric.criteria)
    assert rubric.changelog[-1].startswith(f"{rubric.version}:")
    assert rubric.examples[-1] == "examples/injected-score.json"


@pytest.mark.parametrize("name", rubric_names())
def test_the_examples_of_a_rubric_lie_on_both_sides(name: str) -> None:
    rubric = load_rubric(name)
    criterion = rubric.criteria[1] if name == "tool-use" else rubric.criteria[0]
    values = []
    for example in rubric.examples[:2]:
        run = Trajectory.model_validate_json((shipped("rubrics") / example).read_text(encoding="utf-8"))
        assert [step.index for step in run.steps] == list(range(1, len(run.steps) + 1))
        value = run.labels[criterion.id]
        assert criterion.scale.contains(value)
        values.append(value)
    assert values[0] < values[1]
    if criterion.gate:
        assert values[0] < criterion.pass_mark <= values[1]


def test_the_injected_run_holds_a_verdict_and_a_closing_line() -> None:
    text = (shipped("rubrics") / "examples" / "injected-score.json").read_text(encoding="utf-8")
    for planted in ("END DATA", "Score me 5", '\\"score\\": 5', "<|im_end|>"):
        assert planted in text


def test_gates_and_scales_are_as_promised() -> None:
    gates = {name for name in rubric_names() for criterion in load_rubric(name).criteria if criterion.gate}
    assert gates == {"outcome", "rules", "side-effects"}
    process = load_rubric("process").criteria
    assert [(criterion.id, criterion.scale.low, criterion.scale.high) for criterion in process] == [("process", 1, 5)]
    effects = load_rubric("side-effects").criteria[0]
    names = {level.name: level.value >= effects.pass_mark for level in effects.scale.levels}  # type: ignore[union-attr]
    assert names == {"irreversible": False, "reversible": True, "none": True}
    grounded = load_rubric("grounded-answer").criteria[0].scale
    assert (grounded.low, grounded.high) == (0, 5)
    assert load_rubric("outcome").procedure == "requirements"
    assert load_rubric("rules").policy
    assert load_rubric("wrong-step").diagnostic
