"""Writes trajectories.jsonl, labels.jsonl and the tables of card.md of the shipped calibration sets.

    python scripts/build_calibration_sets.py [--out DIR]

Run again, it gives the same bytes. What is written by hand stays: set.yaml, and of each card.md all but the part
between the two marks, which counts the runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from set_builder import docs_search, refunds, returns
from set_builder.built import Built, Kind, labels

SETS: dict[str, tuple[Callable[[], Iterator[Built]], Mapping[str, Kind]]] = {
    "docs_search": (docs_search.runs, docs_search.KINDS),
    "refunds": (refunds.runs, refunds.KINDS),
    "returns": (returns.runs, returns.KINDS),
}
ROOT = Path(__file__).resolve().parents[1] / "calibration_sets"
OPEN, CLOSE = "<!-- counted -->\n", "<!-- end of counted -->\n"


def lines(rows: Sequence[dict[str, Any]]) -> str:
    """JSON Lines with a newline at the end of each."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def tables(built: Sequence[Built], kinds: Mapping[str, Kind]) -> str:
    """The part of a card that is counted: runs by kind and split, and totals."""
    by = Counter((run.kind, run.split) for run in built)
    text = [
        "| built as | `process` | `passed_path` | dev | test | what happens |",
        "|---|---|---|---|---|---|",
    ]
    for name, kind in kinds.items():
        mark = "pass" if kind.passed else "fail"
        text.append(f"| {name} | {kind.value} | {mark} | {by[name, 'dev']} | {by[name, 'test']} | {kind.says} |")
    text.append("")
    for split in ("dev", "test"):
        mine = [run for run in built if run.split == split]
        passed = sum(kinds[run.kind].passed for run in mine)
        groups = len({run.trajectory.group for run in mine})
        text.append(f"- {split}: {len(mine)} runs of {groups} tasks, {passed} passed and {len(mine) - passed} failed.")
    steps = [len(run.trajectory.steps) for run in built]
    agents = Counter(run.trajectory.agents[0].name for run in built)
    text.append(f"- Steps of a run: {min(steps)} to {max(steps)}.")
    text.append("- Runs by agent: " + ", ".join(f"{name} {agents[name]}" for name in sorted(agents)) + ".")
    return "\n".join(text) + "\n"


def card(old: str, counted: str) -> str:
    """`old` with the part between the marks replaced.

    Raises:
        ValueError: A mark is missing.
    """
    before, found, rest = old.partition(OPEN)
    _, closed, after = rest.partition(CLOSE)
    if not (found and closed):
        raise ValueError(f"card.md needs the marks {OPEN.strip()!r} and {CLOSE.strip()!r}")
    return before + OPEN + counted + CLOSE + after


def main(arguments: Sequence[str]) -> int:
    """Writes every set below --out; cards there must exist, or are taken from the shipped ones."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT, help="folder of the sets (default: the shipped ones)")
    out: Path = parser.parse_args(arguments).out
    for name, (runs, kinds) in SETS.items():
        built = list(runs())
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        files = {
            "trajectories.jsonl": lines([run.trajectory.to_json() for run in built]),
            "labels.jsonl": lines([label.to_json() for run in built for label in labels(run, kinds)]),
            "card.md": card((ROOT / name / "card.md").read_text(encoding="utf-8"), tables(built, kinds)),
        }
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8", newline="\n")
        print(f"{name}: {len(built)} runs, {2 * len(built)} labels")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
