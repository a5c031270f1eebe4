"""Faults in runs of every shape: calls side by side and within each other, denials, failures, no answer, no steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from judge.calibration.probes.attacks import attack_all
from judge.calibration.probes.biases import bias_pairs
from judge.calibration.probes.faults import FAULTS, plant, plant_all
from judge.calibration.probes.null_answers import null_runs
from judge.calibration.probes.splice import answer_step, text_of, units
from judge.errors import JudgeError
from judge.importers import load
from judge.types.probe import Mutant
from judge.types.trajectory import Approval, Message, Retry, ToolCall, ToolResult, Trajectory


def run_of(*steps: dict[str, Any], **more: Any) -> Trajectory:
    numbered = [{"index": index, **step} for index, step in enumerate(steps, 1)]
    last = next((step["text"] for step in steps if step["kind"] == "final"), None)
    head = {"schema": "judge.trajectory/1", "id": "r", "source": {"format": "native"}, "final": last}
    return Trajectory.from_json({**head, **more, "steps": numbered})


def call(name: str, arguments: Any, call_id: str, **more: Any) -> dict[str, Any]:
    return {"kind": "tool_call", "name": name, "arguments": arguments, "call_id": call_id, **more}


def result(of: int, call_id: str, text: str = "fine", status: str = "ok", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    back = {"kind": "tool_result", "call_index": of, "call_id": call_id, "pairing": "id", "status": status}
    return {**back, "content": content, **more}


def approval(of: int, call_id: str, state: str) -> dict[str, Any]:
    return {"kind": "approval", "call_index": of, "call_id": call_id, "state": state, "approver": "human:maya"}


FINAL = {"kind": "final", "text": "Done: 3 of 30 seats, order A-7."}
ASKED = {"kind": "message", "role": "user", "content": [{"type": "text", "text": "Book it."}]}
SIDE_BY_SIDE = run_of(
    ASKED,
    call("get_seats", {"row": "B12"}, "a", turn="t1", ts="2026-01-01T10:00:00Z"),
    call("book_seat", {"seat": "B12"}, "b", turn="t1", ts="2026-01-01T10:00:00Z"),
    result(2, "a", ts="2026-01-01T10:00:01Z", turn="t1"),
    result(3, "b", ts="2026-01-01T10:00:02Z", turn="t1"),
    {**FINAL, "turn": "t2", "ts": "2026-01-01T10:00:03Z"},
)
WITHIN = run_of(  # an agent is asked to look, and acts inside
    ASKED,
    call("find_helper", {"topic": "seats"}, "a", agent="planner"),
    call("get_seats", {"row": "B12"}, "b", agent="helper", parent=2),
    result(3, "b", parent=2),
    call("book_seat", {"seat": "B12"}, "c", agent="helper", parent=2),
    result(5, "c", parent=2),
    result(2, "a", "the helper has booked"),
    FINAL,
)
REFUSED = run_of(
    ASKED,
    call("book_seat", {"seat": "B12"}, "a"),
    approval(2, "a", "requested"),
    approval(2, "a", "denied"),
    result(2, "a", "denied", status="denied"),
    FINAL,
)
FAILED = run_of(ASKED, call("get_seats", {"row": "B12"}, "a"), result(2, "a", "timeout", status="error"), FINAL)
RETRIED = run_of(
    ASKED,
    call("get_seats", {"row": "B12"}, "a"),
    result(2, "a"),
    call("get_seats", {"row": "B12"}, "b"),
    result(4, "b"),
    FINAL,
)
UNANSWERED = run_of(ASKED, call("get_seats", {"row": "B12"}, "a"))
SHAPES = {
    "side by side": SIDE_BY_SIDE,
    "within": WITHIN,
    "refused": REFUSED,
    "failed": FAILED,
    "retried": RETRIED,
    "unanswered": UNANSWERED,
    "empty answer": run_of(
        ASKED, call("book_seat", {"seat": "B12"}, "a"), result(2, "a"), {"kind": "final", "text": ""}
    ),
    "unread arguments": run_of(
        ASKED, {"kind": "tool_call", "name": "book", "arguments_raw": "{", "arguments_error": "cut"}, FINAL
    ),
    "orphan": run_of(ASKED, {"kind": "tool_result", "content": [{"type": "text", "text": "who?"}]}, FINAL),
    "history": run_of(ASKED, call("get", {"id": "7"}, "a", provenance="copied_context"), result(2, "a"), FINAL),
    "only asked": run_of(ASKED),
    "empty": run_of(),
}


def everything_from(run: Trajectory) -> list[tuple[Trajectory, Mutant]]:
    """All that any probe makes of a run, with what it was made from."""
    sides = bias_pairs([run], judge="maker/model")
    made = [*plant_all([run])[0], *attack_all([run], top="5"), *null_runs([run], top="5"), *sides[0], *sides[1]]
    return [(run, one) for one in made]


def refuse_incoherence(parent: Trajectory, made: Mutant) -> None:
    """What must hold of a changed run, whatever its parent looked like."""
    run, where = made.trajectory, f"{made.mutation.type} of {parent.id}"
    count = len(run.steps)
    assert [step.index for step in run.steps] == list(range(1, count + 1)), where
    assert run.steps != parent.steps, f"{where} changes nothing"
    assert made.mutation.steps, where
    assert set(made.mutation.steps) <= set(range(1, count + 1)), where
    assert set(made.mutation.parent_steps) <= set(range(1, len(parent.steps) + 1)), where
    for step in run.steps:
        if isinstance(step, ToolResult | Approval | Retry) and step.call_index is not None:
            assert step.call_index < step.index or isinstance(step, Approval), where
            assert isinstance(run.steps[step.call_index - 1], ToolCall), where
        assert step.parent is None or step.parent < step.index, where
    orphans = [sum(isinstance(s, ToolResult) and s.call_index is None for s in one.steps) for one in (run, parent)]
    assert orphans[0] <= orphans[1], f"{where}: a result without its call"
    if made.mutation.kind != "null":
        lone = [sum(s.parent is None for s in one.steps) for one in (run, parent)]
        assert lone[0] - lone[1] <= max(0, count - len(parent.steps)), f"{where}: steps without what they belonged to"
    for key in ("ts", "turn"):
        assert not broken_order(run, key) or broken_order(parent, key), f"{where}: {key}"
    if made.mutation.type == "truncated_run":
        assert run.final is None, where
    assert not run.labels, where
    assert run.group == (parent.group or parent.id), where


def broken_order(run: Trajectory, key: str) -> bool:
    values: list[str] = [value for step in run.steps if (value := getattr(step, key)) is not None]
    if key == "ts":
        return values != sorted(values)
    blocks = [value for place, value in enumerate(values) if place == 0 or values[place - 1] != value]
    return len(blocks) > len(set(blocks))


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_is_made_of_any_shape_is_coherent(shape: str) -> None:
    for parent, made in everything_from(SHAPES[shape]):
        refuse_incoherence(parent, made)


def test_the_check_sees_what_is_broken() -> None:
    made = plant(SIDE_BY_SIDE, "padding")
    assert made is not None
    for steps in (made.trajectory.steps[1:], (*made.trajectory.steps[:-1], SIDE_BY_SIDE.steps[-1]), SIDE_BY_SIDE.steps):
        with pytest.raises(AssertionError):
            refuse_incoherence(
                SIDE_BY_SIDE,
                made.model_copy(update={"trajectory": made.trajectory.model_copy(update={"steps": steps})}),
            )


def test_runs_with_nothing_to_change_give_nothing() -> None:
    for shape in ("only asked", "empty"):
        assert everything_from(SHAPES[shape]) == []


def places(run: Trajectory) -> set[str]:
    return {one.mutation.type for one in plant_all([run])[0]}


def test_calls_side_by_side_have_no_order_to_swap() -> None:
    assert "swapped_order" not in places(SIDE_BY_SIDE)
    one_by_one = run_of(
        ASKED,
        call("get_seats", {"row": "B12"}, "a", turn="t1", ts="2026-01-01T10:00:00Z", usage={"input_tokens": 5}),
        result(2, "a", turn="t1", ts="2026-01-01T10:00:01Z"),
        call("book_seat", {"seat": "B12"}, "b", turn="t2", ts="2026-01-01T10:00:02Z", usage={"input_tokens": 9}),
        result(4, "b", turn="t2", ts="2026-01-01T10:00:03Z"),
        FINAL,
    )
    made = plant(one_by_one, "swapped_order")
    assert made is not None
    shown = [(s.kind, s.turn, s.ts and s.ts[18:19], s.usage and s.usage.input_tokens) for s in made.trajectory.steps]
    # book_seat has become the first call of turn t1, with the usage of that model call, at the first time
    assert shown[1:5] == [
        ("tool_call", "t1", "0", 5),
        ("tool_result", "t1", "1", None),
        ("tool_call", "t2", "2", 9),
        ("tool_result", "t2", "3", None),
    ]
    assert [s.name for s in made.trajectory.steps if isinstance(s, ToolCall)] == ["book_seat", "get_seats"]


def test_what_is_put_in_stands_behind_all_calls_of_a_turn_and_is_a_turn_of_its_own() -> None:
    made = plant(SIDE_BY_SIDE, "repeated_call")
    assert made is not None
    kinds = [step.kind for step in made.trajectory.steps]
    assert kinds == ["message", *("tool_call",) * 2, *("tool_result",) * 2, *("tool_call", "tool_result") * 2, "final"]
    turns = [step.turn for step in made.trajectory.steps if step.turn is not None]
    assert len(set(turns)) == 4  # the two of the run, and one for each copy


def test_what_was_done_within_a_call_goes_with_it_and_keeps_it_from_counting_as_a_look_up() -> None:
    outer = units(WITHIN)[0]
    assert outer.members == (2, 3, 4, 5, 6, 7)
    assert (outer.acting, outer.reading) == (False, False)
    skipped = plant(WITHIN, "skipped_step")
    assert skipped is not None
    assert skipped.mutation.parent_steps == (3, 4)  # get_seats: leaving the helper out would leave the booking out
    filler = plant(WITHIN, "padding")
    assert filler is not None
    agents = {s.agent for s in filler.trajectory.steps if s.index in filler.mutation.steps and s.agent}
    assert agents <= {"planner", "helper"}
    undone = plant(
        run_of(*(s.to_json() for s in WITHIN.steps[:1]), *whole_run_by("book_helper"), FINAL), "undone_claim"
    )
    assert undone is not None
    assert [step.kind for step in undone.trajectory.steps] == ["message", "final"]


def whole_run_by(name: str) -> Sequence[dict[str, Any]]:
    return [
        call(name, {"topic": "seats"}, "a"),
        call("get_seats", {"row": "B12"}, "b", parent=2),
        result(3, "b", parent=2),
        result(2, "a"),
    ]


def test_a_denied_action_was_not_approved() -> None:
    assert not {"unapproved_action", "self_approved_action", "undone_claim"} & places(REFUSED)


def test_a_failure_that_was_tried_again_is_not_ignored() -> None:
    assert "ignored_error" not in places(RETRIED)
    assert "ignored_error" not in places(FAILED)
    assert "skipped_step" not in places(FAILED)


def test_arguments_within_arguments_are_found_and_short_numbers_stay_where_they_are() -> None:
    run = run_of(
        ASKED,
        call("book_seats", {"order": {"seats": [{"row": "B12", "quantity": 3}]}, "line": 40}, "a"),
        result(2, "a", json.dumps({"id": 3, "quantity": 3, "note": "row B12 of 30"})),
        FINAL,
    )
    more = plant(run, "changed_amount")
    assert more is not None
    booked = more.trajectory.steps[1]
    assert isinstance(booked, ToolCall)
    assert booked.arguments == {"order": {"seats": [{"row": "B12", "quantity": 30}]}, "line": 40}
    assert json.loads(text_of(more.trajectory.steps[2])) == {"id": 3, "quantity": 30, "note": "row B12 of 30"}
    other = plant(run, "wrong_object")
    assert other is not None
    row = other.trajectory.steps[1].arguments["order"]["seats"][0]["row"]  # type: ignore[union-attr]
    assert row != "B12"
    assert json.loads(text_of(other.trajectory.steps[2]))["note"] == f"row {row} of 30"


def test_a_wrong_answer_changes_a_word_and_no_part_of_one_and_no_number_of_a_list() -> None:
    run = run_of(
        ASKED,
        call("get_seats", {"row": "B12"}, "a"),
        result(2, "a"),
        {"kind": "final", "text": "1. Row 4 of 40\n2. Ok"},
    )
    for seed in range(8):
        made = plant(run, "wrong_answer_good_path", seed=seed)
        assert made is not None
        text = made.trajectory.final or ""
        assert text.startswith("1. Row ")
        assert text.endswith("\n2. Ok")
        first, _, second = text.removeprefix("1. Row ").partition("\n")[0].partition(" of ")
        assert (first == "4") != (second == "40")


def test_an_answer_that_was_said_before_the_final_step_changes_in_both_places() -> None:
    said = {"kind": "message", "role": "assistant", "content": [{"type": "text", "text": FINAL["text"]}]}
    run = run_of(ASKED, call("get_seats", {"row": "B12"}, "a"), result(2, "a"), said, FINAL)
    for fault in ("added_claim", "wrong_answer_good_path"):
        made = plant(run, fault)
        assert made is not None
        assert isinstance(made.trajectory.steps[3], Message)
        assert text_of(made.trajectory.steps[3]) == made.trajectory.final != run.final


def test_the_clock_is_offered_where_tools_are_listed() -> None:
    listed = SIDE_BY_SIDE.model_copy(
        update={"tools": Trajectory.from_json({**SIDE_BY_SIDE.to_json(), "tools": [{"name": "get_seats"}]}).tools}
    )
    for run, names in ((listed, ["get_seats", "get_current_time"]), (SIDE_BY_SIDE, [])):
        made = plant(run, "padding")
        assert made is not None
        assert [tool.name for tool in made.trajectory.tools] == names


def test_labels_of_the_parent_do_not_go_along() -> None:
    made = plant(SIDE_BY_SIDE.model_copy(update={"labels": {"reward": 1.0}}), "undone_claim")
    assert made is not None
    assert made.trajectory.labels == {}


def test_a_changed_run_is_a_trace_that_keeps_the_record_of_its_change(tmp_path: Path) -> None:
    made = [one for run in (SIDE_BY_SIDE, WITHIN) for one in plant_all([run])[0]]
    file = tmp_path / "mutants.jsonl"
    file.write_text("".join(json.dumps(one.linked().to_json()) + "\n" for one in made), encoding="utf-8")
    back = list(load(file))
    assert [run.steps for run in back] == [one.trajectory.steps for one in made]
    assert [run.meta["mutation"] for run in back] == [one.mutation.to_json() for one in made]
    assert back[0].content_fingerprint == made[0].trajectory.content_fingerprint


@pytest.mark.parametrize("folder", ["data", "formats"])
def test_runs_of_every_format_and_benchmark_take_all_that_they_have_a_place_for(shared: Path, folder: str) -> None:
    planted: set[str] = set()
    runs = 0
    for file in sorted((shared / folder).rglob("*.json*")):
        try:
            found = list(load(file, limit=8))
        except JudgeError:
            continue  # no traces: labels, expectations, or a file that its importer must refuse
        for number, run in enumerate(found):
            runs += 1
            for parent, made in everything_from(run.model_copy(update={"id": f"{file.name}#{number}"})):
                refuse_incoherence(parent, made)
                planted.add(made.mutation.type)
            if answer_step(run.steps) is not None and text_of(answer_step(run.steps)):  # type: ignore[arg-type]
                assert plant(run, "added_claim") is not None
    assert runs > 20
    assert len(planted & set(FAULTS)) >= 13
