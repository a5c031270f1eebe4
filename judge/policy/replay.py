"""Replay: a recorded trace is played again in an environment, and every difference fails with its step.

Replay runs the environment's code, which is the user's. Nothing in a trace or another data file chooses it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from judge.errors import JudgeError, PolicyError
from judge.policy.environment import Answer, Environment, Goal
from judge.policy.history import Attempt, history
from judge.policy.secrets import mask
from judge.types.json_equality import call_key, json_equal
from judge.types.metric import Check
from judge.types.policy import PolicyResult
from judge.types.trajectory import Final, Text, ToolResult, Trajectory

T = TypeVar("T")
UNAVAILABLE = "unavailable"
"""The final status that needs evidence: a missing object, or a retry budget used up."""
_OF = "judge.policy.environment"
_FAILED = frozenset({"error", "denied", "cancelled", "timeout", "missing"})


@dataclass(frozen=True)
class Replayed:
    """A recorded call and what the environment answers to it; None where there is no such tool."""

    attempt: Attempt
    answer: Answer | None

    @property
    def index(self) -> int:
        """Index of the call."""
        return self.attempt.index


def begun(make: Callable[..., Environment], state: Any = None) -> Environment:
    """A new environment in its first state, or in `state`.

    Raises:
        PolicyError: It crashed. A state that it refuses with an error of its own is that error.
    """
    try:
        return make() if state is None else make(state)
    except JudgeError:
        raise
    except Exception as error:
        _crashed(error, "first state")


def replay(trajectory: Trajectory, environment: Environment) -> PolicyResult:
    """Every check of a trace against an environment in its first state, ids "replay:…", each with its steps.

    Raises:
        PolicyError: The environment itself crashed; then nothing is decided.
    """
    run = history(trajectory)
    played = [_played(attempt, environment) for attempt in run.attempts]
    final = run.finals[-1] if run.finals else None
    limit = environment.max_calls
    checks = [
        _each("tools", played, _unknown_tool, "every tool exists"),
        _each("ids", played, lambda one: _status(one, "wrong_id"), "every id was given to the agent"),
        _each("preconditions", played, lambda one: _status(one, "precondition"), "nothing was skipped"),
        _duplicates(played),
        _each("results", played, _fabricated, "every recorded result is what the environment answers"),
        _budget(played, limit),
        _claims(final, environment),
        _unavailable(final, played, limit),
        _goal(environment, played, final),
    ]
    passed = all(check.status != "failed" for check in checks)
    return PolicyResult(trajectory_id=trajectory.id, passed=passed, checks=tuple(checks))


def _played(attempt: Attempt, environment: Environment) -> Replayed:
    call = attempt.call
    if call.name not in environment.tools:
        return Replayed(attempt, None)
    arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
    answer = _run(lambda: environment.call(call.name, arguments), f"call of {call.name} at step {call.index}")
    if not isinstance(answer, Answer):
        raise PolicyError(f"The environment answered {type(answer).__name__} to {call.name}, needed {_OF}.Answer.")
    return Replayed(attempt, answer)


def _run(work: Callable[[], T], what: str) -> T:
    try:
        return work()
    except Exception as error:  # user code may raise anything, and a replay that crashed proves nothing
        _crashed(error, what)


def _crashed(error: Exception, what: str) -> NoReturn:
    raise PolicyError(
        f"The environment raised {type(error).__name__} in the {what}: {mask(str(error))}",
        hint="Repair the environment; a tool that fails answers with a status. Nothing was decided.",
    ) from error


def _check(id: str, problems: Iterable[str], steps: Iterable[int], well: str) -> Check:
    listed = list(problems)
    more = f"; and {len(listed) - 5} more" if len(listed) > 5 else ""
    return Check(
        id=f"replay:{id}",
        severity="rule",
        status="failed" if listed else "passed",
        detail=mask("; ".join(listed[:5]) + more) if listed else well,
        steps=tuple(steps),
    )


def _each(id: str, played: list[Replayed], problem: Callable[[Replayed], str], well: str) -> Check:
    found = {one.index: problem(one) for one in played}
    wrong = {index: text for index, text in found.items() if text}
    if not played:
        return Check(id=f"replay:{id}", severity="rule", status="not_applicable", detail="there is no call")
    return _check(id, (f"[S{index}] {text}" for index, text in wrong.items()), wrong, well)


def _unknown_tool(one: Replayed) -> str:
    return f"there is no tool {one.attempt.call.name!r}" if one.answer is None else ""


def _status(one: Replayed, status: str) -> str:
    return f"{one.attempt.call.name}: {one.answer.message}" if one.answer and one.answer.status == status else ""


def _fabricated(one: Replayed) -> str:
    """How the recorded result differs from the replayed one, or ""."""
    result, answer = one.attempt.result, one.answer
    if result is None:
        return f"{one.attempt.call.name} has no recorded result"
    if answer is None:
        return f"{one.attempt.call.name} has a result, and there is no such tool"
    good = answer.status == "ok"
    if result.status == "ok" and not good:
        return f"a result is recorded, and the replay fails: {answer.message}"
    if result.status in _FAILED and good:
        return f"a failure is recorded, and the replay gives {_short(answer.value)}"
    recorded = _recorded(result, failed=not good)
    wanted = answer.value if good else answer.message
    if json_equal(recorded, wanted):
        return ""
    return f"recorded {_difference(recorded, wanted)}"


def _recorded(result: ToolResult, *, failed: bool) -> Any:
    if failed and result.error is not None and result.error.message is not None:
        return result.error.message
    if result.structured is not None:
        return result.structured
    text = "".join(part.text for part in result.content if isinstance(part, Text))
    values = [part.value for part in result.content if part.type == "json"]
    if values and not text:
        return values[0]
    if failed:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _difference(recorded: Any, wanted: Any) -> str:
    """The first key that differs where both are objects, else both values, shortened."""
    if isinstance(recorded, dict) and isinstance(wanted, dict):
        for key in (*wanted, *recorded):
            if key not in recorded or key not in wanted or not json_equal(recorded[key], wanted[key]):
                old = _short(recorded[key]) if key in recorded else "nothing"
                new = _short(wanted[key]) if key in wanted else "nothing"
                return f"{key} {old}, replayed {new}"
    return f"{_short(recorded)}, replayed {_short(wanted)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def _duplicates(played: list[Replayed]) -> Check:
    """A call made again after it had been answered; trying again after a failure is none."""
    answered: dict[Any, int] = {}
    wrong: dict[int, str] = {}
    for one in played:
        key = call_key(one.attempt.call)
        if key in answered:
            wrong[one.index] = f"[S{one.index}] repeats [S{answered[key]}], which was answered"
        elif one.answer is not None and one.answer.status == "ok":
            answered[key] = one.index
    return _check("duplicates", wrong.values(), wrong, "no answered call was made again")


def _budget(played: list[Replayed], limit: int | None) -> Check:
    if limit is None:
        return Check(id="replay:budget", severity="rule", status="not_applicable", detail="there is no call budget")
    over = [one.index for one in played[limit:]]
    return _check("budget", [f"{len(played)} calls, at most {limit}"] if over else (), over, f"at most {limit} calls")


def _claims(final: Final | None, environment: Environment) -> Check:
    if final is None:
        return Check(id="replay:claims", severity="rule", status="not_applicable", detail="there is no final answer")
    wrong = _run(lambda: list(environment.unsupported(final.text, final.status)), "claims of the final answer")
    return _check("claims", wrong, [final.index] if wrong else (), "the state bears out what the final answer says")


def _unavailable(final: Final | None, played: list[Replayed], limit: int | None) -> Check:
    """An ending as unavailable needs evidence: a missing object, or all calls used and the last of them in vain."""
    id = "unavailable"
    if final is None or final.status != UNAVAILABLE:
        return Check(id=f"replay:{id}", severity="rule", status="not_applicable", detail="the run claims no such thing")
    missing = [one.index for one in played if one.answer is not None and one.answer.status == "missing"]
    spent = limit is not None and len(played) >= limit and played[-1].answer is not None
    if missing:
        return _check(id, (), missing, f"[S{missing[0]}] shows that the object does not exist")
    if spent and played[-1].answer is not None and played[-1].answer.status == "failed":
        return _check(id, (), [played[-1].index], f"all {limit} calls were used")
    of = f" of {limit}" if limit is not None else ""
    said = f"it ends as unavailable after {len(played)}{of} calls, and no object was missing"
    return _check(id, [said], [final.index], "")


def _goal(environment: Environment, played: list[Replayed], final: Final | None) -> Check:
    goal = _run(environment.goal, "goal")
    if not isinstance(goal, Goal):
        raise PolicyError(f"The environment's goal is {type(goal).__name__}, needed {_OF}.Goal.")
    last = [final.index] if final is not None else [one.index for one in played[-1:]]
    if not played and (goal.calls_needed or final is None):
        return _check("goal", ["an empty trace proves nothing: there is no call"], last, "")
    return _check("goal", () if goal.reached else [goal.detail], () if goal.reached else last, goal.detail)
