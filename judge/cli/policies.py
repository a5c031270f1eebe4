"""`judge policies`: lint and explain policy files."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, say

app = typer.Typer(help="Lint and explain policy files.", no_args_is_help=True)

Policies = Annotated[list[str], typer.Argument(help="Policy files.", metavar="POLICY...")]


@app.command("lint")
def lint(policies: Policies, as_json: options.AsJson = False) -> None:
    """Find what is wrong in policy files, with the line. Exit 2 when there is an error."""
    from judge.policy import lint_policy
    from judge.report.numbers import plural

    results = [(path, lint_policy(path)) for path in policies]
    errors = sum(finding.severity == "error" for _, found in results for finding in found)
    if as_json:
        emit({"results": [{"policy": path, "findings": [f.to_json() for f in found]} for path, found in results]})
    else:
        for path, found in results:
            for finding in found:
                say(f"{path}:{finding.line}: {finding.severity}: {finding.code}: {finding.message}")
        count = sum(len(found) for _, found in results)
        say(f"{plural(len(results), 'policy', 'policies')}, {plural(count, 'finding')}, errors among them: {errors}.")
    if errors:
        raise typer.Exit(2)


@app.command("explain")
def explain(
    policy: Annotated[str, typer.Argument(help="Policy file.", metavar="POLICY")], as_json: options.AsJson = False
) -> None:
    """Say in plain sentences what each check of a policy demands."""
    from judge.policy import explain as sentences
    from judge.policy import load_policy

    loaded = load_policy(policy)
    demands = sentences(loaded)
    if as_json:
        checks = [{"id": rule.id, "severity": rule.severity, "demands": demands[rule.id]} for rule in loaded.checks]
        emit({"policy": loaded.id, "unknown_status": loaded.unknown_status, "checks": checks})
        return
    say(f"{loaded.id}: {loaded.title}" if loaded.title else loaded.id)
    say(f"A result without a status counts as {loaded.unknown_status}.")
    for rule in loaded.checks:
        say(f"  {rule.severity.ljust(10)}  {rule.id}: {demands[rule.id]}")
