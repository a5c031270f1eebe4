"""The object around a run's steps: its id, its task, what is a label and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from judge.importers.fields import mapping, objects, string
from judge.importers.mapping import RunKeys
from judge.types.trajectory import Tool

ITEM_KEYS = ("steps", "trajectory", "events", "messages", "traj", "conversations", "calls", "tool_calls", "history")
"""Keys that may hold the list of steps."""

LIST_KEYS = ("trajectories", "runs", "traces", "records", "results", "items", "data", "samples", "examples")
"""Keys that may hold a list of whole runs."""

FINAL_KEYS = ("final", "final_answer", "final_output", "final_response", "output", "response")
"""Keys that hold the final answer beside a list of calls."""

_ID = ("trajectory_id", "id", "run_id", "record_id", "session_id", "conversation_id", "trace_id")
_TASK = ("task", "question", "Question", "query", "goal", "prompt", "input", "instruction", "problem_statement")
_GROUP = ("group", "group_id", "case_id", "task_id", "query_index", "instance_id")
_LABELS = frozenset(
    {
        "reward",
        "rewards",
        "score",
        "scores",
        "label",
        "labels",
        "ground_truth",
        "gold",
        "expected",
        "expected_output",
        "expected_answer",
        "answers",
        "reference",
        "success",
        "resolved",
        "passed",
        "task_success",
        "final_label",
        "step_labels",
        "reward_info",
        "utility",
        "security",
        "human_label",
        "human_score",
        "annotations",
        "Annotator Metadata",
    }
)


class Envelope(NamedTuple):
    """What surrounds the steps.

    Attributes:
        id: The record's own id, or None where it has none; `qualified` when it wants the file's name before it.
        final: The final answer, where the record has one beside its steps.
        labels: Rewards, scores, gold: never shown to a judge.
        meta: All the rest, never shown either.
    """

    id: str | None = None
    qualified: bool = False
    task: str | None = None
    group: str | None = None
    final: str | None = None
    tools: tuple[Tool, ...] = ()
    labels: dict[str, Any] = {}
    meta: dict[str, Any] = {}


def read_envelope(record: Mapping[str, Any], taken: str | None, keys: RunKeys, *, with_final: bool = False) -> Envelope:
    """The envelope of a record whose steps stand under the key `taken`."""
    left = {key: value for key, value in record.items() if key != taken}
    name, qualified = _id(record, keys)
    for id_key in (*keys.id, *_ID):
        if name is not None and left.get(id_key) == name:
            del left[id_key]
            break
    task = next((record[key] for key in (*keys.task, *_TASK) if isinstance(record.get(key), str) and record[key]), None)
    group = next((text for key in (*keys.group, *_GROUP) if (text := string(record.get(key))) is not None), None)
    final: str | None = None
    if with_final:
        key = next((key for key in FINAL_KEYS if isinstance(record.get(key), str)), None)
        final = left.pop(key) if key else None
    tools = read_tools(left.get("tools"))
    if tools and len(tools) == len(left["tools"]):
        del left["tools"]
    labels: dict[str, Any] = {}
    for key in [key for key in left if key in _LABELS or key in keys.labels]:
        value = left.pop(key)
        if key == "labels" and isinstance(value, dict):
            labels.update(value)
        elif value is not None:
            labels[key] = value
    for key in (*keys.task, *_TASK):
        if task is not None and left.get(key) == task:
            del left[key]
            break
    meta = mapping(left.pop("meta", None)) if isinstance(left.get("meta"), dict) else {}
    meta = {**meta, **{key: value for key, value in left.items() if value is not None}}
    return Envelope(name, qualified, task, group, final, tools, labels, meta)


def _id(record: Mapping[str, Any], keys: RunKeys) -> tuple[str | None, bool]:
    for key in (*keys.id, *_ID):
        text = string(record.get(key))
        if text is not None:
            return text, isinstance(record.get(key), int)
    for case, repeat, word in (("task_id", "trial", "trial"), ("query_index", "sample_index", "sample")):
        text, number = string(record.get(case)), string(record.get(repeat))
        if text is not None:
            return text if number is None else f"{text}-{word}{number}", not isinstance(record.get(case), str)
    for key in ("total_index", "instance_id", "case_id", "index"):
        text = string(record.get(key))
        if text is not None:
            return text, isinstance(record.get(key), int)
    return None, False


def read_tools(value: Any) -> tuple[Tool, ...]:
    """Tool definitions as OpenAI, Anthropic and ATIF write them; those without a name are left out."""
    tools: list[Tool] = []
    for entry in objects(value):
        body = mapping(entry.get("function")) or entry
        name = string(body.get("name"))
        if name is None:
            continue
        schema = body.get("parameters", body.get("input_schema"))
        tools.append(Tool(name=name, description=string(body.get("description")), parameters=schema))
    return tuple(tools)
