"""Replay in the returns desk: what a trace may claim, and every way in which it can be untrue."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from suite_records import Call, recorded

from judge.cli.main import run
from judge.errors import PolicyError, UsageError
from judge.policy.environment import Answer, Goal
from judge.policy.replay import begun, replay
from judge.policy.returns_desk import ReturnsDesk

ORDER = {"item": "kettle", "status": "delivered", "days_since_delivery": 6, "returnable": True}
FOUND = {"order_id": "FW-1", **ORDER}
ELIGIBLE = {"order_id": "FW-1", "eligible": True}
CREATED = {"return_id": "RT-1001", "order_id": "FW-1", "status": "created"}
LOOK: Call = ("lookup_order", {"order_id": "FW-1"}, FOUND)
CHECK: Call = ("check_eligibility", {"order_id": "FW-1"}, ELIGIBLE)
CREATE: Call = ("create_return", {"order_id": "FW-1", "reason": "dent"}, CREATED)
SOUND = [LOOK, CHECK, CREATE]
REPLY = "Your return number is RT-1001."


def desk(**changes: Any) -> ReturnsDesk:
    return ReturnsDesk({"wants_return": True, "order_id": "FW-1", "orders": {"FW-1": ORDER}, **changes})


def failed(
    calls: list[Call], answer: str | None = REPLY, status: str | None = "returned", **changes: Any
) -> dict[str, Any]:
    """Failed checks to their steps."""
    result = replay(recorded(calls, answer, status=status), desk(**changes))
    found = {check.id.removeprefix("replay:"): check.steps for check in result.checks if check.status == "failed"}
    assert result.passed == (not found)
    return found


def test_a_sound_run_replays_as_recorded() -> None:
    assert failed(SOUND) == {}


def test_an_unknown_tool_fails_with_its_step() -> None:
    found = failed([*SOUND, ("send_gift", {}, {"sent": True})])
    assert (found["tools"], found["results"]) == ((8,), (8,))


def test_an_id_that_nobody_gave_fails_with_its_step() -> None:
    wrong = ("lookup_order", {"order_id": "FW-2"}, Exception("order 'FW-2' is not the one that the customer named"))
    assert failed([wrong, *SOUND]) == {"ids": (2,)}


def test_a_skipped_precondition_fails_even_where_the_recorded_result_says_it_worked() -> None:
    found = failed([LOOK, CREATE])
    assert (found["preconditions"], found["results"]) == ((4,), (4,))
    assert "goal" in found  # no return stands in the replayed state, whatever the reply says


def test_a_result_edited_by_hand_fails_with_its_step_and_names_the_key() -> None:
    edited = {**FOUND, "days_since_delivery": 60}
    result = replay(
        recorded([("lookup_order", {"order_id": "FW-1"}, edited), CHECK, CREATE], REPLY, status="returned"), desk()
    )
    (check,) = [check for check in result.checks if check.status == "failed"]
    assert (check.id, check.steps) == ("replay:results", (2,))
    assert check.detail == "[S2] recorded days_since_delivery 60, replayed 6"


def test_a_failure_that_did_not_happen_is_fabricated() -> None:
    assert failed([("lookup_order", {"order_id": "FW-1"}, Exception("503")), *SOUND])["results"] == (2,)


def test_an_answered_call_made_again_is_a_duplicate_and_a_retry_is_none() -> None:
    assert failed([LOOK, *SOUND]) == {"duplicates": (4,)}
    down = ("lookup_order", {"order_id": "FW-1"}, Exception("503 from the order service"))
    assert failed([down, *SOUND], failing={"lookup_order": 1}) == {}


def test_calls_over_the_budget_fail_with_their_steps() -> None:
    down = ("lookup_order", {"order_id": "FW-1"}, Exception("503 from the order service"))
    found = failed([down, down, *SOUND], failing={"lookup_order": 2}, budget=4)
    assert found["budget"] == (10,)


def test_a_return_number_that_no_tool_gave_is_a_claim_without_evidence() -> None:
    assert failed(SOUND, "Your return number is RT-7777.") == {"claims": (8,)}


def test_a_final_claim_does_not_reach_the_goal() -> None:
    found = failed([LOOK, CHECK], REPLY)
    assert (found["claims"], found["goal"]) == ((6,), (6,))


def test_unavailable_needs_a_missing_object_or_a_used_up_budget() -> None:
    down = ("lookup_order", {"order_id": "FW-1"}, Exception("503 from the order service"))
    gone = ("lookup_order", {"order_id": "FW-1"}, Exception("no order FW-1"))
    assert failed([down], "Later, please.", "unavailable", failing={"lookup_order": 99})["unavailable"] == (4,)
    assert failed([down] * 6, "Later, please.", "unavailable", failing={"lookup_order": 99}) == {}
    assert failed([gone], "There is no such order.", "unavailable", orders={}) == {}
    assert "unavailable" in failed([], "It is down.", "unavailable")


def test_an_empty_trace_proves_nothing() -> None:
    assert "goal" in failed([], None, None)
    assert "goal" in failed([], "All is well.", None)
    # even where a right run makes no call, it has to say something
    assert failed([], "I only arrange returns.", "declined", wants_return=False) == {}
    assert "goal" in failed([], None, None, wants_return=False)


def test_a_request_that_is_not_the_desks_needs_no_tool() -> None:
    assert failed([LOOK], "I cannot do that.", "declined", wants_return=False) == {"goal": (4,)}


def test_an_ineligible_return_is_refused_by_the_state() -> None:
    late = {**ORDER, "days_since_delivery": 31}
    refused = {"order_id": "FW-1", "eligible": False, "reason": "delivered 31 days ago, limit 30"}
    calls: list[Call] = [
        ("lookup_order", {"order_id": "FW-1"}, {"order_id": "FW-1", **late}),
        ("check_eligibility", {"order_id": "FW-1"}, refused),
    ]
    assert failed(calls, "Too late.", "declined", orders={"FW-1": late}) == {}
    assert "preconditions" in failed([*calls, CREATE], REPLY, orders={"FW-1": late})


class Broken:
    """An environment that raises."""

    tools: Collection[str] = ("lookup_order",)
    max_calls: int | None = None

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        raise KeyError("no such table, password=hunter2hunter2")

    def state(self) -> Mapping[str, Any]:
        return {}

    def goal(self) -> Goal:
        return Goal(reached=True, detail="always")

    def unsupported(self, text: str, status: str | None) -> Collection[str]:
        return ()


def test_an_environment_that_crashes_decides_nothing() -> None:
    with pytest.raises(PolicyError, match="raised KeyError in the call of lookup_order at step 2"):
        replay(recorded([LOOK]), Broken())


def test_an_environment_of_another_shape_decides_nothing() -> None:
    class Loose(Broken):
        def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
            return {"id": 1}

        def goal(self) -> Any:
            return True

    with pytest.raises(PolicyError, match=r"answered dict to lookup_order, needed judge\.policy\.environment\.Answer"):
        replay(recorded([LOOK]), Loose())
    with pytest.raises(PolicyError, match=r"goal is bool, needed judge\.policy\.environment\.Goal"):
        replay(recorded([]), Loose())
    with pytest.raises(PolicyError, match="raised TypeError in the first state"):
        begun(Loose, {"orders": {}})
    with pytest.raises(UsageError, match="state"):
        begun(ReturnsDesk, {"orders": []})


@pytest.mark.parametrize("state", [None, {}, {"wants_return": True, "orders": {"FW-1": {"item": 1}}}])
def test_a_state_that_is_none_is_refused(state: Any) -> None:
    with pytest.raises(UsageError, match="state"):
        ReturnsDesk(state)


def test_the_command_exits_1_on_an_edited_result_and_0_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "states.json"
    one = {"wants_return": True, "order_id": "FW-1", "orders": {"FW-1": ORDER}}
    state.write_text(json.dumps({"groups": {"one": one}}), encoding="utf-8")
    trace = tmp_path / "trace.jsonl"
    arguments = ["replay", str(trace), "-e", "judge.policy.returns_desk:ReturnsDesk", "--state", str(state), "--json"]
    trace.write_text(json.dumps(recorded(SOUND, REPLY, status="returned").to_json()) + "\n", encoding="utf-8")
    assert run(arguments) == 0
    capsys.readouterr()
    trace.write_text(trace.read_text(encoding="utf-8").replace("RT-1001", "RT-1002"), encoding="utf-8")
    assert run(arguments) == 1
    checks = json.loads(capsys.readouterr().out)["results"][0]["checks"]
    assert {c["id"]: c["steps"] for c in checks if c["status"] == "failed"} == {
        "replay:results": [6],
        "replay:claims": [8],
    }


@pytest.mark.parametrize("name", ["ReturnsDesk", "judge.policy.returns_desk:Nothing", "no_such_module_here:Desk"])
def test_an_environment_that_is_not_there_is_a_usage_error(name: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text(json.dumps(recorded(SOUND).to_json()) + "\n", encoding="utf-8")
    assert run(["replay", str(trace), "-e", name]) == 2
