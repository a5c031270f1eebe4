"""The built wheel, installed elsewhere, carries the package, the rubrics and the calibration sets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("judge", "rubrics", "calibration_sets", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
DATA = ("rubrics", "calibration_sets")

LIST_DATA = """
import json, judge
from judge.prompt import load_rubric, rubric_names
from judge.registry import shipped

found = {}
for folder in ("rubrics", "calibration_sets"):
    home = shipped(folder)
    found[folder] = sorted(str(p.relative_to(home).as_posix()) for p in home.rglob("*") if p.is_file())
print(json.dumps({
    "package": judge.__file__,
    "homes": [str(shipped("rubrics")), str(shipped("calibration_sets"))],
    "files": found,
    "rubrics": {name: load_rubric(name).id for name in rubric_names()},
}))
"""


def copy_sources(to: Path) -> Path:
    to.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy(source, to / name)
    return to


def build_and_install(project: Path, target: Path) -> Path:
    """Builds the wheel of `project` and installs it, alone, into the folder `target`."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target / "dist"), str(project))
    (wheel,) = (target / "dist").glob("*.whl")
    packages = target / "packages"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
        "--target", str(packages), str(wheel))  # fmt: skip
    return packages


def run(*command: str, cwd: Path | None = None, path: Path | None = None) -> str:
    env = {**os.environ, **({"PYTHONPATH": str(path)} if path else {})}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def check_installed(packages: Path, elsewhere: Path) -> None:
    """AssertionError unless the installed package finds every shipped file inside itself."""
    found = json.loads(run(sys.executable, "-c", LIST_DATA, cwd=elsewhere, path=packages))
    assert Path(found["package"]).is_relative_to(packages)
    for home in found["homes"]:
        assert Path(home).is_relative_to(packages), f"data is looked for in {home}"
    for folder in DATA:
        expected = sorted(
            path.relative_to(ROOT / folder).as_posix()
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
        )
        assert expected, f"{folder} is empty in the checkout"
        assert found["files"][folder] == expected
    assert "process" in found["rubrics"]
    assert all(name == identity for name, identity in found["rubrics"].items())
    assert (packages / "judge" / "py.typed").is_file()


@pytest.mark.slow
def test_the_wheel_carries_rubrics_and_calibration_sets(tmp_path: Path) -> None:
    packages = build_and_install(copy_sources(tmp_path / "project"), tmp_path / "target")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    check_installed(packages, elsewhere)


@pytest.mark.slow
def test_a_wheel_without_the_data_is_found(tmp_path: Path) -> None:
    project = copy_sources(tmp_path / "project")
    config = (project / "pyproject.toml").read_text(encoding="utf-8")
    lines = [line for line in config.split("\n") if not line.startswith(('"rubrics" =', '"calibration_sets" ='))]
    assert len(lines) == len(config.split("\n")) - 2
    (project / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")
    packages = build_and_install(project, tmp_path / "target")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with pytest.raises(AssertionError):
        check_installed(packages, elsewhere)
