"""scripts/reproduce_published.py: 63 figures of public data sets, each to the digits that were published."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from judge.calibration.fields import FieldMap

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reproduce_published", ROOT / "scripts" / "reproduce_published.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "figures"),
    [
        ("livemcpbench", 25),
        ("agentprocessbench", 9),
        ("pandalm", 5),
        ("prometheus", 8),
        ("llmbar", 10),
        ("tau_bench", 6),
    ],
)
def test_each_published_figure_comes_out(script: ModuleType, shared: Path, source: str, figures: int) -> None:
    rows = list(getattr(script, source)(shared / "data"))
    assert [f"{row.what}: {row.published}, here {row.ours}" for row in rows if not row.equal] == []
    assert len(rows) == figures


def test_a_figure_that_differs_is_shown_and_ends_with_1(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = script.Row("a rate", ".571", ".572")
    monkeypatch.setattr(script, "SOURCES", (lambda data: [wrong, script.Row("another", "1", "1")],))
    monkeypatch.setattr(sys, "argv", ["reproduce_published.py", "."])
    assert script.main() == 1
    printed = capsys.readouterr().out
    assert "a rate   .571       .572  NO" in printed
    assert "1 of 2 figures are equal." in printed


def test_every_mapping_reads() -> None:
    found = sorted((ROOT / "scripts" / "published").glob("*.yaml"))
    sides = [
        FieldMap.model_validate(value[side])
        for value in (yaml.safe_load(path.read_text(encoding="utf-8")) for path in found)
        for side in ("verdicts", "labels")
        if side in value
    ]
    assert len(sides) >= 15
