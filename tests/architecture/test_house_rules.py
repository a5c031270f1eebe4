"""Rules for every file: size, docstrings, names, declared dependencies, nothing of the machine it was written on."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import pytest

import judge
import judge.types

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 500
CODE = (".py", ".md", ".yaml", ".yml", ".toml", ".sh", ".cfg")
GENERIC_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}

# Written in two pieces, so that this file does not hold what it looks for.
MACHINE = [
    "/" + "work/main", "/" + "work/shared", "/" + "work/.library", "/" + "tmp/pj", "bash" + "_jobs", "/" + "opt/wheels",
    "/" + "opt/pypi", "/" + "root/.", "pypi" + ".org", "python" + "hosted.org", "npmjs" + ".org", "npmjs" + ".com",
    "deb.debian" + ".org", "--extra-" + "index-url", "--find-" + "links", "--index-" + "url",
]  # fmt: skip
OPTIONAL = {
    "xllamacpp",
    "cryptography",
    "opentelemetry",
    "pyarrow",
    "ray",
    "redis",
    "fastapi",
    "starlette",
    "sqlalchemy",
    "uvicorn",
}
"""Third-party modules that an extra brings, not the base install."""
DISTRIBUTIONS = {
    "opentelemetry": "opentelemetry-sdk",
    "yaml": "pyyaml",
    "sklearn": "scikit-learn",
    "pydantic_core": "pydantic",
    "starlette": "fastapi",
    "markupsafe": "jinja2",
}
"""Where a module has another name than its distribution, or comes with one whose types it holds."""


def tracked(root: Path = ROOT) -> list[Path]:
    """Files under version control; in an unpacked archive, all files outside hidden folders."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True)
    if done.returncode == 0:
        return [root / name for name in done.stdout.split("\0") if name and (root / name).is_file()]
    hidden = (path for path in root.rglob("*") if not any(p.startswith(".") for p in path.relative_to(root).parts))
    return [path for path in hidden if path.is_file()]


def too_long(paths: Iterable[Path]) -> list[str]:
    out = []
    for path in paths:
        if path.suffix in CODE and "calibration_sets" not in path.parts:
            lines = path.read_text(encoding="utf-8").count("\n")
            if lines > LONGEST:
                out.append(f"{path.name}: {lines} lines")
    return out


def of_this_machine(paths: Iterable[Path]) -> list[str]:
    out = []
    for path in paths:
        data = path.read_bytes()
        out += [f"{path.name}: {text}" for text in MACHINE if text.encode() in data]
    return out


def without_docstring(paths: Iterable[Path]) -> list[str]:
    """Public modules, and public classes and functions of them, that say nothing of themselves."""
    out = []
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        empty_package = path.name == "__init__.py" and not tree.body
        if not path.stem.startswith("_") and not ast.get_docstring(tree) and not empty_package:
            out.append(f"{path.name}: no module docstring")
    return out


def undeclared(paths: Iterable[Path], project: dict[str, object]) -> list[str]:
    """Third-party imports that pyproject.toml does not declare."""
    declared = {_distribution(line) for line in project["dependencies"]}  # type: ignore[attr-defined]
    extras = {_distribution(line) for lines in project["optional-dependencies"].values() for line in lines}  # type: ignore[attr-defined]
    out = []
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module or ""]
            else:
                continue
            for module in modules:
                top = module.split(".")[0]
                if top == "judge" or top in sys.stdlib_module_names:
                    continue
                name = DISTRIBUTIONS.get(top, top).lower().replace("_", "-")
                if name not in (extras if top in OPTIONAL else declared):
                    out.append(f"{path.name}: {top}")
    return out


def _distribution(requirement: str) -> str:
    return re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def package_files() -> list[Path]:
    return sorted((ROOT / "judge").rglob("*.py"))


def project_table() -> dict[str, object]:
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def test_no_file_is_longer_than_500_lines() -> None:
    assert too_long(tracked()) == []


def test_no_file_names_this_machine_or_a_package_registry() -> None:
    assert of_this_machine(tracked()) == []


def test_every_public_module_has_a_docstring() -> None:
    assert without_docstring(package_files()) == []


def test_every_imported_library_is_declared() -> None:
    assert undeclared(package_files(), project_table()) == []


def test_no_file_has_a_name_that_says_nothing() -> None:
    stems = {path.stem for path in package_files()} | {path.parent.name for path in package_files()}
    assert stems & GENERIC_NAMES == set()


def test_each_check_finds_a_file_that_breaks_it(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import leftpad\n" * (LONGEST + 1) + f"# {MACHINE[0]}\n", encoding="utf-8")
    assert too_long([bad]) == [f"bad.py: {LONGEST + 2} lines"]
    assert of_this_machine([bad]) == [f"bad.py: {MACHINE[0]}"]
    assert without_docstring([bad]) == ["bad.py: no module docstring"]
    assert set(undeclared([bad], project_table())) == {"bad.py: leftpad"}


def test_the_base_install_does_not_count_on_an_extra(tmp_path: Path) -> None:
    """playwright is a tool of the tests; the package itself may not import it."""
    bad = tmp_path / "bad.py"
    bad.write_text("import playwright\nimport xllamacpp\n", encoding="utf-8")
    assert undeclared([bad], project_table()) == ["bad.py: playwright"]


def test_version_control_lists_the_package() -> None:
    assert ROOT / "judge" / "__init__.py" in tracked()


@pytest.mark.parametrize("name", judge.__all__)
def test_every_public_name_of_the_package_can_be_imported(name: str) -> None:
    assert getattr(judge, name) is not None


def test_the_public_names_are_written_out_so_that_type_checkers_know_them() -> None:
    tree = ast.parse((ROOT / "judge" / "__init__.py").read_text(encoding="utf-8"))
    (written,) = (n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__")
    assert set(ast.literal_eval(written)) == {"__version__", *judge._HOME}


def test_every_page_of_the_documents_stands_in_their_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


def test_every_part_exports_what_it_says() -> None:
    for path in sorted((ROOT / "judge").glob("*/__init__.py")):
        part = import_module(f"judge.{path.parent.name}")
        missing = [name for name in getattr(part, "__all__", ()) if not hasattr(part, name)]
        assert missing == [], part.__name__


def test_every_folder_of_code_is_a_package() -> None:
    for path in package_files():
        assert (path.parent / "__init__.py").is_file(), f"{path.parent.name} has no __init__.py"


REQUIREMENTS = ("runtime", "local", "dev")
PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^ ;\\]+)", re.MULTILINE)


def pins(name: str) -> dict[str, set[str]]:
    out: dict[str, set[str]] = {}
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    for distribution, version in PIN.findall(text):
        out.setdefault(distribution, set()).add(version)
    return out


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_pin_has_a_hash(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=[A-Za-z0-9])", text)
    pinned = [block for block in blocks if PIN.match(block)]
    assert len(pinned) > 20
    assert [block.split("\n")[0] for block in pinned if "--hash=sha256:" not in block] == []


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_declared_dependency_is_pinned(name: str) -> None:
    table = project_table()
    wanted = list(table["dependencies"])  # type: ignore[call-overload]
    extras = {"runtime": (), "local": ("local",), "dev": ("local", "dev")}[name]
    for extra in extras:
        wanted += table["optional-dependencies"][extra]  # type: ignore[index]
    assert {_distribution(line) for line in wanted} - set(pins(name)) == set()


def test_the_three_files_agree() -> None:
    runtime, local, dev = (pins(name) for name in REQUIREMENTS)
    assert runtime.items() <= local.items() <= dev.items()


def test_the_malicious_releases_of_litellm_are_excluded() -> None:
    declared = next(line for line in project_table()["dependencies"] if line.startswith("litellm"))  # type: ignore[attr-defined]
    assert "!=1.82.7" in declared
    assert "!=1.82.8" in declared
    assert pins("runtime")["litellm"] & {"1.82.7", "1.82.8"} == set()


def test_the_check_script_runs_the_test_command_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in script
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
