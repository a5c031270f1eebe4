"""AutoGen 0.4 and later (task results, saved states) and AG2 chat results into steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.dialects import openai_messages
from judge.importers.envelope import Envelope
from judge.importers.fields import MISSING, mapping, objects, rest, string
from judge.importers.log import Log, Look
from judge.importers.times import instant
from judge.importers.usage import read_usage
from judge.types.trajectory import AgentTransfer, Event, Outcome

_ENDS = ("Message", "Event")


def look(record: dict[str, Any]) -> Look | None:
    """A task result, one message of it, a saved state, or a chat result of AG2."""
    if isinstance(record.get("agent_states"), dict):
        return Look("autogen", "run", "agent_states")
    if isinstance(record.get("chat_history"), list) and ("summary" in record or "cost" in record):
        return Look("autogen", "run", "chat_history beside summary or cost")
    head = objects(record.get("messages"))[:5]
    if head and all(_is_message(message) for message in head):
        return Look("autogen", "run", "messages with a source and a type that ends in Message or Event")
    return Look("autogen", "item", f"type {record['type']!r} with a source", 90) if _is_message(record) else None


def _is_message(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    return isinstance(record.get("source"), str) and isinstance(kind, str) and kind.endswith(_ENDS)


def read(record: Any) -> Iterator[Log]:
    """One run; of a saved state, one for each agent that keeps messages."""
    if isinstance(record, list):
        yield _result(record, {})
    elif isinstance(record.get("agent_states"), dict):
        for name, state in record["agent_states"].items():
            inner = mapping(mapping(state).get("agent_state")) or mapping(state)
            messages = mapping(inner.get("llm_context", inner.get("model_context"))).get("messages")
            if isinstance(messages, list):
                yield _saved(name, messages)
    elif isinstance(record.get("chat_history"), list):
        yield _chat(record)
    else:
        yield _result(record["messages"], rest(record, ("messages",)))


def _result(messages: list[Any], around: dict[str, Any]) -> Log:
    builder = StepBuilder()
    for message in messages:
        if isinstance(message, dict):
            _message(builder, message)
        else:
            index = builder.add(Event, name="record", data=message)
            builder.note("NOT_A_RECORD", f"a message is a {type(message).__name__}, not an object", index)
    reason = string(around.get("stop_reason"))
    return Log(builder, Envelope(meta=around), outcome=Outcome(stop_reason=reason) if reason else None)


def _message(builder: StepBuilder, message: dict[str, Any]) -> None:
    start = len(builder)
    kind, content = str(message.get("type")), message.get("content")
    source = string(message.get("source"))
    turn = string(message.get("id"))
    if kind == "ToolCallRequestEvent":
        _calls(builder, content, turn)
    elif kind == "ToolCallExecutionEvent":
        _results(builder, content)
    elif kind == "ThoughtEvent":
        builder.reasoning(read_content(content), turn=turn)
    elif kind == "ToolCallSummaryMessage":
        builder.add(Event, name=kind, data=content)  # repeats the results as text
    elif kind == "HandoffMessage":
        task = string(content)
        builder.add(AgentTransfer, from_agent=source, to_agent=string(message.get("target")), task=task)
    elif kind in ("TextMessage", "MultiModalMessage", "StopMessage", "StructuredMessage"):
        builder.message("user" if source == "user" else "assistant", read_content(content), turn=turn)
    else:
        builder.add(Event, name=kind, data=content)
    known = ("source", "type", "content", "created_at", "models_usage", "id", "target")
    extra = {key: value for key, value in rest(message, known).items() if value != {}}
    agent = None if source == "user" else source
    builder.fill(start, agent=agent, ts=instant(message.get("created_at")).iso, extra=extra)
    usage = read_usage(message.get("models_usage"))
    if usage is not None:
        builder.set_usage(start, usage)


def _calls(builder: StepBuilder, content: Any, turn: str | None) -> None:
    for call in objects(content):
        extra = rest(call, ("id", "name", "arguments")) or None
        arguments = call.get("arguments", MISSING)
        builder.call(call.get("name"), arguments, call_id=call.get("id"), turn=turn, extra=extra)


def _results(builder: StepBuilder, content: Any) -> None:
    for result in objects(content):
        flag = result.get("is_error")
        builder.result(
            read_content(result.get("content")),
            call_id=result.get("call_id"),
            name=string(result.get("name")),
            status="unknown" if not isinstance(flag, bool) else "error" if flag else "ok",
            extra=rest(result, ("content", "call_id", "is_error")) or None,
        )


def _saved(agent: str, messages: list[Any]) -> Log:
    """The messages that one agent kept: `type` stands for a role."""
    builder = StepBuilder()
    for message in objects(messages):
        kind, content = message.get("type"), message.get("content")
        turn = builder.new_turn()
        if kind == "FunctionExecutionResultMessage":
            _results(builder, content)
        elif kind == "AssistantMessage" and isinstance(content, list):
            if string(message.get("thought")):
                builder.reasoning(read_content(message["thought"]), turn=turn)
            _calls(builder, content, turn)
        elif kind in ("AssistantMessage", "UserMessage", "SystemMessage"):
            role = kind.removesuffix("Message").lower()
            builder.message(role, read_content(content), extra=rest(message, ("type", "content")) or None)
        else:
            builder.add(Event, name=str(kind), data=message)
    return Log(builder, Envelope(id=agent, qualified=True), f"agent_states.{agent}")


def _chat(record: dict[str, Any]) -> Log:
    """A chat result of AG2: who speaks is the name; the role is only how the other side sees it."""
    builder = StepBuilder()
    for message in objects(record.get("chat_history")):
        start = len(builder)
        responses = objects(message.get("tool_responses"))
        for response in responses:
            openai_messages.add_message(builder, {"role": "tool", **response})
        if not responses:
            openai_messages.add_message(builder, message)
        builder.fill(start, agent=string(message.get("name")))
    return Log(builder, Envelope(meta=rest(record, ("chat_history",))), final=string(record.get("summary")))
