"""Runs a suite: traces from files, or an agent that is run now, against the checks of each case."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from judge.engine.agent_runner import AgentRun, run_agent
from judge.engine.case_checks import PathChecker, outcome_checks
from judge.engine.judged_rate import Grader, judged_rates
from judge.engine.suite_summary import case_result, summarise
from judge.errors import UsageError
from judge.metrics import measure
from judge.policy import load_policy
from judge.types.metric import Check
from judge.types.suite import Attempt, AttemptStatus, Case, CaseResult, JudgedRate, Suite, SuiteResult
from judge.types.trajectory import ToolCall, Trajectory

ChosenSplit = Literal["dev", "holdout", "all"]
AGENT_FAILED = frozenset({"timeout", "crashed", "no_trajectory"})
UNKNOWN_COST = "the cost of an attempt is unknown, so the budget cannot be shown to hold"


@dataclass(frozen=True)
class SuiteRun:
    """What a suite is run with.

    Attributes:
        folder: Where the suite file stands; fixtures and policies are relative to it.
        attempts: Attempts of every case, over what the file says; None for the file's.
        max_usd: As the suite's `max_usd`, over it.
        grader: Judges attempts of cases with a rubric; None leaves them unjudged, with a warning.
    """

    suite: Suite
    folder: Path
    split: ChosenSplit = "dev"
    attempts: int | None = None
    max_usd: float | None = None
    allow_commands: bool = False
    grader: Grader | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def cases(self) -> tuple[Case, ...]:
        """The cases of the chosen split.

        Raises:
            UsageError: There is none.
        """
        chosen = tuple(case for case in self.suite.cases if self.split in (case.split, "all"))
        if not chosen:
            raise UsageError(f"The suite {self.suite.suite!r} has no case of the split {self.split!r}.")
        return chosen

    def wanted(self, case: Case) -> int:
        """Attempts of a case."""
        return self.attempts or case.attempts or self.suite.attempts

    def checkers(self) -> dict[str, PathChecker]:
        """What checks the path of each chosen case, by the case's id.

        Raises:
            PolicyError: A policy file does not load.
        """
        names = {case.policy or self.suite.policy for case in self.cases()}
        loaded = {name: load_policy(self.folder / name) for name in names if name is not None}
        return {case.id: PathChecker(case, loaded.get(case.policy or self.suite.policy or "")) for case in self.cases()}


def run_traces(
    run: SuiteRun, trajectories: Iterable[Trajectory], *, left: Callable[[str], Path | None] = lambda id: None
) -> SuiteResult:
    """The suite over recorded trajectories, matched to cases by `group`, else by `id`.

    Args:
        trajectories: Read once, one at a time; attempts are numbered in this order.
        left: Folder that the run of a trajectory id left behind, or None where none was kept.

    Raises:
        UsageError: The suite cannot be run as asked, or two trajectories share an id.
    """
    cases = {case.id: case for case in run.cases()}
    known = {case.id for case in run.suite.cases}
    checkers = run.checkers()
    attempts: dict[str, list[Attempt]] = defaultdict(list)
    seen: Counter[str] = Counter()
    unmatched = surplus = 0
    for trajectory in trajectories:
        seen[trajectory.id] += 1
        if seen[trajectory.id] > 1:
            raise UsageError(
                f"Two trajectories have the id {trajectory.id!r}; a trajectory would count twice.",
                hint="Give each attempt an id of its own and name the case in `group`.",
            )
        name = trajectory.group if trajectory.group in known else trajectory.id
        if name not in cases:
            unmatched += name not in known
            continue
        case = cases[name]
        if len(attempts[name]) >= run.wanted(case):
            surplus += 1
            continue
        attempts[name].append(
            attempt_of(
                run, case, trajectory, left(trajectory.id), number=len(attempts[name]) + 1, checker=checkers[name]
            )
        )
    warnings = [f"Traces left out, since they are more attempts than the cases want: {surplus}."] if surplus else []
    results = [
        case_result(case, attempts[id], wanted=run.wanted(case), rng=run.rng, reason="" if attempts[id] else "no trace")
        for id, case in cases.items()
    ]
    return _result(run, results, unmatched=unmatched, warnings=warnings)


def run_agents(
    run: SuiteRun,
    agent: str,
    *,
    out: Path,
    keep: Callable[[Trajectory], None] = lambda trajectory: None,
    done: Callable[[int], None] = lambda count: None,
) -> SuiteResult:
    """The suite over attempts that are made now, one after the other, each in a process and a folder of its own.

    No new case begins once `max_usd` is spent (or cannot be shown not to be); the cases left out are listed in
    `summary.not_run`.

    Args:
        agent: "module:function", see `judge.engine.agent_runner`.
        out: Folder for what the runs leave behind, as left/TRAJECTORY_ID.
        keep: Called with each trajectory as soon as it is there.
    """
    checkers = run.checkers()
    ceiling = run.max_usd if run.max_usd is not None else run.suite.max_usd
    spent, unknown, count = 0.0, False, 0
    results: list[CaseResult] = []
    left_out: list[str] = []
    for case in run.cases():
        if ceiling is not None and (unknown or spent >= ceiling):
            left_out.append(case.id)
            why = UNKNOWN_COST if unknown else f"the budget of ${ceiling:g} was spent"
            results.append(case_result(case, [], wanted=run.wanted(case), rng=run.rng, reason=why))
            continue
        attempts = []
        for number in range(1, run.wanted(case) + 1):
            made = run_agent(
                agent,
                case=case.id,
                task=case.task,
                attempt=number,
                fixture=run.folder / case.fixture if case.fixture else None,
                left=_free(out / "left" / f"{case.id}-{number}"),
                seconds=case.seconds or run.suite.seconds,
            )
            attempts.append(_attempt_made(run, case, made, number, checkers[case.id], keep))
            spent += attempts[-1].cost_usd or 0.0
            unknown = unknown or attempts[-1].cost_usd is None
            count += 1
            done(count)
        results.append(case_result(case, attempts, wanted=run.wanted(case), rng=run.rng))
    return _result(run, results, left_out=left_out)


def _free(path: Path) -> Path:
    if path.exists():
        raise UsageError(f"{path} is there already; a run would mix with an earlier one.", hint="Name a new --out.")
    return path


def _attempt_made(
    run: SuiteRun,
    case: Case,
    made: AgentRun,
    number: int,
    checker: PathChecker,
    keep: Callable[[Trajectory], None],
) -> Attempt:
    if made.trajectory is None:
        status: AttemptStatus = made.status if made.status != "done" else "no_trajectory"
        return Attempt(trajectory_id=None, number=number, status=status, seconds=made.seconds, reason=made.reason)
    keep(made.trajectory)
    attempt = attempt_of(run, case, made.trajectory, made.left, number=number, checker=checker)
    return attempt.model_copy(update={"seconds": made.seconds})


def attempt_of(
    run: SuiteRun,
    case: Case,
    trajectory: Trajectory,
    left: Path | None,
    *,
    number: int,
    checker: PathChecker,
) -> Attempt:
    """One attempt, checked. It passes when every rule of its outcome, its answer and its path holds.

    It is unmeasured where nothing fails and an outcome could not be looked at, or only a judge could tell.
    """
    commands = run.allow_commands and run.suite.allow_commands
    ends = outcome_checks(case, trajectory, left, allow_commands=commands)
    ways = checker.check(trajectory)
    measured = measure(trajectory, only=["num_steps", "cost_usd", "seconds"])
    status, reason = _status(ends, ways)
    return Attempt(
        trajectory_id=trajectory.id,
        number=number,
        status=status,
        outcome=_holds(ends),
        path=_holds(ways),
        checks=(*ends, *ways),
        steps=int(_number(measured["num_steps"].value) or 0),
        cost_usd=_number(measured["cost_usd"].value),
        seconds=_number(measured["seconds"].value),
        sequence=tuple(
            s.name for s in trajectory.steps if isinstance(s, ToolCall) and s.provenance != "copied_context"
        ),
        judged=run.grader.judge(case, trajectory) if run.grader else None,
        reason=reason,
    )


def _number(value: object) -> float | int | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _holds(checks: Sequence[Check]) -> bool | None:
    """Whether all rules hold; None where there is nothing to hold or an outcome was not measured."""
    rules = [check for check in checks if check.severity == "rule"]
    if any(check.status == "failed" for check in rules):
        return False
    if any(_not_measured(check) for check in rules) or not any(check.status == "passed" for check in rules):
        return None
    return True


def _not_measured(check: Check) -> bool:
    """What was asked of this attempt alone could not be seen; a rule of a policy may well not apply to it."""
    return check.status == "not_applicable" and (check.id.startswith("outcome:") or check.id == "path:max_usd")


def _status(ends: Sequence[Check], ways: Sequence[Check]) -> tuple[AttemptStatus, str]:
    rules = [check for check in (*ends, *ways) if check.severity == "rule"]
    if any(check.status == "failed" for check in rules):
        return "failed", ""
    unseen = [check.detail for check in rules if _not_measured(check)]
    if unseen:
        return "unmeasured", "; ".join(dict.fromkeys(unseen))
    if not any(check.status == "passed" for check in rules):
        return "unmeasured", "no rule applies to this attempt; only a judge or a person could tell"
    return "passed", ""


def _result(
    run: SuiteRun,
    results: Sequence[CaseResult],
    *,
    unmatched: int = 0,
    left_out: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> SuiteResult:
    rates: Sequence[JudgedRate] = ()
    more = list(warnings)
    if run.grader is not None:
        rates = judged_rates(results, run.grader, rng=run.rng)
    elif any(case.rubric for case in run.cases()):
        more.append("Cases name a rubric, and no judge was given: nothing was judged.")
    summary = summarise(
        results, rng=run.rng, judged=rates, unmatched=unmatched, budget_left_out=left_out, warnings=more
    )
    prints = {"suite": run.suite.fingerprint}
    return SuiteResult(
        suite=run.suite.suite, split=run.split, cases=tuple(results), summary=summary, fingerprints=prints
    )
