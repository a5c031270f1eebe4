"""Writes a suite over recorded tau-bench runs: one case a task, right where the benchmark's reward is 1.

python scripts/tau_suite.py gpt-4o-airline.json --out tau.yaml
judge run tau.yaml --traces gpt-4o-airline.json --min-pass 0
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import judge


def suite_text(path: Path) -> str:
    """The suite file for the runs in `path`: as many attempts as most tasks have."""
    tasks = Counter(run.group or run.id for run in judge.load(path))
    attempts = Counter(tasks.values()).most_common(1)[0][0]
    lines = [f"suite: {path.stem}", f"attempts: {attempts}", "cases:"]
    lines += [f'  - {{id: "{task}", outcome: reward}}' for task in tasks]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", type=Path, help="File of tau-bench runs.")
    parser.add_argument("--out", type=Path, required=True, help="Suite file to write.")
    given = parser.parse_args()
    given.out.write_text(suite_text(given.runs), encoding="utf-8", newline="\n")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
