"""Runs the reference systems and prints four tables: refund desk, returns desk, docs search, expired refund window.

Everything is measured when it runs: `make reference`, or `python scripts/reference.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory

from docs_agent.run import by_scripts

import judge
from judge.calibration.pass_k import pass_hat_k
from judge.cli.output import table
from judge.engine.suite import ChosenSplit, SuiteRun, run_agents
from judge.engine.suite_file import load_suite
from judge.policy import check
from judge.policy.answer import check_answer
from judge.policy.replay import replay
from judge.policy.returns_desk import ReturnsDesk
from judge.types import Trajectory
from judge.types.policy import PolicyResult
from judge.types.suite import AnswerCheck, SuiteResult

HERE = Path(__file__).resolve().parent
POLICY = HERE / "policies" / "refund_desk.yaml"
SPLITS: tuple[ChosenSplit, ...] = ("dev", "holdout")
EXPECTED_ANSWER = AnswerCheck(number=288)


def run_suite(
    name: str, agent: str, *, split: ChosenSplit = "dev", attempts: int | None = None, max_usd: float | None = None
) -> tuple[SuiteResult, list[Trajectory]]:
    """The suite scripts/NAME/cases.yaml over the agent NAME.agents:AGENT, and the trajectories."""
    folder = HERE / name
    runs: list[Trajectory] = []
    suite = SuiteRun(load_suite(folder / "cases.yaml"), folder, split=split, attempts=attempts, max_usd=max_usd)
    with TemporaryDirectory(prefix="judge-reference-") as place:
        result = run_agents(suite, f"{name}.agents:{agent}", out=Path(place), keep=runs.append)
    return result, runs


def refund_desk() -> str:
    """Three runs with the same answer, told apart by the policy; then a batch under a ceiling."""
    runs = {run.id: run for run in judge.load(HERE.parent / "calibration_sets" / "refunds" / "trajectories.jsonl")}
    rows = []
    for kind in ("careful", "lucky", "unsafe"):
        run = runs[f"refund-{kind}"]
        answer = check_answer(run, EXPECTED_ANSWER).status
        rows.append([kind, answer, *_policy(check(run, POLICY))])
    lines = [table(rows, header=["run", "answer check", "policy", "failed"]), ""]
    for ceiling in (None, 0.01):
        result, made = run_suite("refund_desk", "desk", max_usd=ceiling)
        by_group = {run.group: run for run in made}
        ended = []
        for case in result.cases:
            run = by_group.get(case.id)
            ended.append(f"{_finish(run)} {_policy(check(run, POLICY))[0]}" if run is not None else "not started")
        spent = result.summary.spent_usd
        lines.append(
            f"batch of three, ceiling {0.05 if ceiling is None else ceiling:.2f} USD: {', '.join(ended)}; "
            f"spent {'unknown' if spent is None else f'{spent:.4f}'} USD"
        )
    return "\n".join(lines)


def _policy(result: PolicyResult) -> tuple[str, str]:
    """ "6/7" and what failed."""
    kept = sum(each.status == "passed" for each in result.checks)
    failed = [each.id for each in result.checks if each.status == "failed"]
    return f"{kept}/{len(result.checks)}", ", ".join(failed) or "-"


def _finish(run: Trajectory) -> str:
    finals = [step for step in run.steps if step.kind == "final"]
    return (finals[-1].status or "unsaid") if finals else "no answer"


def returns_desk() -> str:
    """Two agents on cases to work on and cases held out; each run is replayed in the desk as well."""
    states = json.loads((HERE / "returns_desk" / "fixture" / "states.json").read_text(encoding="utf-8"))["groups"]
    rows = []
    for agent in ("baseline", "candidate"):
        row = [agent]
        for split in SPLITS:
            result, runs = run_suite("returns_desk", agent, split=split)
            summary = result.summary
            row.append(f"{summary.attempts_passed}/{summary.attempts}")
            sound = sum(replay(run, ReturnsDesk(states[run.group or ""])).passed for run in runs)
            row.append(f"{sound}/{len(runs)}")
        rows.append(row)
    return table(rows, header=["agent", "dev", "dev replayed", "holdout", "holdout replayed"])


def docs_search() -> str:
    """The metrics of three runs that the documentation agent recorded itself."""
    names = ("num_tool_calls", "num_redundant_calls", "has_redundant_call", "answered_without_tool")
    rows = []
    for run in asyncio.run(by_scripts()):
        measured = judge.measure(run, only=list(names))
        rows.append([run.id.removeprefix("docs-agent-"), *(_word(measured[name].value) for name in names)])
    return table(rows, header=["run", *(name.replace("_", " ") for name in names)])


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)


def expired_refund() -> str:
    """Four attempts at each case; then what a chance of 0.8 an attempt means for four in a row."""
    rows = []
    for agent, attempts in (("careful", 4), ("gullible", 4), ("wavering", 5)):
        result, _ = run_suite("expired_refund", agent, attempts=attempts)
        rows.append([agent, *_counts(result)])
    lines = [table(rows, header=["agent", "expired", "pass^4", "hostile note", "pass^4"])]
    # the estimator's mean over all outcomes of four attempts is the chance itself: it is unbiased
    chance = 0.8
    mean = sum(comb(4, k) * chance**k * (1 - chance) ** (4 - k) * pass_hat_k(4, k, 4) for k in range(5))
    lines.append(f"\nchance {chance} an attempt: pass^4 = {mean:.4f}")
    return "\n".join(lines)


def _counts(result: SuiteResult) -> Sequence[str]:
    out = []
    for case in result.cases:
        passed = sum(attempt.passed for attempt in case.attempts)
        out += [f"{passed}/{len(case.attempts)}", f"{case.pass_hat_k['4']:.2f}"]
    return out


TABLES = {
    "Refund desk": refund_desk,
    "Returns desk": returns_desk,
    "Docs search": docs_search,
    "Expired refund window": expired_refund,
}


def main() -> None:
    for title, made in TABLES.items():
        print(f"== {title}\n{made()}\n")


if __name__ == "__main__":
    main()
