"""`import judge` and `judge --help` load none of the heavy libraries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("litellm", "anthropic", "openai", "sklearn", "scipy")

PROGRAMS = {
    "import judge": "import judge",
    "import judge.cli": "import judge.cli",
    "judge --help": """
import contextlib, io
from judge.cli.main import main
sys.argv = ["judge", "--help"]
shown = io.StringIO()
with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
    main()
assert "score" in shown.getvalue(), shown.getvalue()
""",
}


def heavy_after(program: str, path: Path) -> list[str]:
    """The heavy libraries that are loaded after `program` ran in a new process with `path` first on sys.path."""
    report = f"\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\nprint(judge.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", "import json, sys\n" + program + "\nimport judge" + report],
        capture_output=True,
        text=True,
        cwd=path,
        env={**os.environ, "PYTHONPATH": str(path)},
    )
    assert done.returncode == 0, done.stderr
    *_, loaded, file = done.stdout.strip().split("\n")
    assert Path(file).is_relative_to(path), f"measured {file}, not the copy in {path}"
    found: list[str] = json.loads(loaded)
    return found


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_heavy_is_loaded(program: str) -> None:
    assert heavy_after(program, ROOT) == []


@pytest.mark.parametrize(
    ("file", "program", "heavy"),
    [
        ("judge/__init__.py", "import judge", "scipy"),
        ("judge/cli/main.py", "judge --help", "openai"),
        ("judge/errors.py", "judge --help", "sklearn"),
    ],
)
def test_a_heavy_import_is_found(tmp_path: Path, file: str, program: str, heavy: str) -> None:
    shutil.copytree(ROOT / "judge", tmp_path / "judge", ignore=shutil.ignore_patterns("__pycache__"))
    broken = tmp_path / file
    text = broken.read_text(encoding="utf-8")
    mark = "from __future__ import annotations\n"
    assert mark in text
    broken.write_text(text.replace(mark, f"{mark}\nimport {heavy}\n", 1), encoding="utf-8")
    assert heavy in heavy_after(PROGRAMS[program], tmp_path)
