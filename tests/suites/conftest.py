"""Suites to run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge.engine.suite import SuiteRun
from judge.engine.suite_file import load_suite


@pytest.fixture
def suite_of(tmp_path: Path) -> Callable[..., SuiteRun]:
    """A suite from the YAML text of its file."""

    def made(text: str, **options: Any) -> SuiteRun:
        path = tmp_path / "cases.yaml"
        path.write_text(text, encoding="utf-8")
        return SuiteRun(load_suite(path), tmp_path, **options)

    return made
