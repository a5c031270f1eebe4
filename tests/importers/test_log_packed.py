"""Packed files, folders and archives: what is in them is read, and what would do harm is refused."""

from __future__ import annotations

import gzip
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard
from log_files import codes, kinds, only, whole

from judge.errors import TraceError
from judge.importers import load, source
from judge.types import Approval, ToolCall, ToolResult

CHAT = json.dumps({"id": "r", "messages": [{"role": "user", "content": "hello"}]}).encode()


def sample(number: int = 1, **more: Any) -> dict[str, Any]:
    asked = {"id": "m1", "role": "user", "content": "attachment://abc"}
    calls = [
        {"id": "c1", "function": "look", "arguments": {"q": 1}, "type": "function"},
        {"id": "c2", "function": "look", "arguments": {}, "parse_error": "not JSON: {q", "type": "function"},
        {"id": "c3", "function": "wipe", "arguments": {}, "type": "function"},
    ]
    told = [
        {"role": "tool", "tool_call_id": "c1", "function": "look", "content": "found", "error": None},
        {"role": "tool", "tool_call_id": "c2", "function": "look", "content": "", "error": _error("parsing")},
        {"role": "tool", "tool_call_id": "c3", "function": "wipe", "content": "", "error": _error("approval")},
    ]
    reply = {"id": "m2", "role": "assistant", "content": "looking", "tool_calls": calls}
    usage = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 18, "input_tokens_cache_read": 10}
    model = {"event": "model", "output": {"choices": [{"message": reply}], "usage": usage}}
    denied = {"event": "approval", "decision": "reject", "approver": "human", "explanation": "no", "call": calls[2]}
    return {
        "id": number,
        "epoch": 1,
        "input": "find it",
        "target": "42",
        "messages": [asked, reply, *told],
        "events": [{"event": "span_begin"}, model, denied],
        "attachments": {"abc": "find it, please"},
        "scores": {"match": {"value": "C"}},
        "model_usage": {"m": usage},
        **more,
    }


def _error(kind: str) -> dict[str, str]:
    return {"type": kind, "message": f"{kind} went wrong"}


HEADER = {"version": 2, "status": "success", "eval": {"task": "hunt", "model": "m"}, "plan": {}}


def archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def zstd_archive(path: Path, members: dict[str, bytes]) -> Path:
    """A zip archive of method 93, written by hand: no tool of Python 3.11 writes one."""
    body, listed = b"", b""
    for name, data in members.items():
        packed, raw = zstandard.ZstdCompressor().compress(data), name.encode()
        about = struct.pack("<HHHHHIIIHH", 63, 0, 93, 0, 33, zlib.crc32(data), len(packed), len(data), len(raw), 0)
        listed += b"PK\x01\x02" + struct.pack("<H", 63) + about + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + raw
        body += b"PK\x03\x04" + about + raw + packed
    count = len(members)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(listed), len(body), 0)
    path.write_bytes(body + listed + b"PK\x05\x06" + end)
    return path


def members(*samples: dict[str, Any]) -> dict[str, bytes]:
    out = {f"samples/{each['id']}_epoch_1.json": json.dumps(each).encode() for each in samples}
    return {**out, "header.json": json.dumps(HEADER).encode()}


def test_a_sample_has_its_attachments_its_errors_its_approval_and_its_usage(tmp_path: Path) -> None:
    run = only(whole(tmp_path / "log.json", {**HEADER, "samples": [sample()]}))
    assert kinds(run) == ["message", "message", *["tool_call"] * 3, "approval", *["tool_result"] * 3]
    assert run.steps[0].to_json()["content"][0]["text"] == "find it, please"
    calls = [step for step in run.steps if isinstance(step, ToolCall)]
    assert [(each.arguments, each.arguments_error) for each in calls[:2]] == [({"q": 1}, None), (None, "not JSON: {q")]
    results = [step for step in run.steps if isinstance(step, ToolResult)]
    assert [each.status for each in results] == ["ok", "error", "denied"]
    (approval,) = [step for step in run.steps if isinstance(step, Approval)]
    assert (approval.state, approval.call_index, approval.approver) == ("denied", calls[2].index, "human")
    assert run.usage is not None
    assert run.usage.input_tokens == 15  # 5 + 10 from the cache: the total of 18 holds both
    assert (run.id, run.group, run.labels["target"]) == ("hunt-1-epoch1", "1", "42")
    assert codes(run) == ["ARGS_INVALID", "EVENTS_SET_ASIDE"]


def test_a_sample_without_messages_is_read_from_its_last_model_call(tmp_path: Path) -> None:
    pool = [{"id": "m1", "role": "user", "content": "go"}, {"id": "m2", "role": "assistant", "content": "no"}]
    reply = {"id": "m9", "role": "assistant", "content": "yes"}
    model = {"event": "model", "input": [], "input_refs": [[0, 1]], "output": {"choices": [{"message": reply}]}}
    crashed = {"id": 1, "messages": [], "events": [model], "events_data": {"messages": pool}, "error": {"message": "x"}}
    run = only(whole(tmp_path / "log.json", {**HEADER, "samples": [crashed]}))
    assert [step.to_json().get("content", [{}])[0].get("text") for step in run.steps] == ["go", "yes", None]
    assert run.outcome is not None
    assert run.outcome.status == "failed"


@pytest.mark.parametrize("write", [archive, zstd_archive])
def test_an_archive_gives_a_run_a_sample_like_the_log_it_holds(tmp_path: Path, write: Any) -> None:
    path = write(tmp_path / "log.eval", members(sample(1), sample(2)))
    plain = whole(tmp_path / "log.json", {**HEADER, "samples": [sample(1), sample(2)]})
    assert [run.steps for run in load(path)] == [run.steps for run in load(plain)]
    assert [run.id for run in load(path)] == ["hunt-1-epoch1", "hunt-2-epoch1"]


def test_an_archive_of_a_run_that_broke_off_is_read_by_its_journal(tmp_path: Path) -> None:
    parts = members(sample(1))
    parts["_journal/start.json"] = parts.pop("header.json")
    assert only(archive(tmp_path / "log.eval", parts)).id == "hunt-1-epoch1"


@pytest.mark.parametrize("name", ["../evil.json", "/etc/evil.json", "samples/../../evil.json", "C:\\evil.json"])
def test_a_name_that_leads_out_of_an_archive_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TraceError, match="leads out of the archive"):
        list(load(archive(tmp_path / "log.eval", {**members(sample()), name: b"{}"})))


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bomb = b'{"x": "' + b"0" * (64 * 2**20) + b'"}'
    with pytest.raises(TraceError, match="that unpack to"):
        list(load(archive(tmp_path / "log.eval", {**members(sample()), "samples/9_epoch_1.json": bomb})))


def test_a_member_that_unpacks_to_more_than_it_says_is_refused(tmp_path: Path) -> None:
    path = zstd_archive(tmp_path / "log.eval", members(sample()))
    data = path.read_bytes()
    size = len(json.dumps(sample()).encode())
    path.write_bytes(data.replace(struct.pack("<I", size), struct.pack("<I", size - 1)))
    with pytest.raises(TraceError, match="does not have the size"):
        list(load(path))


def test_an_archive_of_something_else_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="without an Inspect log"):
        list(load(archive(tmp_path / "a.zip", {"a.txt": b"x"})))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_packed_files_are_read_whatever_their_name(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(pack(CHAT + b"\n" + CHAT.replace(b'"r"', b'"q"') + b"\n"))
    assert [run.id for run in load(path)] == ["r", "q"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_packed_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, pack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_UNPACKED", 2**14)
    path = tmp_path / "trace.jsonl"
    path.write_bytes(pack((CHAT + b"\n") * 2_000))
    with pytest.raises(TraceError, match="unpacks to more than"):
        list(load(path))


def test_damaged_zstd_is_an_error_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(zstandard.ZstdCompressor().compress(CHAT * 1000)[:-9])
    with pytest.raises(TraceError):
        list(load(path))


def test_one_line_of_50_megabytes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    text = "x" * (50 * 2**20)
    row = json.dumps({"id": "long", "messages": [{"role": "user", "content": text}]})
    path.write_text(row + "\n" + CHAT.decode() + "\n", encoding="utf-8")
    assert [(run.id, len(run.task or "")) for run in load(path)] == [("long", len(text)), ("r", 5)]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_depth_bomb_is_refused(tmp_path: Path, opening: str) -> None:
    path = tmp_path / "deep.json"
    path.write_text(opening * 100_000, encoding="utf-8")
    with pytest.raises(TraceError):
        list(load(path))


def test_a_folder_of_events_is_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "conversation" / "events"
    folder.mkdir(parents=True)
    said = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    call = {"id": "c1", "name": "run", "arguments": '{"x": 1}'}
    events: list[dict[str, Any]] = [
        {"kind": "MessageEvent", "source": "user", "llm_message": said, "timestamp": "2026-01-01T00:00:00"},
        {"kind": "ActionEvent", "source": "agent", "tool_name": "run", "tool_call_id": "c1", "tool_call": call},
        {"kind": "ObservationEvent", "source": "environment", "tool_call_id": "c1", "observation": {"is_error": True}},
    ]
    for number, event in enumerate(events):
        whole(folder / f"event-{number:05}-x.json", event)
    run = only(folder.parent)
    assert kinds(run) == ["message", "tool_call", "tool_result"]
    result = run.steps[2]
    assert isinstance(result, ToolResult)
    assert (result.call_index, result.status) == (2, "error")


def test_any_other_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is a folder"):
        list(load(tmp_path))


@pytest.mark.shared
def test_the_real_zstd_archive_equals_its_json(shared: Path) -> None:
    folder = shared / "formats" / "08_inspect"
    packed, plain = only(folder / "generated_react_tools.eval"), only(folder / "generated_react_tools.json")
    assert kinds(packed) == kinds(plain)
    names = [step.name for step in packed.steps if isinstance(step, ToolCall)]
    assert names == ["lookup"] * 3
