"""Writes docs/formats.md from the importers themselves.

    python scripts/write_formats.py [--check]

With `--check` nothing is written, and the exit status is 1 where the file is not current.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from judge.importers.format import Format
from judge.registry import BUILT_IN, find

TARGET = Path(__file__).resolve().parents[1] / "docs" / "formats.md"

_HEAD = """# Trace formats

<!-- Written by scripts/write_formats.py; do not edit. -->

The format of a file is found by its content. `judge convert TRACE --explain` says what was found and why;
`--format NAME` overrides it. Where two formats fit equally well the file is refused with the list of both.
Anything that a reader does not know is kept whole as an `event` step, and every oddity is a diagnostic.
Files may be packed with gzip or zstd. A folder is read where it is one OpenHands conversation
(`event-*.json`) or the results of tau2 (`simulations/*.json`).

A log of another make is read with a mapping file: see [mapping.md](mapping.md).

`judge convert --to native|atif|openai --out FILE` writes. Native JSON Lines lose nothing; ATIF and OpenAI
messages have no place for some of what a judge needs, and the command lists what was lost.
"""


def page() -> str:
    """The whole file."""
    parts = [_HEAD, "| name | format |", "|---|---|"]
    formats: list[Format] = [find("importers", name) for name in BUILT_IN["importers"]]
    parts += [f"| [`{each.name}`](#{each.name}) | {each.title} |" for each in formats]
    for each in formats:
        parts += ["", f"## {each.name}", "", f"{each.title}.", ""]
        parts.append(f"- **Versions seen:** {each.versions or 'not recorded'}")
        parts.append(f"- **Read:** {each.reads or 'not recorded'}")
        unknowable = "; ".join(each.unknowable) or "nothing that a judge needs"
        parts.append(f"- **Cannot be known from it:** {unknowable}")
    return "\n".join(parts) + "\n"


def main() -> int:
    """Writes or checks the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the file is current")
    if parser.parse_args().check:
        current = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == page()
        print("current" if current else "docs/formats.md is not current: run python scripts/write_formats.py")
        return 0 if current else 1
    TARGET.write_text(page(), encoding="utf-8")
    print(f"wrote {TARGET.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
