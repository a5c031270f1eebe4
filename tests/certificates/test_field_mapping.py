"""Files of verdicts and labels of any form → observations; every row that is left out has a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from judge.calibration.fields import FieldMap, Find, identity, lookup
from judge.calibration.observations import Reading, Scales, observe, read_rows
from judge.errors import LabelError
from judge.types.rubric import BinaryScale, LevelScale, RangeScale

FIVE = RangeScale(min=1, max=5, step=1)
WORDS = LevelScale.model_validate({"levels": [{"value": 0, "name": "Bad"}, {"value": 2, "name": "Good"}]})


def read(rows: list[dict[str, Any]], scale: Scales | None = None, **fields: Any) -> Reading:
    return observe(rows, FieldMap.model_validate({"id": "id"} | fields), scale or BinaryScale(), what="rows")


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


ROWS = [{"id": "a", "value": "1"}, {"id": "b", "value": "0"}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", "id,value\na,1\nb,0\n"),
        ("x.csv", "\ufeffid,value\r\na,1\r\nb,0\r\n"),
        ("x.tsv", "id\tvalue\na\t1\nb\t0\n"),
        ("x.jsonl", "\ufeff" + "\n\n".join(json.dumps(row) for row in ROWS) + "\n"),
        ("x.json", json.dumps(ROWS)),
        ("x.json", json.dumps({"data": {"rows": ROWS}})),
    ],
    ids=["csv", "csv with a byte order mark", "tsv", "jsonl with blank lines", "json", "json with nested rows"],
)
def test_the_same_rows_come_out_of_every_form(tmp_path: Path, name: str, text: str) -> None:
    assert [dict(row) for row in read_rows(written(tmp_path, name, text), "data.rows")] == ROWS


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.jsonl", '{"id": "a"}\n\n{"id": \n', "x.jsonl:3: not JSON"),
        ("x.jsonl", '{"id": "a"}\n[1]\n', "x.jsonl:2: list; an object was expected"),
        ("x.json", "[1]", "row 1 is int"),
        ("x.json", "3", "holds int; a list of rows was expected"),
        ("x.csv", "  \n", "is empty; rows were expected"),
        ("x.csv", b"id,value\n\xff\xfe,1\n", "is not UTF-8: byte 9"),
    ],
)
def test_a_file_that_does_not_read_is_named_with_its_line(
    tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    with pytest.raises(LabelError, match=message):
        list(read_rows(written(tmp_path, name, text)))


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="No file"):
        list(read_rows(tmp_path / "none.csv"))


def test_a_path_goes_into_objects_and_lists_and_a_key_with_dots_comes_first() -> None:
    row = {"a": {"b": [{"c": 7}]}, "a.x": 3}
    assert (lookup(row, "a.b.0.c"), lookup(row, "a.x"), lookup(row, "a.b.1.c"), lookup(row, "a.b.c")) == (
        7,
        3,
        None,
        None,
    )
    assert identity({"q": 3, "s": " 1 "}, ("q", "s")) == "3:1"
    assert identity({"q": 3, "s": ""}, ("q", "s")) is None


def test_text_is_trimmed_and_case_and_type_do_not_matter() -> None:
    rows = [{"id": i, "v": v} for i, v in enumerate(["1", 1, 1.0, True, " Pass ", "YES", "passed", "TRUE"])]
    assert {o.value for o in read(rows, value="v").observations} == {1.0}
    assert [o.value for o in read([{"id": 1, "v": " good "}, {"id": 2, "v": "0"}], WORDS, value="v").observations] == [
        2.0,
        0.0,
    ]


def test_several_raters_in_a_row_are_one_observation_each() -> None:
    found = read([{"id": 1, "x": "pass", "y": ""}], raters={"ann": "x", "bob": "y"}).observations
    assert [(o.source, o.value, o.failed) for o in found] == [("ann", 1.0, None), ("bob", None, "failed: no value")]


def test_both_orders_of_a_pair_stay_apart() -> None:
    found = read([{"id": 1, "ab": 1, "ba": 0}], orders={"ab": "ab", "ba": "ba"}).observations
    assert [(o.order, o.value) for o in found] == [("ab", 1.0), ("ba", 0.0)]


def test_an_object_of_values_becomes_an_item_a_key() -> None:
    found = read([{"id": 1, "s": {"2": 1, "4": 0}}, {"id": 2, "s": [1]}, {"id": 3}], explode="s")
    assert [(o.item, o.value) for o in found.observations] == [("1/2", 1.0), ("1/4", 0.0), ("2/0", 1.0)]
    assert found.left_out == {"no s to explode": 1}
    with pytest.raises(LabelError, match="s is no object and no list"):
        read([{"id": 1, "s": "pass"}], explode="s")


def test_a_list_of_values_is_repeated_samples() -> None:
    found = read([{"id": 1, "v": [3, None, 5]}], FIVE, value="v").observations
    assert [(o.sample, o.value) for o in found] == [(0, 3.0), (1, None), (2, 5.0)]
    assert [o.sample for o in read([{"id": 1, "k": "2", "v": 3}], FIVE, value="v", sample="k").observations] == [2]


def test_the_latest_record_wins_whatever_its_place() -> None:
    rows = [{"id": 1, "v": 1, "at": "2026-02-02"}, {"id": 1, "v": 0, "at": "2026-02-01"}]
    for order in (rows, rows[::-1]):
        found = read(order, value="v", latest="at")
        assert [o.value for o in found.observations] == [1.0]
        assert found.left_out == {"superseded by a later record": 1}


@pytest.mark.parametrize("mark", [True, "true", "TRUE"])
def test_a_judgement_marked_as_failed_stays_visible_and_its_number_does_not_count(mark: object) -> None:
    rows = [{"id": 1, "v": 1, "failed": mark}, {"id": 2, "v": 1, "failed": False}]
    found = read(rows, value="v", failed={"path": "failed", "equals": True}).observations
    assert [(o.value, o.failed) for o in found] == [(None, "failed: marked as failed"), (1.0, None)]


def test_a_judgement_may_be_marked_as_failed_by_how_its_comment_begins() -> None:
    rows = [{"id": 1, "v": 1, "c": "llm_annotate_failed: x"}, {"id": 2, "v": 1, "c": ""}, {"id": 3, "v": 1}]
    found = read(rows, value="v", failed={"path": "c", "starts_with": "llm_annotate_failed"}).observations
    assert [o.value for o in found] == [None, 1.0, 1.0]
    with pytest.raises(ValidationError, match="one of equals and starts_with"):
        FieldMap.model_validate({"id": "id", "failed": {"path": "c"}})


def test_values_map_to_levels_to_not_applicable_and_to_failed() -> None:
    values = {"good": "pass", -1: "fail", "skip": None, "boom": "failed: timeout"}
    rows = [{"id": i, "v": v} for i, v in enumerate(["Good", "-1", -1.0, "skip", "boom"])]
    found = read(rows, value="v", values=values).observations
    assert [(o.value, o.failed) for o in found] == [
        (1.0, None), (0.0, None), (0.0, None), (None, None), (None, "failed: timeout"),
    ]  # fmt: skip


def test_the_word_failed_is_a_verdict_and_no_failed_judgement() -> None:
    assert [o.value for o in read([{"id": 1, "v": "0"}], value="v", values={"0": "failed"}).observations] == [0.0]


def test_a_value_is_found_in_a_text() -> None:
    text = "Status: failure ... Status: success"
    for which, value in (("first", 0.0), ("last", 1.0), ("only", None)):
        fields = {"find": {"pattern": r"status: (\w+)", "which": which}, "values": {"success": 1, "failure": 0}}
        assert read([{"id": 1, "v": text}], value="v", **fields).observations[0].value == value
    assert Find(pattern="[0-9]").apply("none") is None
    with pytest.raises(ValidationError, match="no regular expression"):
        Find(pattern="(")


def test_a_value_may_be_whether_a_text_holds_a_word() -> None:
    contains = {"text": "success", "then": "pass", "otherwise": "fail"}
    rows = [{"id": 1, "v": "A SUCCESS."}, {"id": 2, "v": "no"}, {"id": 3, "v": None}]
    assert [o.value for o in read(rows, value="v", contains=contains).observations] == [1.0, 0.0, None]


def test_names_that_differ_only_in_case_stay_two_judges() -> None:
    rows = [{"id": 1, "v": 1, "j": "GPT"}, {"id": 1, "v": 0, "j": "gpt"}]
    assert [(o.source, o.value) for o in read(rows, value="v", source="j").observations] == [("GPT", 1.0), ("gpt", 0.0)]


def test_a_second_value_for_the_same_item_is_refused() -> None:
    with pytest.raises(LabelError, match="rows: duplicate of ann for a"):
        read([{"id": "a", "v": 1, "r": "ann"}, {"id": "a", "v": 1, "r": "ann"}], value="v", source="r")


def test_every_value_outside_the_scale_is_listed_not_only_the_first() -> None:
    with pytest.raises(LabelError, match=r"outside the scale: 7 .*a.*; outside the scale: 'meh' .*b"):
        read([{"id": "a", "v": 7}, {"id": "b", "v": "meh"}, {"id": "c", "v": 3}], FIVE, value="v")
    with pytest.raises(LabelError, match=r"outside the scale: 2\.5"):
        read([{"id": "a", "v": 2.5}], FIVE, value="v")
    with pytest.raises(LabelError, match="outside the scale: 'nan'"):
        read([{"id": "a", "v": "nan"}], FIVE, value="v")


def test_a_sample_or_a_probability_that_is_no_number_is_listed() -> None:
    with pytest.raises(LabelError, match="k is no number: 'two'"):
        read([{"id": "a", "v": 3, "k": "two"}], FIVE, value="v", sample="k")
    with pytest.raises(LabelError, match="p is no number: 'half'"):
        read([{"id": "a", "v": 3, "p": "half"}], FIVE, value="v", probability="p")


def test_rows_left_out_are_counted_by_reason() -> None:
    rows = [{"id": "a", "v": 1, "set": "x"}, {"id": "b", "v": 1, "set": "y"}, {"id": "", "v": 1, "set": "x"}]
    found = read(rows, value="v", where={"set": "X "})
    assert [o.item for o in found.observations] == ["a"]
    assert found.rows == 3
    assert found.left_out == {"left out by `where`": 1, "no id": 1}


def test_an_unknown_key_of_a_mapping_is_an_error() -> None:
    with pytest.raises(ValidationError, match="valeu"):
        FieldMap.model_validate({"id": "a", "valeu": "b"})


def test_one_name_for_two_judges_is_refused() -> None:
    rows = [{"id": "a", "v": 1, "f": {"judge": "x"}}, {"id": "b", "v": 1, "f": {"judge": "y"}}]
    with pytest.raises(LabelError, match="mixes 2 different judges under the name 'unnamed'"):
        read(rows, value="v", judge_fingerprint="f.judge")
    assert len(read(rows, value="v", source="f.judge", judge_fingerprint="f.judge").observations) == 2


def test_a_row_without_a_criterion_is_of_the_mappings_own() -> None:
    rows = [{"id": "a", "v": 1, "c": "tone"}, {"id": "b", "v": 1, "c": ""}, {"id": "d", "v": 1}]
    found = read(rows, value="v", criterion_path="c").observations
    assert [o.criterion for o in found] == ["tone", "overall", "overall"]
