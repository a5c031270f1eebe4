"""The checks of one attempt: what was left behind, what was answered, and how the path went."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from judge.metrics import measure
from judge.policy.answer import check_answer
from judge.policy.outcome import check_outcome, check_reward
from judge.types.json_equality import call_key
from judge.types.metric import Check
from judge.types.suite import Case, Invariant, TrajectoryLimits
from judge.types.trajectory import ToolCall, ToolResult, Trajectory

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from judge.policy import Policy

FAILED_RESULTS = frozenset({"error", "denied", "cancelled", "timeout", "missing"})
"""Statuses that say the call did nothing. "unknown", of a format without a flag, does not say so."""


def outcome_checks(case: Case, trajectory: Trajectory, left: Path | None, *, allow_commands: bool) -> list[Check]:
    """What is left behind and what was answered; empty where the case looks at neither."""
    if case.outcome == "reward":
        found = [check_reward(trajectory)]
    else:
        found = list(check_outcome(case.outcome, left, allow_commands=allow_commands))
    if case.answer is not None:
        found.append(check_answer(trajectory, case.answer))
    return found


def path_checks(
    case: Case, trajectory: Trajectory, *, mutating: tuple[str, ...] = (), policy: Policy | None = None
) -> list[Check]:
    """Limits, invariants and policy of the case, each with the steps that broke it; ids begin with "path:"."""
    path = _Path(trajectory)
    found = [*_limits(case.trajectory, path)]
    found += [_invariant(name, path, mutating) for name in case.invariants]
    if policy is not None:
        from judge.policy import check

        found += [each.model_copy(update={"id": f"policy:{each.id}"}) for each in check(trajectory, policy)]
    return [each.model_copy(update={"id": f"path:{each.id}"}) for each in found]


class _Path:
    """The calls of a run with their last results; history copied from another run is not this run's doing."""

    def __init__(self, trajectory: Trajectory) -> None:
        own = [step for step in trajectory.steps if step.provenance != "copied_context"]
        self.trajectory = trajectory
        self.calls = [step for step in own if isinstance(step, ToolCall)]
        self.results = {s.call_index: s for s in own if isinstance(s, ToolResult) and s.call_index is not None}

    def worked(self, call: ToolCall) -> bool:
        result = self.results.get(call.index)
        return result is not None and result.status not in FAILED_RESULTS

    def failed(self, call: ToolCall) -> bool:
        result = self.results.get(call.index)
        return result is not None and result.status in FAILED_RESULTS


def finish_status(trajectory: Trajectory) -> str | None:
    """The status of the last final step, else why and how the run stopped by its own record; None where unsaid."""
    for step in reversed(trajectory.steps):
        if step.kind == "final" and step.status is not None:
            return step.status
    outcome = trajectory.outcome
    if outcome is None:
        return None
    return outcome.stop_reason or (None if outcome.status == "unknown" else outcome.status)


def _check(id: str, ok: bool, detail: str, steps: tuple[int, ...] = ()) -> Check:
    return Check(id=id, severity="rule", status="passed" if ok else "failed", detail=detail, steps=steps)


def _limits(limits: TrajectoryLimits, path: _Path) -> Iterator[Check]:
    for tool in limits.must_call:
        steps = tuple(call.index for call in path.calls if call.name == tool and path.worked(call))
        tried = tuple(call.index for call in path.calls if call.name == tool)
        detail = (
            f"{tool} was called" if steps else f"{tool} was {'never called with success' if tried else 'not called'}"
        )
        yield _check(f"must_call:{tool}", bool(steps), detail, steps or tried)
    for tool in limits.must_not_call:
        steps = tuple(call.index for call in path.calls if call.name == tool)
        detail = f"{tool} was called {len(steps)} times" if steps else f"{tool} was not called"
        yield _check(f"must_not_call:{tool}", not steps, detail, steps)
    if limits.max_steps is not None:
        count = int(measure(path.trajectory, only=["num_steps"])["num_steps"].value or 0)
        over = () if count <= limits.max_steps else (path.trajectory.steps[-1].index,)
        yield _check("max_steps", not over, f"{count} steps, at most {limits.max_steps}", over)
    if limits.max_usd is not None:
        cost = measure(path.trajectory, only=["cost_usd"])["cost_usd"]
        if not isinstance(cost.value, int | float):
            yield _check("max_usd", False, f"the cost is unknown ({cost.reason}), so the limit cannot be shown to hold")
        else:
            yield _check("max_usd", cost.value <= limits.max_usd, f"${cost.value:g}, at most ${limits.max_usd:g}")
    if limits.finish_status is not None:
        status = finish_status(path.trajectory)
        steps = tuple(step.index for step in path.trajectory.steps if step.kind == "final")
        detail = f"finished as {status or 'unsaid'}, wanted {limits.finish_status}"
        yield _check("finish_status", status == limits.finish_status, detail, steps)


def _invariant(name: Invariant, path: _Path, mutating: tuple[str, ...]) -> Check:
    if name == "no_repeated_calls":
        return _no_repeats(path)
    if name == "no_mutation_before_read":
        return _read_first(path, mutating)
    there = bool((path.trajectory.final or "").strip())
    return _check(name, there, "there is a final answer" if there else "there is no final answer")


def _no_repeats(path: _Path) -> Check:
    """No call that had been answered is made again letter for letter; trying again after a failure is no repeat."""
    answered: dict[tuple[str, Hashable], int] = {}
    again: list[int] = []
    pairs: list[str] = []
    for call in path.calls:
        key = call_key(call)
        if key in answered:
            again.append(call.index)
            pairs.append(f"step {call.index} repeats step {answered[key]}")
        elif not path.failed(call):
            answered[key] = call.index
    return _check("no_repeated_calls", not again, "; ".join(pairs) or "no call was repeated", tuple(again))


def _read_first(path: _Path, mutating: tuple[str, ...]) -> Check:
    """A mutating call comes only after a successful call of a tool that does not mutate; a blocked try counts."""
    id = "no_mutation_before_read"
    for call in path.calls:
        if call.name in mutating:
            return _check(id, False, f"{call.name} was called before anything was read", (call.index,))
        if path.worked(call):
            return _check(id, True, f"{call.name} was read first", (call.index,))
    return Check(id=id, severity="rule", status="not_applicable", detail="no tool was called with success")


def policies(paths: Mapping[str, Path]) -> dict[str, Policy]:
    """The policy files of a suite, loaded once."""
    if not paths:
        return {}
    from judge.policy import load_policy

    return {name: load_policy(path) for name, path in paths.items()}
