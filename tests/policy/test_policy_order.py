"""Rules of order and approval, what counts as a success, preferences, and checks of your own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from policy_runs import Case, ask, call, end, hold, rule, run, say

import judge
from judge.errors import PolicyError, UnknownName
from judge.policy import Checker, Ruling, check, parse_policy
from judge.types import Outcome, Trajectory

REFUND = {"tools": "refund", "by": "human:*"}
LOOK_FIRST = {"first": "look", "then": "refund"}

ORDER: dict[str, Case] = {
    "first before then": (run(call("look"), call("refund")), {"before": LOOK_FIRST}, "passed", (), "look [S1] before"),
    "first never called": (run(call("refund")), {"before": LOOK_FIRST}, "failed", (1,), "look was never called"),
    "first after then": (run(call("refund"), call("look")), {"before": LOOK_FIRST}, "failed", (1,), "look [S3]"),
    "first failed": (run(call("look", "error"), call("refund")), {"before": LOOK_FIRST}, "failed", (3,), "error [S1]"),
    "first failed, then worked": (
        run(call("look", "error"), call("look"), call("refund")),
        {"before": LOOK_FIRST},
        "passed",
        (),
        "look [S3]",
    ),
    "first without a result": (
        run(call("look", None), call("refund")),
        {"before": LOOK_FIRST},
        "failed",
        (2,),
        "no res",
    ),
    "then absent": (run(call("look")), {"before": LOOK_FIRST}, "passed", (), "refund was not called, so nothing"),
    "then only denied": (run(call("refund", "denied")), {"before": LOOK_FIRST}, "passed", (), "never succeeded"),
    "then denied, looked, then worked": (
        run(call("refund", "denied"), call("look"), call("refund")),
        {"before": LOOK_FIRST},
        "passed",
        (),
        "[S5]",
    ),
    "all of several firsts": (
        run(call("look"), call("refund")),
        {"before": {"first": ["look", "read"], "then": "refund"}},
        "failed",
        (3,),
        "read was never called",
    ),
    "a pattern": (
        run(call("get_order"), call("refund_all")),
        {"before": {"first": "get_*", "then": "refund*"}},
        "passed",
        (),
        "",
    ),
    "must call": (run(call("look")), {"must_call": "look"}, "passed", (), "look succeeded"),
    "must call, absent": (run(call("look")), {"must_call": ["look", "ask"]}, "failed", (), "ask was never called"),
    "must call, in vain": (run(call("look", "timeout")), {"must_call": "look"}, "failed", (1,), "without success"),
    "must not call, absent": (run(call("look")), {"must_not_call": "drop"}, "passed", (), "drop was not called"),
    "must not call": (
        run(call("look"), call("drop")),
        {"must_not_call": "drop"},
        "failed",
        (3,),
        "drop called at [S3]",
    ),
    "must not call, blocked": (
        run(call("drop", "denied")),
        {"must_not_call": "drop"},
        "failed",
        (1,),
        "an attempt counts also where it did not succeed ([S1] denied)",
    ),
    "ends with final": (run(call("look"), end()), {"must_end_with": "final"}, "passed", (), "final answer"),
    "ends with a message": (run(call("look"), say("bye")), {"must_end_with": "final"}, "passed", (), ""),
    "the user speaks last": (run(say("bye"), say("thanks", "user")), {"must_end_with": "final"}, "passed", (), ""),
    "the agent does nothing": (run(say("hi", "user")), {"must_end_with": "final"}, "failed", (), "did nothing"),
    "ends with a result": (
        run(call("look")),
        {"must_end_with": "final"},
        "failed",
        (2,),
        "last thing done is tool_result",
    ),
    "ends with a tool": (run(call("look"), call("close"), end()), {"must_end_with": "close"}, "passed", (), "[S3]"),
    "ends with another tool": (
        run(call("close"), call("look")),
        {"must_end_with": "close"},
        "failed",
        (3,),
        "look [S3]",
    ),
    "ends without a call": (run(say("hi")), {"must_end_with": "close"}, "failed", (1,), "no tool was called"),
    "finish status": (run(end("blocked")), {"finish_status": ["blocked"]}, "passed", (), "'blocked'"),
    "other finish status": (run(end("refunded")), {"finish_status": "blocked"}, "failed", (1,), "needed blocked"),
    "finish status of the outcome": (
        run(end(), outcome=Outcome(status="failed")),
        {"finish_status": "completed"},
        "failed",
        (),
        "'failed'",
    ),
    "no finish status": (run(end()), {"finish_status": "completed"}, "not_applicable", (), "no finish status"),
}

APPROVALS: dict[str, Case] = {
    "approved by a person": (
        run(call("refund", None), ask("requested"), ask("approved", "human:maya"), [("result", "ok", None)]),
        {"approval": REFUND},
        "passed",
        (),
        "1 call approved: 1 by human:maya",
    ),
    "no approval": (run(call("refund")), {"approval": REFUND}, "failed", (1,), "1 without any approval"),
    "approved after the fact": (
        run(call("refund"), ask("requested"), ask("approved", "human:maya")),
        {"approval": REFUND},
        "failed",
        (1,),
        "only after the fact by human:maya",
    ),
    "asked for, approved after the fact": (
        run(call("refund", None), ask("requested"), [("result", "ok", None)], ask("approved", "human:maya")),
        {"approval": REFUND},
        "failed",
        (1,),
        "only after the fact",
    ),
    "asked for and done": (
        run(call("refund", None), ask("requested"), [("result", "ok", None)]),
        {"approval": REFUND},
        "failed",
        (1,),
        "asked for and not approved",
    ),
    "for another call id": (
        run(
            call("refund", None), ask("approved", "human:maya", call_id="c9", call_index=None), [("result", "ok", None)]
        ),
        {"approval": REFUND},
        "failed",
        (1,),
        "by human:maya only for another call id ('c9' [S2])",
    ),
    "for another call id, with the index kept": (
        run(call("refund", None), ask("approved", "human:maya", call_id="c9"), [("result", "ok", None)]),
        {"approval": REFUND},
        "failed",
        (1,),
        "another call id",
    ),
    "for the call id of another tool": (
        run(
            call("look"),
            call("refund", None),
            ask("approved", "human:maya", call_id="c1", call_index=None),
            [("result", "ok", None)],
        ),
        {"approval": REFUND},
        "failed",
        (3,),
        "another call id ('c1'",
    ),
    "for another tool": (
        run(call("refund", None), ask("approved", "human:maya", tool="look"), [("result", "ok", None)]),
        {"approval": REFUND},
        "failed",
        (1,),
        "not approved by human:*",
    ),
    "two by an automatic approver": (
        run(*[[*call("refund", None, n=n), *ask("approved", "auto-approve"), ("result", "ok", None)] for n in (1, 2)]),
        {"approval": REFUND},
        "failed",
        (1, 4),
        "2 by auto-approve",
    ),
    "one of two": (
        run(call("refund", None, n=1), ask("approved", "human:a"), [("result", "ok", None)], call("refund", n=2)),
        {"approval": REFUND},
        "failed",
        (4,),
        "1 of 2 successful calls",
    ),
    "denied and made": (
        run(call("refund", None), ask("denied", "human:a"), [("result", "ok", None)]),
        {"approval": REFUND},
        "failed",
        (1,),
        "denied by human:a",
    ),
    "approved, then taken back": (
        run(call("refund", None), ask("approved", "human:a"), ask("denied", "human:b"), [("result", "ok", None)]),
        {"approval": REFUND},
        "failed",
        (1,),
        "denied by human:b",
    ),
    "with changes": (
        run(call("refund", None), ask("modified", "human:a"), [("result", "ok", None)]),
        {"approval": REFUND},
        "passed",
        (),
        "human:a with changes",
    ),
    "approver not recorded": (
        run(call("refund", None), ask("approved"), [("result", "ok", None)]),
        {"approval": REFUND},
        "failed",
        (1,),
        "who is not recorded",
    ),
    "anybody": (
        run(call("refund", None), ask("approved"), [("result", "ok", None)]),
        {"approval": {"tools": "refund"}},
        "passed",
        (),
        "approved",
    ),
    "by tool only": (
        run(ask("approved", "human:a", call_id=None, call_index=None, tool="refund"), call("refund")),
        {"approval": REFUND},
        "passed",
        (),
        "human:a",
    ),
    "by tool only, one approval for two calls": (
        run(ask("approved", "human:a", call_id=None, call_index=None, tool="refund"), call("refund"), call("refund")),
        {"approval": REFUND},
        "failed",
        (4,),
        "1 of 2",
    ),
    "denied call": (run(call("refund", "denied")), {"approval": REFUND}, "passed", (), "tried without success"),
    "no call": (run(call("look")), {"approval": REFUND}, "passed", (), "nothing had to be approved"),
}

CASES = {
    **{f"order: {name}": case for name, case in ORDER.items()},
    **{f"approval: {name}": case for name, case in APPROVALS.items()},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_rule_gives_status_steps_and_reason(case: Case) -> None:
    hold(case)


@pytest.mark.parametrize("status", ["error", "denied", "cancelled", "timeout", "missing"])
def test_these_statuses_are_no_success(status: str) -> None:
    assert rule(run(call("f", status)), must_call="f").status == "failed"


def test_an_unknown_status_counts_as_the_policy_says() -> None:
    trajectory = run(call("look", "unknown"), call("refund", "unknown"))
    taken = rule(trajectory, before=LOOK_FIRST)
    assert taken.status == "passed"
    assert rule(trajectory, must_call="look").detail.endswith("[S1] is not recorded and taken as succeeded.")
    strict = {"unknown_status": "failed"}
    assert rule(trajectory, strict, must_call="look").status == "failed"
    assert "not recorded" in rule(trajectory, approval=REFUND).detail


def test_copied_history_is_not_this_runs_doing() -> None:
    trajectory = run(call("drop"), call("look"))
    steps = [step.model_copy(update={"provenance": "copied_context"}) for step in trajectory.steps[:2]]
    copied = trajectory.model_copy(update={"steps": (*steps, *trajectory.steps[2:])})
    assert rule(copied, must_not_call="drop").status == "passed"


def test_preferences_are_reported_and_rules_block() -> None:
    trajectory = run(call("f"))
    checks = [{"id": "a", "must_call": "f"}, {"id": "b", "at_most": {"steps": 1}, "severity": "preference"}]
    result = check(trajectory, {"id": "p", "checks": checks})
    assert (result.passed, [found.status for found in result.checks]) == (True, ["passed", "failed"])
    checks[1]["severity"] = "rule"
    assert not check(trajectory, {"id": "p", "checks": checks[1:]}).passed


def test_the_python_api_takes_a_trace_as_it_is() -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    result = judge.check(messages, {"id": "p", "checks": [{"id": "a", "must_end_with": "final"}]})
    assert result.passed
    assert set(result.to_json()) == {"trajectory_id", "passed", "checks"}
    assert set(result.to_json()["checks"][0]) == {"id", "severity", "status", "detail", "steps"}


def longest(trajectory: Trajectory, parameters: Mapping[str, Any]) -> Ruling:
    over = tuple(step.index for step in trajectory.steps[parameters["steps"] :])
    return Ruling(status="failed" if over else "passed", detail="length", steps=over)


CUSTOM = {"id": "p", "checks": [{"id": "short", "custom": {"name": "longest", "parameters": {"steps": 1}}}]}


def test_a_custom_check_is_called_with_its_parameters() -> None:
    found = check(run(call("f")), CUSTOM, custom={"longest": longest}).checks[0]
    assert (found.id, found.status, found.steps) == ("short", "failed", (2,))


def test_an_unknown_custom_check_suggests_a_name() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'longest_run'"):
        check(run(call("f")), CUSTOM, custom={"longest_run": longest})


def test_a_custom_check_that_crashes_decides_nothing() -> None:
    with pytest.raises(PolicyError, match=r"'short'.*'run'.*raised KeyError"):
        check(run(call("f")), {"id": "p", "checks": [{"id": "short", "custom": {"name": "l"}}]}, custom={"l": longest})
    with pytest.raises(PolicyError, match="returned bool, needed a Ruling"):
        Checker(parse_policy("id: p\nchecks: [{id: c, custom: {name: l}}]"), {"l": lambda t, p: True}).check(run(end()))  # type: ignore[dict-item, arg-type, return-value]


def test_one_id_for_every_call_is_decided_call_by_call_and_quickly() -> None:
    """Calls of id "x", every second one approved by a person: half are wrong, in time linear in the calls."""

    def seconds(calls: int) -> float:
        parts: list[list[Any]] = []
        for k in range(calls):
            by = "human:a" if k % 2 else "auto"
            parts += [
                call("refund", None, n=k),
                ask("approved", by, call_id="x", call_index=None),
                [("result", "ok", None)],
            ]
        trajectory = run(*parts)
        steps = tuple(
            step.model_copy(update={"call_id": "x"}) if step.kind in ("tool_call", "tool_result") else step
            for step in trajectory.steps
        )
        trajectory = trajectory.model_copy(update={"steps": steps})
        best = float("inf")
        for _ in range(3):
            start = time.thread_time()
            found = rule(trajectory, approval=REFUND)
            best = min(best, time.thread_time() - start)
            assert found.steps == tuple(range(1, 3 * calls, 6))
            assert f"{calls // 2} by auto" in found.detail
        return best

    assert seconds(4000) < 32 * seconds(500)  # eight times the calls; 64 times the work if each looks at all others
