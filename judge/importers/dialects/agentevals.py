"""Graph trajectories of agentevals: names of the nodes that ran, without messages or arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.dialects.messages import add_message
from judge.importers.dialects.payloads import read_payload
from judge.importers.envelope import Envelope
from judge.importers.fields import rest
from judge.importers.log import Log, Look
from judge.types.trajectory import Approval, Event

INTERRUPT = "__interrupt__"


def look(record: dict[str, Any]) -> Look | None:
    """An object of `results` and `steps`, each step a list of names."""
    steps = record.get("steps")
    if not isinstance(steps, list) or "results" not in record or not steps:
        return None
    names = all(isinstance(turn, list) and all(isinstance(name, str) for name in turn) for turn in steps)
    return Look("agentevals", "run", "results and steps that are lists of node names", 95) if names else None


def read(record: Any) -> Iterator[Log]:
    """One run: the input of each turn, its nodes as events (an interrupt as a request for approval), its result."""
    builder = StepBuilder()
    inputs, results = _turns(record.get("inputs")), _turns(record.get("results"))
    for at, names in enumerate(record["steps"]):
        _say(builder, inputs, at, "user")
        for name in names:
            if name == INTERRUPT or name.endswith(f":{INTERRUPT}"):
                builder.add(Approval, state="requested", extra={"node": name})
                continue
            graph, _, node = name.rpartition(":")
            builder.add(Event, name=node, data={"node": name}, agent=graph or None)
        _say(builder, results, at, "assistant")
    builder.note(
        "NODES_ONLY", "the file names the nodes that ran, not their messages, calls or results", severity="info"
    )
    yield Log(builder, Envelope(meta=rest(record, ("inputs", "results", "steps"))))


def _turns(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _say(builder: StepBuilder, turns: list[Any], at: int, role: str) -> None:
    if at >= len(turns) or turns[at] == INTERRUPT:
        return
    payload = read_payload(turns[at], role)
    for message in payload.messages[-1:] if role == "assistant" else payload.messages:
        add_message(builder, message)
    for value in payload.rest:
        builder.add(Event, name="result" if role == "assistant" else "input", data=value)
