"""Rubrics by name or path: shipped ones, and files of your own."""

from __future__ import annotations

import warnings
from importlib.resources import files
from pathlib import Path

from judge import registry
from judge.document import Finding, read_text
from judge.errors import RubricError
from judge.prompt.lint import examine, lint_text
from judge.prompt.reading import read_rubric
from judge.types.rubric import Rubric


class RubricWarning(UserWarning):
    """A rubric loads, and its text contradicts its scale or its weights do not add up."""


def rubric_names() -> tuple[str, ...]:
    """Names of the shipped rubrics, sorted."""
    return tuple(sorted(path.stem for path in registry.shipped("rubrics").glob("*.yaml")))


def rubric_path(name_or_path: str | Path) -> Path:
    """The file behind a shipped name, or the path itself.

    Raises:
        UnknownName: It is neither a shipped name nor an existing file; the message suggests the nearest name.
        RubricError: It looks like a path, and there is no such file.
    """
    text = str(name_or_path)
    if text in rubric_names():
        return registry.shipped("rubrics") / f"{text}.yaml"
    path = Path(name_or_path)
    if path.is_file():
        return path
    if path.suffix in (".yaml", ".yml") or "/" in text or "\\" in text:
        raise RubricError(f"There is no rubric file {text!r}.", hint=f"Shipped rubrics: {', '.join(rubric_names())}.")
    raise registry.unknown("rubric", text, rubric_names())


def load_rubric(name_or_path: str | Path) -> Rubric:
    """A rubric by its shipped name ("process") or from a YAML file.

    Raises:
        RubricError: The file does not load; the message begins with file and line.
        UnknownName: No such name.

    Warns:
        RubricWarning: The text speaks of another scale, or the weights do not add up.
    """
    path = rubric_path(name_or_path)
    rubric, document = read_rubric(read_text(path, "rubric", RubricError))
    errors = [finding for finding in document.findings if finding.severity == "error"]
    if errors or rubric is None:
        first = min(errors, key=lambda finding: finding.line)
        more = f" {len(errors) - 1} more: `judge rubrics lint {path}` lists them." if len(errors) > 1 else ""
        raise RubricError(f"{path}:{first.line}: {first.message}{more}")
    examine(document, rubric)
    for finding in document.findings:
        if finding.code in ("scale-contradiction", "weights"):
            warnings.warn(f"{path}:{finding.line}: {finding.message}", RubricWarning, stacklevel=2)
    return rubric


def lint_rubric(name_or_path: str | Path) -> tuple[Finding, ...]:
    """Findings about a rubric file, by line; empty for a clean one.

    Args:
        name_or_path: A shipped name or a YAML file.

    Raises:
        UnknownName, RubricError: There is no such rubric, or its file cannot be read as text. Faults inside the
            file are findings and not errors.
    """
    return lint_text(read_text(rubric_path(name_or_path), "rubric", RubricError))


def new_rubric(rubric_id: str) -> str:
    """A commented YAML file to start from; it loads and lints clean as it is.

    Raises:
        RubricError: `rubric_id` is not a legal id.
    """
    text = files("judge.prompt").joinpath("templates", "new_rubric.yaml").read_text(encoding="utf-8")
    text = text.replace("{{ID}}", rubric_id)
    rubric, _ = read_rubric(text)
    if rubric is None or rubric.id != rubric_id:
        raise RubricError(
            f"{rubric_id!r} cannot be the id of a rubric.",
            hint="Use lower-case letters, digits, - and _, beginning with a letter.",
        )
    return text
