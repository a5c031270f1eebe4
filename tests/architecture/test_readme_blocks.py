"""Every code block of the README and the documentation runs as it stands.

A block marked ``no-run`` needs what a test must not use (make, a key); there are few, and each must say why by its
content. A line of a Python block that ends in ``print(…)  # text`` must print that text.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^\s*print\(.*\)  # (?P<text>.+)$", re.MULTILINE)
COMMAND = re.compile(r"`judge ((?:[a-z]+)(?: [a-z]+)?)")
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
RUNNABLE = {"bash", "python"}
NEEDS = ("make ", "_API_KEY")
"""What excuses a block from being run: it sets up the project itself, or it needs somebody's key."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the words after it, its text and the line where it begins."""

    language: str
    options: tuple[str, ...]
    text: str
    line: int


def blocks(document: str) -> list[Block]:
    out = []
    for match in FENCE.finditer(document):
        language, *options = match["info"].split() or [""]
        out.append(Block(language, tuple(options), match["body"], document.count("\n", 0, match.start()) + 1))
    return out


def run_blocks(document: str, folder: Path) -> int:
    """Runs the blocks in order in `folder`; AssertionError with the block's line where one fails. Returns how many."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    environment["PYTHONPATH"] = str(ROOT)
    count = 0
    for block in blocks(document):
        if block.language not in RUNNABLE or "no-run" in block.options:
            continue
        if block.language == "bash":
            command = ["bash", "-euo", "pipefail", "-c", block.text]
        else:
            command = [sys.executable, "-c", block.text]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600
        )
        where = f"the {block.language} block at line {block.line}"
        assert done.returncode == 0, f"{where} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        for shown in SHOWN.finditer(block.text) if block.language == "python" else ():
            assert shown["text"] in done.stdout.split("\n"), f"{where} did not print {shown['text']!r}:\n{done.stdout}"
        count += 1
    return count


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_block_runs(document: Path, tmp_path: Path) -> None:
    text = document.read_text(encoding="utf-8")
    expected = [b for b in blocks(text) if b.language in RUNNABLE and "no-run" not in b.options]
    assert run_blocks(text, tmp_path) == len(expected)


def test_the_readme_and_the_tutorial_have_blocks_that_run() -> None:
    for name in ("README.md", "docs/tutorial.md"):
        found = blocks((ROOT / name).read_text(encoding="utf-8"))
        running = [block.language for block in found if "no-run" not in block.options]
        assert {"bash", "python"} <= set(running), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_block_that_does_not_run_has_a_reason(document: Path) -> None:
    for block in blocks(document.read_text(encoding="utf-8")):
        assert not block.options or block.options == ("no-run",), f"line {block.line}: unknown {block.options}"
        if block.options:
            assert any(need in block.text for need in NEEDS), f"line {block.line}: nothing here needs make or a key"


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```bash\nfalse\ntrue\n```\n", "the bash block at line 3 ended with 1"),
        ("```bash\njudge no-such-command\n```\n", "ended with 2"),
        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```python\nprint(1 + 1)  # 3\n```\n", "did not print '3'"),
    ],
)
def test_a_block_that_fails_is_found(block: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=re.escape(message)):
        run_blocks("# A document\n\n" + block, tmp_path)


def test_blocks_share_a_folder_and_keep_their_order(tmp_path: Path) -> None:
    document = (
        "```bash\necho 7 > n\n```\n\n```text\nnot code\n```\n\n```python\nprint(open('n').read().strip())  # 7\n```\n"
    )
    assert run_blocks(document, tmp_path) == 2


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_that_is_named_exists(document: Path) -> None:
    import typer

    from judge.cli.main import app

    root = typer.main.get_command(app)
    for named in COMMAND.findall(document.read_text(encoding="utf-8")):
        first, *rest = named.split()
        known = getattr(root, "commands", {})
        assert first in known, f"`judge {named}` is named and does not exist"
        inner = getattr(known[first], "commands", None)
        if inner and rest:
            assert rest[0] in inner, f"`judge {named}` is named and does not exist"


LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    targets = [match["target"] for match in LINK.finditer(document.read_text(encoding="utf-8"))]
    inside = [target for target in targets if "://" not in target]
    assert [target for target in inside if not (document.parent / target).exists()] == []
