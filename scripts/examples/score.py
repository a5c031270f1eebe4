"""Score the runs of a file from a script, and say of each whether its score may be relied on.

    python scripts/examples/score.py runs.jsonl [JUDGE]

Without a judge it is `rules/process`, which asks no model. A file of any known format will do.
"""

from __future__ import annotations

import sys

import judge


def main(traces: str, name: str = "rules/process") -> None:
    """Prints a line for each run."""
    for verdict in judge.score_many(traces, rubric="process", judge=name):
        if verdict.score is None:  # a judgement that failed is a status with a cause, and never a number
            print(verdict.trajectory_id, "has no score:", verdict.status, verdict.reason)
        else:
            print(verdict.trajectory_id, f"{verdict.score:g}", verdict.trust.state, verdict.reason)


if __name__ == "__main__":
    main(*sys.argv[1:3])
