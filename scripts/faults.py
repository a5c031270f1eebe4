"""The table of faults that a batch survives, each made to happen here and counted.

    python scripts/faults.py

Exit status 1 when one was not survived.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"


def main() -> int:
    sys.path[:0] = [str(TESTS.parent), str(TESTS), str(TESTS / "batch")]
    from faults import scenarios

    failed = 0
    for scenario in scenarios():
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
            begun = time.monotonic()
            fault = scenario(Path(work))
            seconds = time.monotonic() - begun
        failed += not fault.held
        print(f"{'held' if fault.held else 'FAILED':6}  {fault.what:45}  {fault.counts}  ({seconds:.1f} s)", flush=True)
    print(f"\n{failed} faults not survived" if failed else "\nevery fault survived")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
