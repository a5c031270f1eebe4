"""Imports point down, siblings do not know each other, and a few things happen in one place only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli", "server"),
    ("engine", "store", "report"),
    ("importers", "metrics", "policy", "prompt", "providers", "voting", "calibration"),
    ("protocols", "registry", "config", "document"),
    ("types",),
    ("errors",),
)
"""Parts of the package, top layer first. A part may import from the layers below its own and from itself."""

SIBLINGS = {("cli", "server"), ("report", "engine"), ("report", "store"), ("engine", "store")}
"""The only imports within one layer: a command starts the server, a report shows what engine and store return, the
engine writes to the store."""

ASYNC_PARTS = {"providers", "engine", "server", "protocols"}
"""Protocols only declares what providers implement."""
ENVIRONMENT_MODULE = "config"
DANGEROUS_MODULES = {"pickle", "cPickle", "dill", "shelve", "marshal", "cloudpickle", "joblib"}
HTTP_MODULES = {"httpx", "httpx2", "requests", "aiohttp"}
"""The SDKs own HTTP; what lies beneath them changes with their versions."""
DANGEROUS_CALLS = {"eval", "exec"}


def level(part: str) -> int | None:
    return next((depth for depth, parts in enumerate(LAYERS) if part in parts), None)


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.Module, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """(line, absolute module) of every import, those for type checkers and those inside functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                home = module.split(".")
                home = home[: len(home) - node.level + (1 if is_package else 0)]
                base = ".".join([*home, base] if base else home)
            yield node.lineno, base
            # `from judge import engine` names a part only in the alias
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names if base == "judge")
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if called == "import_module" and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node.lineno, first.value


def violations(root: Path) -> list[str]:
    """What breaks a rule in the package `judge` under `root`, one line each."""
    found: list[str] = []
    for path in sorted((root / "judge").rglob("*.py")):
        module = module_name(path, root)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        part = module.split(".")[1] if "." in module else ""
        place = f"{module}:"
        own = level(part)
        if part and own is None:
            found.append(f"{place} the part {part!r} stands in no layer")
        for line, target in imports(tree, module, is_package=path.name == "__init__.py"):
            top = target.split(".")[0]
            if top in DANGEROUS_MODULES:
                found.append(f"{place}{line} imports {top}")
            if top in HTTP_MODULES:
                found.append(f"{place}{line} imports {top}: the SDKs own HTTP")
            if top != "judge" or target.count(".") == 0 or own is None:
                continue
            other = target.split(".")[1]
            below = level(other)
            if other == part or below is None:
                continue
            if below < own:
                found.append(f"{place}{line} imports {target}, which lies above")
            elif below == own and (part, other) not in SIBLINGS:
                found.append(f"{place}{line} imports its sibling {target}")
        found.extend(f"{place}{line} {what}" for line, what in conduct(tree, part, module))
    return found


def conduct(tree: ast.Module, part: str, module: str) -> Iterator[tuple[int, str]]:
    """Environment, async, eval and unsafe YAML outside the places that may."""
    stores = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef) and part not in ASYNC_PARTS:
            yield node.lineno, f"defines async {node.name!r}"
        if module != f"judge.{ENVIRONMENT_MODULE}":
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "os":
                # Writing a variable for a library that reads nothing else is no reading.
                if node.attr in ("environ", "environb", "getenv") and id(node) not in stores:
                    yield node.lineno, f"reads the environment (os.{node.attr})"
            elif isinstance(node, ast.ImportFrom) and node.module == "os":
                for alias in node.names:
                    if alias.name in ("environ", "environb", "getenv"):
                        yield node.lineno, f"reads the environment (os.{alias.name})"
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in DANGEROUS_CALLS:
                yield node.lineno, f"calls {node.func.id}"
            if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "yaml":
                named = any(word.arg == "Loader" for word in node.keywords) or len(node.args) > 1
                if node.func.attr in ("unsafe_load", "full_load") or (node.func.attr == "load" and not named):
                    yield node.lineno, f"calls yaml.{node.func.attr}"


def test_the_package_keeps_its_layers() -> None:
    assert violations(ROOT) == []


BROKEN = {
    "import upward": ("metrics/x.py", "from judge.engine.facade import score", "which lies above"),
    "import upward, for type checkers": (
        "types/x.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from judge.protocols import Provider",
        "which lies above",
    ),
    "import upward inside a function": ("voting/x.py", "def f():\n    import judge.cli.main", "which lies above"),
    "import upward by name": (
        "prompt/x.py",
        "from importlib import import_module\nimport_module('judge.report.html')",
        "which lies above",
    ),
    "import of the part itself": ("prompt/x.py", "from judge import engine", "which lies above"),
    "relative import upward": ("policy/x.py", "from ..engine import facade", "which lies above"),
    "sibling": ("voting/x.py", "from judge.providers.fake import open_provider", "imports its sibling"),
    "relative sibling": ("voting/__init__.py", "from ..metrics import measure", "imports its sibling"),
    "engine on report": ("engine/x.py", "from judge.report import verdicts", "imports its sibling"),
    "sibling on top": ("server/x.py", "import judge.cli.main", "imports its sibling"),
    "no layer": ("helpers/x.py", "", "stands in no layer"),
    "environment": ("providers/x.py", "import os\nkey = os.environ['KEY']", "reads the environment"),
    "environment by getenv": ("engine/x.py", "import os\nkey = os.getenv('KEY')", "reads the environment"),
    "environment by name": ("cli/x.py", "from os import environ", "reads the environment"),
    "async": ("calibration/x.py", "async def f():\n    pass", "defines async 'f'"),
    "pickle": ("store/x.py", "import pickle", "imports pickle"),
    "pickle inside a function": ("store/x.py", "def f():\n    from joblib import load", "imports joblib"),
    "HTTP library": ("providers/x.py", "import httpx2", "the SDKs own HTTP"),
    "eval": ("prompt/x.py", "eval('1')", "calls eval"),
    "exec": ("prompt/x.py", "exec('1')", "calls exec"),
    "yaml.load": ("prompt/x.py", "import yaml\nyaml.load('a')", "calls yaml.load"),
}


@pytest.mark.parametrize(("path", "text", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_found(tmp_path: Path, path: str, text: str, message: str) -> None:
    file = tmp_path / "judge" / path
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    assert [line for line in violations(tmp_path) if message in line], violations(tmp_path)


ALLOWED = {
    "downward": ("engine/x.py", "from judge.metrics import measure\nfrom judge.types import Trajectory"),
    "within one part": ("metrics/x.py", "from judge.metrics.calls import calls\nfrom . import calls"),
    "environment in config": ("config.py", "import os\nvalue = os.environ['A']"),
    "a variable written": ("providers/x.py", "import os\nos.environ['LIBRARY_OFFLINE'] = '1'"),
    "async in providers": ("providers/x.py", "async def f():\n    pass"),
    "yaml with a loader": ("prompt/x.py", "import yaml\nyaml.load('a', Loader=yaml.SafeLoader)"),
}


@pytest.mark.parametrize(("path", "text"), ALLOWED.values(), ids=ALLOWED)
def test_what_is_allowed_is_not_reported(tmp_path: Path, path: str, text: str) -> None:
    file = tmp_path / "judge" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    assert violations(tmp_path) == []
