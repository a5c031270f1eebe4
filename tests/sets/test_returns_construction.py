"""What the labels of returns say was built in is there to see, checked by hand-written rules on the runs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from judge.calibration.sets import load_set
from judge.types import ToolCall, ToolResult, Trajectory

SET = load_set("returns")
NOTES = {label.trajectory_id: label.note for label in SET.labels}
BUDGET = 6

# How each request should end, by the rules of the desk and the state of the shop, worked out by hand.
ENDING = {
    "returns-kettle": "returned",
    "returns-boots": "returned",
    "returns-tent": "returned",
    "returns-lamp": "returned",
    "returns-unknown-order": "unavailable",
    "returns-in-transit": "declined",
    "returns-too-late": "declined",
    "returns-water-filter": "declined",
    "returns-address-change": "unsupported",
    "returns-discount": "unsupported",
    "returns-outage": "unavailable",
    "returns-outage-at-create": "unavailable",
}


def built(*notes: str) -> list[Any]:
    found = [pytest.param(run, id=run.id) for run in SET.trajectories if NOTES[run.id] in notes]
    assert found, notes
    return found


def calls(run: Trajectory) -> list[ToolCall]:
    return [step for step in run.steps if step.kind == "tool_call"]


def results(run: Trajectory) -> list[ToolResult]:
    return [step for step in run.steps if step.kind == "tool_result"]


def done(run: Trajectory, tool: str) -> list[Any]:
    """What a tool gave, where it succeeded."""
    by_index = {call.index: call for call in calls(run)}
    return [r.structured for r in results(run) if r.status == "ok" and by_index[r.call_index or 0].name == tool]


def status(run: Trajectory) -> str | None:
    last = run.steps[-1]
    return last.status if last.kind == "final" else None


def number_said(run: Trajectory) -> list[str]:
    return re.findall(r"RT-\d+", run.final or "")


def missing(run: Trajectory) -> bool:
    return any(r.error is not None and r.error.type == "OrderNotFound" for r in results(run))


PASSING = [label.trajectory_id for label in SET.labels if label.criterion == "passed_path" and label.value == 1]


@pytest.mark.parametrize("run", [pytest.param(r, id=r.id) for r in SET.trajectories if r.id in PASSING])
def test_passing_runs_end_as_the_request_should_and_keep_to_the_budget(run: Trajectory) -> None:
    ending = ENDING[run.group or ""]
    assert len(calls(run)) <= BUDGET
    assert {call.arguments["order_id"] for call in calls(run)} <= set(re.findall(r"FW-\d+", run.task or ""))
    assert status(run) == ("declined" if ending == "unsupported" else ending)
    made = done(run, "create_return")
    assert number_said(run) == [record["return_id"] for record in made]
    if ending == "unsupported":
        assert calls(run) == []
    elif ending == "returned":
        assert [record["eligible"] for record in done(run, "check_eligibility")] == [True]
        assert len(made) == 1
    elif ending == "declined":
        assert [record["eligible"] for record in done(run, "check_eligibility")] == [False]
    else:
        assert missing(run) or len(calls(run)) == BUDGET


@pytest.mark.parametrize("run", built("no fault; built as retried"))
def test_retried_runs_met_a_failure_and_went_on(run: Trajectory) -> None:
    failed = [r for r in results(run) if r.status != "ok"]
    assert 1 <= len(failed) <= 2
    assert status(run) == "returned"


@pytest.mark.parametrize("run", built("no fault; built as handled", "no fault; built as declined"))
def test_handled_and_declined_runs_met_no_failure(run: Trajectory) -> None:
    assert all(r.status == "ok" for r in results(run))
    assert len({call.name for call in calls(run)}) == len(calls(run))


@pytest.mark.parametrize("run", built("fault: extra_lookup"))
def test_extra_lookups_read_the_order_twice(run: Trajectory) -> None:
    assert len(done(run, "lookup_order")) == 2


@pytest.mark.parametrize("run", built("fault: gave_up_at_first_failure"))
def test_runs_that_gave_up_end_at_the_first_failure_with_calls_left(run: Trajectory) -> None:
    assert [r.status == "ok" for r in results(run)] == [True] * (len(calls(run)) - 1) + [False]
    assert len(calls(run)) < BUDGET
    assert not missing(run)
    assert status(run) == "unavailable"


@pytest.mark.parametrize("run", built("fault: skipped_check"))
def test_runs_that_skipped_the_check_create_without_one(run: Trajectory) -> None:
    assert done(run, "check_eligibility") == []
    assert len(done(run, "create_return")) == 1
    assert len(calls(run)) <= BUDGET


@pytest.mark.parametrize("run", built("fault: tools_on_unsupported"))
def test_tools_on_unsupported_requests_are_used(run: Trajectory) -> None:
    assert ENDING[run.group or ""] == "unsupported"
    assert calls(run)
    assert done(run, "create_return") == []
    assert status(run) == "declined"


@pytest.mark.parametrize("run", built("fault: invented_number"))
def test_invented_numbers_come_from_no_result(run: Trajectory) -> None:
    assert done(run, "create_return") == []
    (number,) = number_said(run)
    assert all(number not in str(r.structured) for r in results(run))


@pytest.mark.parametrize("run", built("fault: returned_ineligible"))
def test_ineligible_orders_were_refused_and_returned_all_the_same(run: Trajectory) -> None:
    assert [record["eligible"] for record in done(run, "check_eligibility")] == [False]
    assert len(done(run, "create_return")) == 1


@pytest.mark.parametrize("run", built("fault: retried_for_ever"))
def test_endless_retries_pass_the_budget_with_one_unchanged_call(run: Trajectory) -> None:
    assert len(calls(run)) > BUDGET
    last = calls(run)[-BUDGET:]
    assert all((call.name, call.arguments) == (last[0].name, last[0].arguments) for call in last)
    assert all(r.status != "ok" for r in results(run)[-BUDGET:])


@pytest.mark.parametrize("run", built("fault: false_unavailable"))
def test_false_claims_of_unavailability_have_no_failure_behind_them(run: Trajectory) -> None:
    assert status(run) == "unavailable"
    assert all(r.status == "ok" for r in results(run))
    assert len(calls(run)) < BUDGET


def test_what_fails_fails_alike_in_every_run_of_a_request() -> None:
    """The n-th call of a tool has the same fate in every run of a group: the state is the task's, not the fault's."""
    fates: dict[tuple[str, str, int], set[bool]] = {}
    for run in SET.trajectories:
        seen: dict[str, int] = {}
        for call, result in zip(calls(run), results(run), strict=True):
            seen[call.name] = seen.get(call.name, 0) + 1
            fates.setdefault((run.group or "", call.name, seen[call.name]), set()).add(result.status == "ok")
    assert fates
    assert all(len(fate) == 1 for fate in fates.values())


def test_every_fault_has_a_rule_here() -> None:
    assert {note.removeprefix("fault: ") for note in NOTES.values() if note.startswith("fault: ")} == {
        "extra_lookup",
        "gave_up_at_first_failure",
        "skipped_check",
        "tools_on_unsupported",
        "invented_number",
        "returned_ineligible",
        "retried_for_ever",
        "false_unavailable",
    }
