"""Files that cannot be read: an error that names the file, the line and what was expected."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge.errors import AmbiguousFormat, JudgeError, TraceError, UnknownName
from judge.importers import detect, load
from judge.importers import source as source_module

GOOD = json.dumps({"id": "a", "messages": [{"role": "user", "content": "hi"}]}).encode() + b"\n"


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("header.json", "{}")
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n  \n", "is empty"),
        (b"\x00\x01\x02\x03" * 50, "binary"),
        (zipped(), "zip"),
        (b"PAR1" + bytes(40), "Parquet"),
        (b"\x28\xb5\x2f\xfd" + bytes(40), "zstd"),
        (b"<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>", "HTML"),
        (b"  <html>", "HTML"),
        (b"plain words", "is not JSON"),
        (b'{"messages": [{"role": "user",\n "content": "hi"}, {"ro', "ends in the middle"),
        (b'[\n{"role": "user", "content": "hi"},\n{"ro', "ends in the middle"),
        (b'{"messages": [', "ends in the middle"),
        (b"[" * 100_000, "nested deeper"),
        (b"[" * 500 + b"]" * 500, "nested deeper"),
        (b"{}", "nothing in it is a trajectory"),
        (b"[]", "nothing in it is a trajectory"),
        (b"7", "nothing in it is a trajectory"),
        (b'{"hello": "world"}\n{"hello": "again"}\n', "nothing in it is a trajectory"),
        (b'{"id": "a", "messages": []}', "nothing in it is a trajectory"),
        (b'{"schema": "judge.trajectory/1", "id": "a"}', "source"),
        (b'{"schema": "judge.trajectory/1", "id": "a", "source": {"format": "x"}, "steps": [], "taks": "t"}', "taks"),
        (gzip.compress(GOOD)[:-9], "does not unpack"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_what_was_found(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        list(load(path))
    assert "trace.jsonl" in str(caught.value)
    assert says in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    base = sqlite3.connect(path)
    base.execute("create table t (x)")
    base.commit()
    base.close()
    with pytest.raises(TraceError, match="SQLite"):
        load(path)


def test_a_path_that_is_not_there_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="does not exist"):
        load(tmp_path / "none.jsonl")
    with pytest.raises(TraceError, match="is a folder"):
        load(tmp_path)


def test_an_error_in_json_names_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b'{\n "messages": [\n  oops\n ]\n}')
    with pytest.raises(TraceError, match=r"trace\.json, line 3 column 3"):
        load(path)


def test_a_format_that_does_not_exist_is_suggested(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(GOOD)
    with pytest.raises(UnknownName, match="openai-chat"):
        load(path, format="openai_chat")


def test_two_formats_that_fit_equally_well_are_refused_with_the_list(tmp_path: Path) -> None:
    record = {
        "id": "a",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": []},
        ],
        "events": [{"type": "llm_call", "output": "x"}, {"type": "tool_call", "name": "f", "args": {}}],
    }
    path = tmp_path / "both.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(AmbiguousFormat, match=r"events.*openai-chat.*--format"):
        load(path)
    (chat,) = load(path, format="openai-chat")
    (log,) = load(path, format="events")
    assert [step.kind for step in chat.steps] == ["message", "message"]
    assert [step.kind for step in log.steps] == ["message", "tool_call"]


def test_the_name_of_a_file_decides_nothing(tmp_path: Path) -> None:
    for name in ("a.json", "a.jsonl", "a.log", "a"):
        path = tmp_path / name
        path.write_bytes(GOOD * 2)
        assert [run.id for run in load(path)] == ["a", "a#2"]


def test_repeated_ids_are_told_apart_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD * 3)
    runs = list(load(path))
    assert [run.id for run in runs] == ["a", "a#2", "a#3"]
    assert [[note.code for note in run.diagnostics] for run in runs[1:]] == [["DUPLICATE_TRAJECTORY_ID"]] * 2


def test_repeated_ids_may_be_left_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD * 3)
    runs = list(load(path, unique=False))
    assert [(run.id, run.diagnostics) for run in runs] == [("a", ())] * 3


def test_gzip_is_unpacked_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD * 2))
    assert len(list(load(path))) == 2
    monkeypatch.setattr(source_module, "MAX_UNPACKED", 1000)
    path.write_bytes(gzip.compress(GOOD * 1000))
    with pytest.raises(TraceError, match="unpacks to more than"):
        list(load(path))


def test_documents_written_one_after_another_are_each_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    one = json.dumps({"id": "a", "messages": [{"role": "user", "content": "hi"}]}, indent=1)
    path.write_text(one + "\n" + one.replace('"a"', '"b"'), encoding="utf-8")
    assert [run.id for run in load(path)] == ["a", "b"]


def test_a_bad_first_line_does_not_lose_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{oops\n" + GOOD)
    (run,) = load(path)
    assert [note.code for note in run.diagnostics] == ["BAD_LINE"]
    assert "line 1" in run.diagnostics[0].message


def test_standard_input_is_read_as_a_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Piped:
        buffer = io.BufferedReader(io.BytesIO(GOOD * 2))  # type: ignore[arg-type]

    monkeypatch.setattr("sys.stdin", Piped())
    runs = list(load("-", limit=1))
    assert [(run.id, run.source.path, run.source.sha256) for run in runs] == [("a", None, None)]


SEEDS: tuple[Any, ...] = (
    {"id": "a", "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
    [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]},
    ],
    {
        "system": "s",
        "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}],
    },
    {"steps": [{"type": "tool_call", "tool": "f", "input": "x", "result_ids": ["1"]}, {"type": "final", "text": "y"}]},
    {"calls": [{"tool": "f", "arguments": {"a": 1}, "result": [1], "error": {"type": "E"}}], "final": "z"},
    {
        "run_id": "r",
        "events": [{"type": "llm_call", "usage": {"input_tokens": 1}, "tool_calls": [{"id": "c"}], "ts": 1764500000}],
    },
    {"type": "approval", "decision": "approved", "call_id": "c", "ts": "2026-01-01"},
    {"type": "content_block_delta", "index": 0, "delta": {"partial_json": "{"}},
    {
        "object": "chat.completion.chunk",
        "choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "f"}}]}}],
    },
    {
        "object": "chat.completion",
        "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1},
    },
    {
        "schema_version": "ATIF-v1.7",
        "agent": {"name": "a"},
        "steps": [
            {
                "source": "agent",
                "message": "m",
                "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
                "observation": {"results": [{"source_call_id": "c", "content": "x"}]},
                "metrics": {"prompt_tokens": 1},
            }
        ],
        "final_metrics": {"total_prompt_tokens": 1},
    },
    {
        "schema": "judge.trajectory/1",
        "id": "a",
        "source": {"format": "x"},
        "steps": [{"kind": "final", "index": 1, "text": "t"}],
    },
)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**25), 10**25) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "role", "id", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*path, key))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@pytest.fixture(scope="module")
def attempt(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], None]:
    """Reads bytes as a file; anything but a JudgeError goes through. What was read can be written."""
    path = tmp_path_factory.mktemp("mutated") / "trace.jsonl"

    def attempt(content: bytes) -> None:
        path.write_bytes(content)
        with contextlib.suppress(JudgeError):
            for run in load(path):
                json.dumps(run.to_json(), allow_nan=False, ensure_ascii=False).encode()

    return attempt


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_mutated_value_gives_trajectories_or_an_error_of_ours(
    attempt: Callable[[bytes], None], data: st.DataObject
) -> None:
    value = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 3))):
        value = replaced(value, data.draw(st.sampled_from(places(value))), data.draw(JSON_VALUES))
    lines = data.draw(st.sampled_from([1, 2]))
    attempt(b"\n".join([json.dumps(value).encode()] * lines))


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutated_bytes_give_trajectories_or_an_error_of_ours(
    attempt: Callable[[bytes], None], data: st.DataObject
) -> None:
    seeds = data.draw(st.lists(st.sampled_from(SEEDS), min_size=1, max_size=3))
    content = bytearray(b"\n".join(json.dumps(seed).encode() for seed in seeds))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        end = at + data.draw(st.integers(0, 12))
        content[at:end] = data.draw(st.binary(max_size=6))
        if not content:
            break
    attempt(bytes(content))


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: "+".join(map(str, list(seed)[:2]))[:40])
def test_every_seed_is_recognised(tmp_path: Path, seed: Any) -> None:
    path = tmp_path / "seed.json"
    path.write_text(json.dumps(seed), encoding="utf-8")
    assert detect(path)
    assert list(load(path))
