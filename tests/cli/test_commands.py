"""The command line: exit codes, one JSON document on stdout, errors on stderr, nothing computed here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judge.cli.main import run

DOCS = [
    [
        {"type": "tool_call", "tool": "search_docs", "input": "rotate api key", "result_ids": ["d1"]},
        {"type": "final", "text": "Open settings."},
    ],
    [
        {"type": "tool_call", "tool": "search_docs", "input": "rotate api key", "result_ids": ["d1"]},
        {"type": "tool_call", "tool": "search_docs", "input": "how to rotate api key", "result_ids": ["d1"]},
        {"type": "tool_call", "tool": "search_docs", "input": "api key rotate", "result_ids": ["d1"]},
        {"type": "final", "text": "Open settings."},
    ],
    [{"type": "final", "text": "Open settings."}],
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every command runs in an empty folder with its own cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "JUDGE_CONFIG", "JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "docs.json").write_text(json.dumps(DOCS), encoding="utf-8")
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    """Exit status, the JSON document on stdout and the text on stderr."""
    code = run(list(arguments))
    captured = capsys.readouterr()
    return code, json.loads(captured.out), captured.err


def test_metrics_of_the_three_search_runs_and_twice_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["metrics", "docs.json", "--reference", '["tool_call:search_docs","final"]', "--json"]
    assert run(arguments) == 0
    first = capsys.readouterr().out
    assert run(arguments) == 0
    assert capsys.readouterr().out == first
    results = [entry["metrics"] for entry in json.loads(first)["results"]]
    assert [m["num_tool_calls"]["value"] for m in results] == [1, 3, 0]
    assert [m["has_redundant_call"]["value"] for m in results] == [False, True, False]
    assert [m["matches_reference"]["value"] for m in results] == [True, False, False]
    assert [m["answered_without_tool"]["value"] for m in results] == [False, False, True]


def test_score_prints_verdicts_with_their_trust_and_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = answer(capsys, "score", "docs.json", "--judge", "rules/process", "--samples", "1", "--json")
    assert code == 0
    assert [verdict["score"] for verdict in document["results"]] == [5, 2, 1]
    assert {verdict["trust"]["state"] for verdict in document["results"]} == {"uncertified"}
    assert document["summary"]["scored"] == document["summary"]["total"] == 3
    assert set(document["summary"]) >= {"scored", "total", "errors", "calls", "cached", "usage", "cost_usd"}


def test_a_judge_that_fails_everywhere_is_not_a_failed_run(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "prose.json").write_text(json.dumps({"default": {"text": "Overall much better."}}), encoding="utf-8")
    code, document, err = answer(
        capsys, "score", "docs.json", "--judge", f"fake/{home / 'prose.json'}", "--samples", "1", "--json"
    )
    assert code == 4, err
    assert [verdict["score"] for verdict in document["results"]] == [None, None, None]
    assert document["summary"]["errors"]
    assert "Overall much better" in json.dumps(document)


def test_a_failed_gate_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = answer(
        capsys, "score", "docs.json", "--judge", "fake/always-fail", "--rubric", "outcome", "--samples", "1", "--json"
    )
    assert code == 1
    assert [(verdict["score"], verdict["passed"]) for verdict in document["results"]] == [(0, False)] * 3


def test_required_trust_is_refused_before_a_call(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["score", "docs.json", "--judge", "rules/process", "--require-trust", "--json"])
    captured = capsys.readouterr()
    assert code == 3
    assert captured.out == ""
    error = json.loads(captured.err.splitlines()[-1])["error"]
    assert error["kind"] == "trust_required"
    assert "No certificate" in error["message"]


def test_a_dry_run_and_a_shown_prompt_send_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    common = ["score", "docs.json", "--judge", "openai/gpt-4o", "--base-url", "http://127.0.0.1:9/v1"]
    code, plan, _ = answer(capsys, *common, "--dry-run", "--json")
    assert code == 0
    assert plan["trajectories"] == 3
    assert plan["host"] == "127.0.0.1:9" or "127.0.0.1" in plan["host"]
    assert (plan["calls_low"], plan["calls_high"]) == (3, 9)  # both first samples may come by one request
    assert run([*common, "--show-prompt", "--limit", "1"]) == 0
    shown = capsys.readouterr().out
    assert "search_docs" in shown
    assert "Authorization" not in shown


def test_verdicts_are_written_as_they_come(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["score", "docs.json", "--judge", "rules/process", "-n", "1", "--out", "v.jsonl"]) == 0
    lines = (home / "v.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["score"] for line in lines] == [5, 2, 1]
    assert "3 of 3 scored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["score"], "TRACE"),
        (["nope"], "nope"),
        (["score", "nothere.json", "--judge", "rules/process"], "nothere.json"),
        (["score", "docs.json", "--judge", "rulez/process"], "rulez"),
        (["score", "docs.json", "--rubric", "proces", "--judge", "rules/process"], "process"),
        (["score", "docs.json", "--judge", "rules/process", "--vote", "loudest"], "loudest"),
        (["metrics", "docs.json", "--only", "num_tool_cals"], "num_tool_calls"),
        (["metrics", "docs.json", "--reference", "nothere.json"], "nothere.json"),
        (["convert", "docs.json", "--format", "opnai-chat"], "openai-chat"),
        (["score", "docs.json", "--judge", "rules/process", "--base-url", "http://127.0.0.1:9"], "calls no server"),
        (["calibrate"], "set"),
        (["sets", "show", "doc_search"], "docs_search"),
        (["certificates", "show", "ffff"], "ffff"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_what_to_do(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--json"] if arguments != ["nope"] else arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert "Traceback" not in captured.err
    if arguments != ["nope"]:
        assert set(json.loads(captured.err.splitlines()[-1])["error"]) == {"kind", "message", "hint"}


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02\xff" * 50, b"<!doctype html><html><body>502</body></html>", b'{"a": [1, 2', b"{}"]
)
def test_a_file_that_is_no_trace_ends_with_2_and_names_it(
    content: bytes, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "bad.json").write_bytes(content)
    assert run(["metrics", "bad.json"]) == 2
    captured = capsys.readouterr()
    assert "bad.json" in captured.err
    assert captured.out == ""


def test_control_characters_of_a_trace_do_not_reach_the_terminal(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = [{"type": "final", "text": "\x1b[2Jgone \u202egnp.exe"}]
    (home / "hostile.json").write_text(json.dumps(hostile), encoding="utf-8")
    assert run(["show", "hostile.json"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "gone" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["rubrics", "list"],
        ["rubrics", "lint"],
        ["rubrics", "show", "process"],
        ["sets", "list"],
        ["sets", "show", "refunds"],
        ["models", "list"],
        ["cache", "stats"],
        ["config", "show"],
        ["certificates", "list"],
        ["convert", "docs.json"],
        ["show", "docs.json"],
    ],
)
def test_every_listing_command_prints_one_json_document(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, document, _ = answer(capsys, *arguments, "--json")
    assert code == 0
    assert document


def test_doctor_says_whether_this_machine_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = answer(capsys, "doctor", "--json")
    assert code == (0 if document["ready"] else 1)
    assert {check["name"] for check in document["checks"]} >= {"python", "packages", "shipped data", "cache"}


@pytest.mark.parametrize(
    ("name", "state", "end"),
    [
        ("rules/process", "ok", "Ready."),
        ("openai/any", "absent", "Ready, but for the default judge: install it"),
        ("jury/pair", "ok", "Ready."),
        ("nobody/any", "failed", "Not ready: default judge."),
    ],
)
def test_doctor_says_whether_the_default_judge_can_be_asked(
    name: str, state: str, end: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    (home / "juries").mkdir()
    (home / "juries" / "pair.yaml").write_text("members: [rules/process, fake/always-4]\nrule: median\n", "utf-8")
    monkeypatch.setenv("JUDGE_MODEL", name)
    assert run(["doctor"]) == (state == "failed")
    said = capsys.readouterr().out
    (row,) = (line.split() for line in said.splitlines() if line.startswith("default judge "))
    assert row[2:4] == [state, f"{name}:"]
    assert said.splitlines()[-1].startswith(end)


def test_config_show_says_where_each_setting_comes_from(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "judge.toml").write_text('samples = 3\nrubric = "outcome"\n', encoding="utf-8")
    monkeypatch.setenv("JUDGE_RUBRIC", "recovery")
    code, document, _ = answer(capsys, "config", "show", "--json")
    assert code == 0
    assert (document["settings"]["rubric"], document["sources"]["rubric"]) == ("recovery", "JUDGE_RUBRIC")
    assert document["sources"]["samples"] == str(home / "judge.toml")
    assert "retries" not in document["sources"]
    assert run(["config", "show"]) == 0
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    assert rows["retries"][2] == "default"
    assert rows["max_usd"][1:] == ["not", "set", "default", "JUDGE_MAX_USD"]


def test_a_new_rubric_lints_clean_and_is_never_overwritten(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rubrics", "new", "mine"]) == 0
    assert run(["rubrics", "lint", "mine.yaml"]) == 0
    before = (home / "mine.yaml").read_text(encoding="utf-8")
    assert run(["rubrics", "new", "mine"]) == 2
    assert (home / "mine.yaml").read_text(encoding="utf-8") == before
    assert "exists already" in capsys.readouterr().err
