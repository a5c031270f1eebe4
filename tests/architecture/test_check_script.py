"""The check script and the Makefile: what they print, and what decides."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MISSING = [tool for tool in ("bash", "make") if shutil.which(tool) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {', '.join(MISSING)}")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def check(tmp_path: Path, fake_make: str) -> subprocess.CompletedProcess[str]:
    """Runs a copy of the check script in which `make` is `fake_make`."""
    shutil.copytree(ROOT / ".ci", tmp_path / "project" / ".ci")
    script(tmp_path / "bin" / "make", f"#!/bin/sh\n{fake_make}\n")
    return subprocess.run(
        ["bash", str(tmp_path / "project" / ".ci" / "run")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "CI": "true", "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"},
    )


@pytest.mark.parametrize(
    ("printed", "code"),
    [
        ("3 passed in 0.10s", 0),
        ("1 failed, 2 passed, 4 skipped in 61.20s (0:01:01)", 2),
        ("=========== 12 passed, 1 warning in 3.00s ===========", 0),
        ("1 error in 0.30s", 2),
    ],
)
def test_the_closing_line_comes_last_and_make_decides(tmp_path: Path, printed: str, code: int) -> None:
    done = check(tmp_path, f"test \"$1\" = test || exit 9\necho '{printed}'\necho 'make: something else'\nexit {code}")
    assert done.stdout.rstrip("\n").split("\n")[-1] == printed
    assert done.returncode == code


def test_a_run_that_never_reached_pytest_fails(tmp_path: Path) -> None:
    done = check(tmp_path, "echo 'no network'\nexit 0")
    assert done.returncode == 1
    assert "ended before pytest did" in done.stderr


def test_an_old_python_is_refused_with_a_sentence(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    old = script(
        tmp_path / "old-python", '#!/bin/sh\n[ "$1" = --version ] && { echo "Python 3.9.2"; exit 0; }\nexit 1\n'
    )
    done = subprocess.run(["make", "test", f"PYTHON={old}"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "trajudge needs Python 3.11 or newer" in done.stderr
    assert "Python 3.9.2" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_what_is_installed_already_is_not_installed_again(tmp_path: Path) -> None:
    """With a stand-in for Python that writes down what it is asked for, the second run asks for no install."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    log = tmp_path / "log"
    fake = f'#!/bin/sh\necho "$@" >> {log}\n'
    python = script(
        tmp_path / "python3",
        fake + f'[ "$2" = venv ] && {{ mkdir -p "$3/bin"; cp {tmp_path}/python3 "$3/bin/python"; '
        f'cp {tmp_path}/python3 "$3/bin/judge"; }}\nexit 0\n',
    )
    command = ["make", "test", f"PYTHON={python}"]
    first = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    assert "install --require-hashes -r requirements/dev.txt" in log.read_text(encoding="utf-8")
    assert "-m pytest" in log.read_text(encoding="utf-8")
    log.unlink()
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    again = log.read_text(encoding="utf-8")
    assert "install" not in again
    assert "-m pytest" in again
