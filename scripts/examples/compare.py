"""Compare judges on the same labelled runs: who is right more often, and is the difference more than chance?

python scripts/examples/compare.py refunds rules/process fake/always-4
"""

from __future__ import annotations

import sys

from judge.config import load_settings
from judge.engine.comparing import compare_set


def main(label_set: str, *judges: str) -> None:
    """Prints a line for each judge, and what can be concluded."""
    found = compare_set(label_set, judges, settings=load_settings()).comparison
    for row in found.judges:
        right = row.right
        told = right.reason if right.value is None else f"{right.value:.2f} of full credit on {right.n} runs"
        print(f"{row.judge}: {told}; no score on {sum(row.failures.values())}")
    for sentence in found.decision.words:
        print(sentence)


if __name__ == "__main__":
    main(*sys.argv[1:])
