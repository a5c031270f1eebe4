"""A set that is inconsistent or leaks is refused, with file and line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge.calibration.sets import content_key, load_set, only_faults
from judge.errors import LabelError, UnknownName
from judge.registry import shipped

Rows = list[dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a shipped set, to be broken."""
    return Path(shutil.copytree(shipped("calibration_sets") / "docs_search", tmp_path / "mine"))


def edit(path: Path, change: Callable[[Rows], object]) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    change(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def relabel(rows: Rows, id: str, **values: object) -> None:
    for row in rows:
        if row["trajectory_id"] == id:
            row.update(values)


def test_an_unbroken_copy_loads_by_its_path(folder: Path) -> None:
    loaded = load_set(folder)
    assert loaded.name == "mine"
    assert loaded.settings.name == "docs_search"
    assert (len(loaded.trajectories), len(loaded.labels)) == (108, 216)
    assert loaded.splits()["docs-clean"] == "test"
    assert loaded.clusters()["docs-clean"] == "docs-backup-retention"


def test_a_set_survives_json(folder: Path) -> None:
    loaded = load_set(folder)
    assert type(loaded).from_json(json.loads(json.dumps(loaded.to_json()))) == loaded


LABELS: dict[str, tuple[Callable[[Rows], object], str]] = {
    "unknown trajectory": (
        lambda rows: rows[4].update(trajectory_id="docs-nobody"),
        r"labels\.jsonl:5: .*'docs-nobody', which is not in the set",
    ),
    "unknown criterion": (
        lambda rows: rows[0].update(criterion="charm"),
        r"labels\.jsonl:1: criterion 'charm' is not in set\.yaml.*process, passed_path",
    ),
    "the same rater twice": (
        lambda rows: rows.append(rows[2]),
        r"labels\.jsonl:217: 'construction' labelled 'process' of 'docs-wasteful' already, at .*labels\.jsonl:3",
    ),
    "above the scale": (
        lambda rows: rows[0].update(value=6),
        r"labels\.jsonl:1: 6(\.0)? is outside the scale of 'process' \(1 to 5\)",
    ),
    "between two values": (lambda rows: rows[0].update(value=2.5), r"labels\.jsonl:1: 2\.5 is outside the scale"),
    "not binary": (lambda rows: rows[1].update(value=0.5), r"labels\.jsonl:2: 0\.5 is outside the scale"),
    "a word that the scale has not": (
        lambda rows: rows[1].update(value="fine"),
        r"labels\.jsonl:2: 'fine' is no value of the scale of 'passed_path'\. Names: fail, pass",
    ),
    "another version of the rubric": (
        lambda rows: rows[3].update(rubric_version="0"),
        r"labels\.jsonl:4: label made under version '0' of 'process', set\.yaml says '1'",
    ),
    "no version of the rubric": (lambda rows: rows[3].pop("rubric_version"), r"labels\.jsonl:4: .* version None"),
    "a key that no label has": (
        lambda rows: rows[0].update(colour="red"),
        r"labels\.jsonl:1: colour: Extra inputs are not permitted",
    ),
    "a kind of rater that does not exist": (
        lambda rows: rows[0].update(rater_kind="oracle"),
        r"labels\.jsonl:1: rater_kind: .*found 'oracle'",
    ),
    "a group in both splits": (
        lambda rows: relabel(rows, "docs-backup-retention-4", split="dev"),
        r"Leak across splits: group 'docs-backup-retention' is in dev \('docs-backup-retention-4'\) and in test",
    ),
    "one run in both splits": (
        lambda rows: rows[1].update(split="dev"),
        r"Leak across splits: group 'docs-backup-retention' is in dev \('docs-clean'\) and in test",
    ),
    "no labels": (lambda rows: rows.clear(), r"labels\.jsonl holds no label"),
}


@pytest.mark.parametrize("broken", LABELS)
def test_broken_labels_are_refused(folder: Path, broken: str) -> None:
    change, message = LABELS[broken]
    edit(folder / "labels.jsonl", change)
    with pytest.raises(LabelError, match=message):
        load_set(folder)


def copy_into_dev(folder: Path, **changes: Any) -> None:
    """Adds a copy of the first run (a test run) under another id and group, labelled dev."""

    def add(rows: Rows) -> None:
        rows.append({**rows[0], "id": "docs-copy", "group": "docs-elsewhere", **changes})

    edit(folder / "trajectories.jsonl", add)
    edit(
        folder / "labels.jsonl",
        lambda rows: rows.append({**rows[0], "trajectory_id": "docs-copy", "split": "dev"}),
    )


def test_a_copy_of_a_run_in_the_other_split_is_a_leak(folder: Path) -> None:
    copy_into_dev(folder)
    with pytest.raises(LabelError, match=r"the same content is in dev \('docs-copy'\) and in test \('docs-clean'\)"):
        load_set(folder)


def test_a_copy_with_another_clock_is_still_a_leak(folder: Path) -> None:
    shifted = load_set(folder).trajectories[0].to_json()["steps"]
    for step in shifted:
        step["ts"] = step["ts"].replace("2026", "2027")
        step.pop("usage", None)
    copy_into_dev(folder, steps=shifted)
    with pytest.raises(LabelError, match="the same content"):
        load_set(folder)


def test_a_run_that_differs_in_its_answer_is_no_leak(folder: Path) -> None:
    steps = load_set(folder).trajectories[0].to_json()["steps"]
    steps[-1]["text"] = "Three weeks."
    copy_into_dev(folder, steps=steps, final="Three weeks.")
    assert len(load_set(folder).trajectories) == 109


def test_equal_content_fingerprints_give_equal_keys() -> None:
    run = load_set("docs_search").trajectories[0]
    copy = run.model_copy(update={"id": "other", "group": "other", "labels": {"gold": 1}})
    assert copy.content_fingerprint == run.content_fingerprint
    assert content_key(copy) == content_key(run)


def test_runs_without_a_group_are_their_own(folder: Path) -> None:
    edit(folder / "trajectories.jsonl", lambda rows: [row.pop("group") for row in rows])
    edit(folder / "labels.jsonl", lambda rows: relabel(rows, "docs-clean", split="dev"))
    assert load_set(folder).clusters()["docs-clean"] == "docs-clean"


def test_a_trajectory_twice_is_refused(folder: Path) -> None:
    edit(folder / "trajectories.jsonl", lambda rows: rows.append(rows[1]))
    with pytest.raises(LabelError, match=r"trajectories\.jsonl:109: trajectory 'docs-wasteful' is there already.*:2"):
        load_set(folder)


@pytest.mark.parametrize("file", ["trajectories.jsonl", "labels.jsonl"])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "cut', r":3: not JSON"),
        ("[1, 2]", r":3: expected a JSON object, found list"),
        ('{"value": NaN}', r":3: not JSON: NaN is not a JSON number"),
    ],
)
def test_a_malformed_line_is_named(folder: Path, file: str, line: str, message: str) -> None:
    path = folder / file
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([*lines[:2], line, *lines[3:]]), encoding="utf-8")
    with pytest.raises(LabelError, match=file.replace(".", r"\.") + message):
        load_set(folder)


def test_a_trajectory_with_a_typo_in_a_key_is_named(folder: Path) -> None:
    edit(folder / "trajectories.jsonl", lambda rows: rows[6].update(stpes=[]))
    with pytest.raises(LabelError, match=r"trajectories\.jsonl:7: stpes: Extra inputs"):
        load_set(folder)


@pytest.mark.parametrize("file", ["card.md", "set.yaml", "trajectories.jsonl", "labels.jsonl"])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(LabelError, match=rf"is not a calibration set: {file} missing"):
        load_set(folder)


@pytest.mark.parametrize("file", ["card.md", "trajectories.jsonl", "labels.jsonl"])
def test_an_empty_file_is_refused(folder: Path, file: str) -> None:
    (folder / file).write_text("", encoding="utf-8")
    with pytest.raises(LabelError, match=rf"{file} (is empty|holds no)"):
        load_set(folder)


@pytest.mark.parametrize("file", ["card.md", "set.yaml", "labels.jsonl"])
def test_bytes_that_are_not_utf8_are_refused(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"name: caf\xe9")
    with pytest.raises(LabelError, match=rf"{file} is not UTF-8: byte 9"):
        load_set(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sampling_design: constructed", "sampling_design: convenient", r"set\.yaml: sampling_design: .*'convenient'"),
        ("sampling_design: constructed", "", r"set\.yaml: sampling_design: Field required"),
        ("    pass_mark: 4\n", "", r"needs both of judged_by and pass_mark"),
        ("  - id: passed_path", "  - id: process", r"two criteria share an id"),
        ("criterion: passed_path}", "criterion: passed}", r"claims name criteria that the set has not: \['passed'\]"),
        ("{name: tpr,", "{name: tnr,", r"a claim stands twice"),
        ("licence: Apache-2.0", "licence: yes", r"set\.yaml: licence: .*found 'True'.*quote it"),
        ("licence: Apache-2.0", "licence: [", r"set\.yaml:\d+: not YAML"),
        ("label_kinds_allowed", "label_kind_allowed", r"set\.yaml: label_kind_allowed: Extra inputs"),
    ],
)
def test_wrong_settings_are_refused(folder: Path, old: str, new: str, message: str) -> None:
    text = (folder / "set.yaml").read_text(encoding="utf-8")
    assert old in text
    (folder / "set.yaml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(LabelError, match=message):
        load_set(folder)


def test_settings_that_are_a_list_are_refused(folder: Path) -> None:
    (folder / "set.yaml").write_text("- name\n", encoding="utf-8")
    with pytest.raises(LabelError, match="expected keys and values, found list"):
        load_set(folder)


def test_pass_fail_and_names_of_levels_are_read_as_values(folder: Path) -> None:
    text = (folder / "set.yaml").read_text(encoding="utf-8")
    levels = "scale: [{value: 1, name: broken}, {value: 2, name: weak}, {value: 3, name: fair}, {value: 4, name: good},"
    text = text.replace("scale: {min: 1, max: 5, step: 1}", levels + " {value: 5, name: sound}]")
    (folder / "set.yaml").write_text(text, encoding="utf-8")
    edit(folder / "labels.jsonl", lambda rows: (rows[0].update(value="Sound"), rows[1].update(value="pass")))
    assert [label.value for label in load_set(folder).labels[:2]] == [5, 1]


def test_without_a_scale_no_value_is_checked(folder: Path) -> None:
    text = (folder / "set.yaml").read_text(encoding="utf-8")
    (folder / "set.yaml").write_text(text.replace("    scale: {min: 1, max: 5, step: 1}\n", ""), encoding="utf-8")
    edit(folder / "labels.jsonl", lambda rows: rows[0].update(value=11))
    assert load_set(folder).labels[0].value == 11


def test_not_applicable_is_kept_as_no_value(folder: Path) -> None:
    edit(folder / "labels.jsonl", lambda rows: rows[0].update(value=None))
    assert load_set(folder).labels[0].value is None


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'refunds'"):
        load_set("refund")


@pytest.mark.parametrize("name", ["", "..", "../calibration_sets/nothing"])
def test_a_name_does_not_lead_out_of_the_shipped_folder(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UnknownName, LabelError)):
        load_set(name)


def test_a_set_is_narrowed_to_the_faults_that_are_named() -> None:
    whole = load_set("docs_search")
    narrow = only_faults(whole, ("wasteful_repeat", "gave_up", "stalled"))
    assert narrow.name == "docs_search[gave_up,stalled,wasteful_repeat]"
    assert len(narrow.trajectories) == 48 + 17 + 15 + 11  # sound runs, then each fault
    assert len(narrow.labels) == 2 * 91
    assert {label.trajectory_id for label in narrow.labels} == {run.id for run in narrow.trajectories}
    assert not [label for label in narrow.labels if label.note in ("fault: ungrounded", "fault: wandering")]


def test_a_fault_that_the_set_has_not_is_refused() -> None:
    with pytest.raises(LabelError, match=r"no run with the fault 'rude'.*gave_up, half_searched"):
        only_faults(load_set("docs_search"), ("rude",))


def test_a_set_whose_notes_name_no_fault_cannot_be_narrowed(folder: Path) -> None:
    edit(folder / "labels.jsonl", lambda rows: rows[0].update(note="looks fine to me"))
    with pytest.raises(LabelError, match=r"'docs-clean'.*'looks fine to me' names no fault"):
        only_faults(load_set(folder), ("gave_up",))
