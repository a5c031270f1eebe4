"""Counts of calls and results on the raw JSON of a trace file, by rules that know nothing of our importers."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Counts(NamedTuple):
    calls: int
    results: int


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object at any depth."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from objects(item)


def records(path: Path) -> list[Any]:
    """The values in a file: its lines, its one value, the files of a folder, the samples of a deflated archive."""
    if path.is_dir():
        return [json.loads(file.read_bytes()) for file in sorted(path.glob("event-*.json"))]
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/")]
            return [{"samples": [json.loads(archive.read(name))]} for name in names]
    text = path.read_text(encoding="utf-8")
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def _inspect(values: list[Any]) -> Counts:
    messages = [m for value in values for sample in value["samples"] for m in sample["messages"]]
    return Counts(sum(len(m.get("tool_calls") or []) for m in messages), sum(m.get("role") == "tool" for m in messages))


def _swe(values: list[Any]) -> Counts:
    history = values[0]["history"]
    return Counts(sum(len(m.get("tool_calls") or []) for m in history), sum(m["role"] == "tool" for m in history))


def _openhands(values: list[Any]) -> Counts:
    events = values[0] if isinstance(values[0], list) else values
    if "kind" in events[0]:
        told = [e for e in events if e["kind"].endswith("Observation") or e["kind"] == "AgentErrorEvent"]
        return Counts(sum(e["kind"] == "ActionEvent" for e in events), len(told))
    talk = ("message", "system", "recall", "change_agent_state")
    asked = {e["id"] for e in events if e.get("action", "message") not in talk}
    return Counts(len(asked), sum("observation" in e and e.get("cause") in asked for e in events))


def _blocks(value: Any) -> list[dict[str, Any]]:
    message = value.get("message") if isinstance(value, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _claude(values: list[Any]) -> Counts:
    types = [block.get("type") for value in values for block in _blocks(value)]
    return Counts(types.count("tool_use"), types.count("tool_result"))


def _codex(values: list[Any]) -> Counts:
    kinds = [v["payload"].get("type") for v in values if v["type"] == "response_item"]
    items = {v["item"]["id"]: v["item"]["type"] for v in values if v["type"].startswith("item.")}
    tools = [kind for kind in items.values() if kind in ("command_execution", "mcp_tool_call", "file_change")]
    asked = sum(str(kind).endswith("_call") for kind in kinds) + len(tools)
    return Counts(asked, sum(str(kind).endswith("_call_output") for kind in kinds) + len(tools))


def _adk(values: list[Any]) -> Counts:
    found = list(objects(values))
    asked = sum(isinstance(item.get(key), dict) for item in found for key in ("functionCall", "function_call"))
    told = sum(isinstance(item.get(key), dict) for item in found for key in ("functionResponse", "function_response"))
    expected = sum(len(item.get("tool_uses") or []) for item in found)
    return Counts(asked + expected, told + sum(len(item.get("tool_responses") or []) for item in found))


def _autogen(values: list[Any]) -> Counts:
    by_type = {kind: [m for m in values[0]["messages"] if m["type"] == kind] for kind in _AUTOGEN}
    return Counts(*(sum(len(m["content"]) for m in messages) for messages in by_type.values()))


_AUTOGEN = ("ToolCallRequestEvent", "ToolCallExecutionEvent")


def _mcp(values: list[Any]) -> Counts:
    asked = [json.dumps(v["id"]) for v in values if v.get("method") == "tools/call"]
    return Counts(len(asked), sum("method" not in v and json.dumps(v.get("id")) in asked for v in values))


def _openclaw(values: list[Any]) -> Counts:
    found = list(objects(values))
    return Counts(
        sum(item.get("type") == "toolCall" for item in found), sum(item.get("role") == "toolResult" for item in found)
    )


def _openai(values: list[Any]) -> Counts:
    found = list(objects(values))
    asked = sum(len(item["tool_calls"]) for item in found if isinstance(item.get("tool_calls"), list))
    return Counts(asked, sum(item.get("role") == "tool" for item in found))


def _atif(values: list[Any]) -> Counts:
    steps = values[0]["steps"]
    told = sum(len((step.get("observation") or {}).get("results") or []) for step in steps)
    return Counts(sum(len(step.get("tool_calls") or []) for step in steps), told)


COUNTERS: tuple[tuple[str, Callable[[list[Any]], Counts]], ...] = (
    ("08_inspect/*.json", _inspect),
    ("08_inspect/2025*.eval", _inspect),
    ("08_inspect/log_*.eval", _inspect),
    ("09_swe_openhands/*.traj", _swe),
    ("09_swe_openhands/mini*.json", _openai),
    ("09_swe_openhands/openhands*", _openhands),
    ("10_claude_code_codex/claude*", _claude),
    ("10_claude_code_codex/codex*", _codex),
    ("11_atif/*.json", _atif),
    ("12_tau/tau_bench*.json", _openai),
    ("15_google_adk/*.json", _adk),
    ("18_autogen_crewai/autogen*.json", _autogen),
    ("19_mcp/*.jsonl", _mcp),
    ("20_custom_jsonl/openclaw*.jsonl", _openclaw),
)
"""Files, by a pattern below the folder of formats, and the rule by which their calls and results are counted."""
FOLDERS = tuple(dict.fromkeys(pattern.split("/")[0] for pattern, _ in COUNTERS))


def counted(path: Path) -> Counts | None:
    """Calls and results in a raw file; None where no rule is written for it."""
    for pattern, rule in COUNTERS:
        if path.match(pattern):
            return rule(records(path))
    return None
