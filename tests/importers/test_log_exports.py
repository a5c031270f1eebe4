"""Export: ATIF that its own package accepts, OpenAI messages, what was lost; show, convert and the formats page."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from log_files import lines, only, whole

from judge.cli.main import run as judge
from judge.errors import JudgeError
from judge.importers import load, to_atif, to_openai
from judge.types import Message, ToolCall, ToolResult, Trajectory

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A log with most of what ATIF cannot hold."""
    return lines(
        tmp_path / "odd.jsonl",
        {"type": "user", "text": "go"},
        {"type": "tool_call", "call_id": "c1", "name": "f", "args": "{bad"},
        {"type": "tool_result", "call_id": "c1", "error": "boom"},
        {"type": "approval", "call_id": "c1", "decision": "denied"},
        {"type": "tool_result", "call_id": "zz", "output": "orphan"},
        {"type": "quantum", "x": 1},
        {"type": "final", "output": "done"},
    )


def test_atif_names_everything_that_it_lost(odd: Path) -> None:
    value, lost = to_atif(only(odd))
    assert lost == {
        "approval steps": 1,
        "arguments that are no object": 1,
        "event 'quantum' steps": 1,
        "places of results that answer no call": 1,
        "statuses of results": 1,
    }
    assert [step["step_id"] for step in value["steps"]] == [1, 2, 3, 4]
    assert value["steps"][1]["tool_calls"][0]["arguments"] == {"raw": "{bad"}


def test_openai_messages_read_back_with_each_result_at_its_call(odd: Path, tmp_path: Path) -> None:
    run = only(odd)
    value, lost = to_openai(run)
    back = only(whole(tmp_path / "back.json", value))
    assert [step.arguments_raw for step in back.steps if isinstance(step, ToolCall)] == ["{bad"]
    assert [step.call_index for step in back.steps if isinstance(step, ToolResult)] == [2, None]
    assert (back.task, back.final) == (run.task, run.final)
    assert "approval steps" in lost


def essence(run: Trajectory) -> list[Any]:
    """What must survive ATIF: what was said, asked for and answered, in order."""
    out: list[Any] = []
    for step in run.steps:
        if isinstance(step, Message):
            out.append((step.role, step.to_json().get("content")))
        elif isinstance(step, ToolCall):
            out.append((step.name, step.arguments))
        elif isinstance(step, ToolResult):
            out.append((step.call_index is not None, step.to_json().get("content")))
    return out


@pytest.mark.shared
def test_real_atif_survives_the_way_there_and_back(shared: Path, tmp_path: Path) -> None:
    for path in sorted((shared / "formats" / "11_atif").glob("*.json")):
        run = only(path)
        value, _ = to_atif(run)
        back = only(whole(tmp_path / path.name, value))
        assert [entry for entry in essence(back) if entry[1]] == [entry for entry in essence(run) if entry[1]]
        assert back.usage == run.usage


@pytest.mark.shared
def test_every_real_file_gives_atif_that_its_own_package_accepts(shared: Path) -> None:
    atif = pytest.importorskip("atif")
    accepted = 0
    for path in sorted((shared / "formats").glob("*/*")):
        if path.suffix == ".md":
            continue
        try:
            runs = list(load(path))
        except JudgeError:
            continue
        for run in runs:
            atif.Trajectory.model_validate(to_atif(run).value)
            accepted += 1
    assert accepted > 80


def test_convert_writes_what_it_is_asked_for_and_prints_the_loss(
    odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert judge(["convert", str(odd), "--to", "atif", "--out", str(out)]) == 0
    assert "lost: 1 × approval steps" in capsys.readouterr().out
    assert json.loads(out.read_text(encoding="utf-8"))["schema_version"].startswith("ATIF-v1.")
    assert judge(["convert", str(odd), "--to", "openai", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lost"]["approval steps"] == 1
    assert judge(["convert", str(odd), "--to", "yaml"]) == 2


def test_explain_prints_evidence_tokens_agents_and_diagnostics_and_strict_fails(
    odd: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(["convert", str(odd), "--explain"]) == 0
    text = capsys.readouterr().out
    for said in ("events", "1 approval", "tokens: not stated", "agents: not named", "ARGS_INVALID", "ORPHAN_RESULT"):
        assert said in text
    assert judge(["convert", str(odd), "--strict"]) == 1


def test_show_numbers_the_steps_and_its_page_escapes_what_a_trace_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "<script>alert(1)</script>"
    path = lines(
        tmp_path / "e.jsonl",
        {"type": "user", "text": evil},
        {"type": "tool_call", "call_id": "c1", "name": "wipe", "args": {}, "agent": "helper"},
        {"type": "tool_result", "call_id": "c1", "error": "boom", "agent": "helper"},
    )
    assert judge(["show", str(path)]) == 0
    assert "[S2] call wipe" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert judge(["show", str(path), "--html", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "http" not in text
    assert "<b>helper</b>" in text
    assert "1 failed" in text
    assert "[S3]" in text


def test_the_page_of_formats_is_current() -> None:
    spec = importlib.util.spec_from_file_location("write_formats", ROOT / "scripts" / "write_formats.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.page()
    assert module.TARGET.read_text(encoding="utf-8") == text, "run python scripts/write_formats.py"
    assert "not recorded" not in text
