"""The reference systems give exactly these tables, and recorded tau-bench runs their published numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from judge.cli.main import run as judge

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "golden" / "reference.txt"


def test_the_reference_systems_give_these_tables() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "reference.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert done.stderr == ""
    assert done.stdout == GOLDEN.read_text(encoding="utf-8")


def test_tau_bench_airline_as_a_suite(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = shared / "data" / "tau_bench_airline" / "gpt-4o-airline.json"
    suite = tmp_path / "tau.yaml"
    script = [sys.executable, str(ROOT / "scripts" / "tau_suite.py"), str(runs), "--out", str(suite)]
    subprocess.run(script, check=True, capture_output=True, cwd=ROOT)
    assert judge(["run", str(suite), "--traces", str(runs), "--json", "--min-pass", "0"]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert (summary["cases"], summary["attempts"], summary["unmeasured"]) == (50, 200, 0)
    assert {k: round(value, 3) for k, value in summary["pass_hat_k"].items()} == {
        "1": 0.420,
        "2": 0.273,
        "3": 0.220,
        "4": 0.200,
    }
    assert judge(["run", str(suite), "--traces", str(runs)]) == 1
