"""`judge check`: the rules of a policy on trajectories, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli import options
from judge.cli.output import ResultStream, note, say
from judge.errors import PolicyError

if TYPE_CHECKING:
    from judge.types import Trajectory


def check(
    traces: options.Traces,
    policy: Annotated[str, typer.Option("--policy", "-p", help="Policy file (docs/policies.md).")],
    explain: Annotated[bool, typer.Option("--explain", help="Say under each check what it demands.")] = False,
    format: options.Format = None,
    mapping: options.Mapping = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Check trajectories against a policy; no model is called. Exit 1 when a rule fails."""
    from judge.cli import reading
    from judge.policy import Checker, load_policy
    from judge.policy import explain as sentences
    from judge.report.checks import checks_summary, checks_text, count_failures

    checker = Checker(load_policy(policy))
    demands = sentences(checker.policy) if explain else None
    results = failed = 0
    by_check: dict[str, int] = {}
    seen: set[str] = set()
    with ResultStream(as_json, "results") as stream:
        for trajectory in reading.trajectories(traces, format=format, mapping=mapping, limit=limit):
            result = checker.check(trajectory)
            results += 1
            failed += not result.passed
            count_failures(result.checks, by_check)
            seen |= _tools(trajectory)
            if as_json:
                stream.add({**result.to_json(), "demands": demands} if demands else result.to_json())
            else:
                say(checks_text(result, demands))
    if not as_json:
        say(checks_summary(results, failed, by_check))
    _no_typos(policy, seen)
    if failed:
        raise typer.Exit(1)


def _tools(trajectory: Trajectory) -> set[str]:
    called = {step.name for step in trajectory.steps if step.kind == "tool_call"}
    return called | {tool.name for tool in trajectory.tools}


def _no_typos(policy: str, seen: set[str]) -> None:
    """Stops where a tool of the policy is in no trace and a near name is: a rule about nothing always passes."""
    from judge.policy import lint_policy

    findings = lint_policy(policy, seen)
    for finding in findings:
        if finding.severity == "error":
            raise PolicyError(f"{policy}:{finding.line}: {finding.message}", hint="Correct it, or list it in `tools`.")
    for finding in findings:
        note(f"{policy}:{finding.line}: {finding.severity}: {finding.message}")
