"""Prints, for every file of a tree of traces, what was imported, beside a count on the raw JSON.

    python scripts/format_counts.py FOLDER

The count on the raw JSON is that of tests/importers/raw_counts.py; "-" where no rule is written for a file.
The exit status is 1 where the two differ. A file that is refused is shown with the reason.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from judge.errors import JudgeError
from judge.importers import load

ROOT = Path(__file__).resolve().parents[1]
NOTES = frozenset({".md"})


def main(folder: Path) -> int:
    """Prints the table."""
    raw = _raw_counts()
    width = max((len(str(path.relative_to(folder))) for path in files(folder)), default=10)
    print(f"{'file':{width}}  {'format':15} runs steps calls (raw) results (raw) approvals errors")
    wrong = 0
    for path in files(folder):
        name = str(path.relative_to(folder))
        try:
            runs = list(load(path))
        except JudgeError as error:
            print(f"{name:{width}}  refused: {error.message.replace(str(path), path.name)}")
            continue
        kinds = Counter(step.kind for run in runs for step in run.steps)
        calls, results = kinds["tool_call"], kinds["tool_result"]
        expected = raw.counted(path)
        shown = ("-", "-") if expected is None else (str(expected.calls), str(expected.results))
        differs = expected is not None and (calls, results) != tuple(expected)
        wrong += differs
        print(
            f"{name:{width}}  {runs[0].source.format:15} {len(runs):4} {sum(kinds.values()):5} {calls:5} {shown[0]:>5} "
            f"{results:7} {shown[1]:>5} {kinds['approval']:9} {kinds['error']:6}{'   DIFFERS' if differs else ''}"
        )
    return 1 if wrong else 0


def files(folder: Path) -> list[Path]:
    """Traces in the folders of a tree: files, and folders that are one run."""
    found = [path for path in sorted(folder.glob("*/*")) if path.suffix not in NOTES]
    return [path for path in found if path.is_file() or any(path.glob("event-*.json"))]


def _raw_counts() -> Any:
    spec = importlib.util.spec_from_file_location("raw_counts", ROOT / "tests" / "importers" / "raw_counts.py")
    if spec is None or spec.loader is None:
        raise SystemExit("tests/importers/raw_counts.py is not here: run this in a checkout.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python scripts/format_counts.py FOLDER")
    sys.exit(main(Path(sys.argv[1])))
