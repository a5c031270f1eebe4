"""Many short traces against a policy of twelve rules: time per trace, growth with traces and with steps, memory.

    python bench/policy.py [--traces 100000] [--quick]

Each round is a process of its own: it checks traces with `judge check --json` in process, reading a JSON Lines file,
and reports CPU seconds and its highest resident size. Growth is a ratio within one run: ten times the traces (or the
steps) in at most 1.25 times ten times the time. Ends with exit status 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from judge.policy import Checker, parse_policy
from judge.types import Trajectory

POLICY = """\
id: twelve-rules
checks:
  - id: looked-first
    before: {first: lookup, then: pay}
  - id: must-look
    must_call: lookup
  - id: never-delete
    must_not_call: ["delete_*", drop]
  - id: answered
    must_end_with: final
  - id: approved
    approval: {tools: pay, by: "human:*"}
  - id: currency
    allowed: {tools: pay, argument: currency, values: [USD, EUR]}
  - id: total
    sum: {tools: pay, argument: amount, at_most: 1000000000}
  - id: from-lookup
    from_result: {tools: pay, argument: to, result_of: lookup, field: account}
  - id: well-formed
    arguments:
      tools: pay
      schema: {type: object, required: [to, amount], properties: {amount: {type: number, minimum: 0}}}
  - id: no-secrets
    no_credentials: true
  - id: no-repeats
    severity: preference
    no_repeats: {at_most: 3}
  - id: few-calls
    severity: preference
    at_most: {tool_calls: 100000}
"""
RULES = 12
SLACK = 1.25
"""How much worse than linear a growth by ten may measure."""
FLAT_MIB = 16
"""How much more memory ten times the traces may take."""

_CHILD = """
import resource, sys, time
from judge.cli.main import run
code = run(["check", sys.argv[1], "--policy", sys.argv[2], "--json", "--limit", "50"])
start = time.process_time()
code = run(["check", sys.argv[1], "--policy", sys.argv[2], "--json"])
spent = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(code, spent, peak if sys.platform == "darwin" else peak * 1024, file=sys.stderr)
"""


def trace(number: int, payments: int) -> dict[str, Any]:
    """A run of one lookup and some approved payments: 4 steps each, and 4 around them."""
    account = f"acc-{number}"
    steps: list[dict[str, Any]] = [
        {
            "kind": "message",
            "role": "user",
            "content": [{"type": "text", "text": "Please pay what is due."}],
        },
        {"kind": "tool_call", "call_id": "c0", "name": "lookup", "arguments": {"customer": number}},
        {
            "kind": "tool_result",
            "call_id": "c0",
            "call_index": 2,
            "pairing": "id",
            "status": "ok",
            "structured": {"account": account, "note": "pays by the end of the month"},
        },
    ]
    for k in range(payments):
        index = len(steps) + 1
        own = {"call_id": f"p{k}", "call_index": index}
        arguments = {"to": account, "amount": 1.25 + k, "currency": "USD"}
        steps += [
            {"kind": "tool_call", "call_id": f"p{k}", "name": "pay", "arguments": arguments},
            {"kind": "approval", **own, "state": "requested", "tool": "pay"},
            {"kind": "approval", **own, "state": "approved", "tool": "pay", "approver": "human:ada"},
            {
                "kind": "tool_result",
                **own,
                "pairing": "id",
                "status": "ok",
                "structured": {"paid": True, "ref": f"r{k}"},
            },
        ]
    steps.append({"kind": "final", "text": "All payments were made.", "status": "done"})
    numbered = [{"index": index, **step} for index, step in enumerate(steps, 1)]
    source = {"format": "native"}
    return {"schema": "judge.trajectory/1", "id": f"run-{number}", "source": source, "steps": numbered, "final": "All."}


def checked(folder: Path, count: int) -> tuple[float, int]:
    """(CPU seconds, highest resident bytes) of checking `count` traces of 12 steps from a file."""
    traces, policy = folder / f"{count}.jsonl", folder / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    with traces.open("w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps(trace(number, 2)) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(traces), str(policy)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    traces.unlink()
    code, spent, peak = done.stderr.split()[-3:]
    if code != "0":
        raise SystemExit(f"judge check ended with {code}:\n{done.stderr}")
    return float(spent), int(peak)


def seconds_of_check(payments: int) -> float:
    """CPU seconds of the rules alone on one trace, best of several."""
    run = Trajectory.from_json(trace(1, payments))
    checker = Checker(parse_policy(POLICY))
    best = float("inf")
    spent = 0.0
    while spent < 0.5:
        start = time.process_time()
        result = checker.check(run)
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
    failed = [check.id for check in result.checks if check.status != "passed"]
    if len(result.checks) != RULES or failed:
        raise SystemExit(f"{RULES} checks should pass, and these did not: {failed}")
    return best


def main() -> int:
    """Prints every figure; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000, help="traces of the large round")
    parser.add_argument("--quick", action="store_true", help="5,000 traces")
    given = parser.parse_args()
    large = 5_000 if given.quick else given.traces
    with tempfile.TemporaryDirectory() as name:
        small_s, small_bytes = checked(Path(name), large // 10)
        large_s, large_bytes = checked(Path(name), large)
    missed = 0

    def row(what: str, found: str, target: str, met: bool) -> None:
        nonlocal missed
        missed += not met
        print(f"{what:<44} {found:>14}   {target:<22} {'yes' if met else 'NO'}")

    per_trace = large_s / large
    print(f"{RULES} rules, traces of 12 steps, reading and writing included")
    print(f"{large:,} traces: {large_s:.1f} s of CPU, {per_trace * 1e6:.0f} µs per trace")
    growth = large_s / small_s / 10
    row(f"traces {large // 10:,} → {large:,}, time over linear", f"{growth:.2f}", f"at most {SLACK}", growth <= SLACK)
    more = (large_bytes - small_bytes) / 2**20
    peak = f"{large_bytes / 2**20:.0f} MiB, {more:+.1f}"
    row("highest memory, and more than with a tenth", peak, f"at most {FLAT_MIB} MiB more", more <= FLAT_MIB)
    for few in (25, 250):
        growth = seconds_of_check(few * 10) / seconds_of_check(few) / 10
        what = f"steps {few * 4:,} → {few * 40:,}, rules alone, over linear"
        row(what, f"{growth:.2f}", f"at most {SLACK}", growth <= SLACK)
    print(f"rules alone on a trace of 12 steps: {seconds_of_check(2) * 1e6:.0f} µs")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
