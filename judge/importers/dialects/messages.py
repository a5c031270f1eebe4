"""One message or item of any dialect into steps: each by its own looks, so that a container may hold any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from judge.importers.builder import StepBuilder
from judge.importers.dialects import (
    anthropic_messages,
    langchain_messages,
    openai_messages,
    parts_messages,
    pydantic_messages,
    responses_items,
    responses_stream,
    vercel_messages,
    vercel_stream,
)
from judge.importers.usage import read_usage
from judge.types.trajectory import Outcome, Usage

_OWN_KEYS = ("type", "parts", "kind", "lc", "toolInvocations")


class Sign(NamedTuple):
    """A dialect that a record is of, how sure that is (0 to 100), and by what mark."""

    format: str
    score: int
    evidence: str


def sign_of(item: Any) -> Sign | None:
    """The dialect that a message or item is of by marks of its own; None for plain roles with content."""
    if not isinstance(item, Mapping):
        return None
    if "role" in item and not isinstance(item.get("content"), list) and not any(key in item for key in _OWN_KEYS):
        return None
    if langchain_messages.plain_form(item) is not None:
        return Sign("langchain", 95, f"a LangChain message, type {item.get('type')!r}")
    if pydantic_messages.is_message(item):
        return Sign("pydantic-ai", 95, f"kind {item.get('kind')!r} with parts")
    if vercel_messages.is_message(item):
        return Sign("vercel-ai", 85, "role with parts of tools and steps")
    if parts_messages.is_message(item):
        return Sign("genai-messages", 80, "role with parts of text, tool_call and tool_call_response")
    if responses_items.is_item(item):
        return Sign("openai-responses", 70, f"item of type {item.get('type')!r}")
    if responses_stream.is_event(item):
        return Sign("openai-responses", 95, f"stream event {item.get('type')!r}")
    if vercel_stream.is_chunk(item):
        return Sign("vercel-ai", 85, f"stream chunk {item.get('type')!r}")
    return None


def is_message(item: Any) -> bool:
    """Whether an object is a message of some dialect, plain roles with content included."""
    if not isinstance(item, dict):
        return False
    plain = isinstance(item.get("role"), str) and any(key in item for key in ("content", "tool_calls", "function_call"))
    return plain or sign_of(item) is not None


def add_message(
    builder: StepBuilder, item: dict[str, Any], *, usage: Usage | None = None, turn: str | None = None
) -> None:
    """The steps of one message of any dialect. The turn is that of the model call it came from, where known."""
    sign = sign_of(item)
    name = sign.format if sign else ""
    if name == "langchain":
        langchain_messages.add_message(builder, item, usage=usage, turn=turn)
    elif name == "pydantic-ai":
        pydantic_messages.add_message(builder, item, usage=usage)
    elif name == "vercel-ai":
        vercel_messages.add_message(builder, item, turn=turn)
    elif name == "genai-messages":
        parts_messages.add_message(builder, item, usage=usage, turn=turn)
    elif name == "openai-responses":
        responses_items.add_item(builder, item, usage=usage, turn=turn)
    elif isinstance(item.get("content"), list) and any(map(anthropic_messages.is_block, item["content"])):
        anthropic_messages.add_message(builder, item, usage=usage or read_usage(item.get("usage")), turn=turn)
    else:
        openai_messages.add_message(builder, item, usage=usage, turn=turn)


class ForeignReader:
    """Messages, items and chunks of the dialects named by `sign_of`, in the order of one run.

    Attributes:
        outcome: How a streamed reply ended.
    """

    def __init__(self, builder: StepBuilder) -> None:
        self._builder = builder
        self._turn: str | None = None
        self._response: responses_stream.ResponseStream | None = None
        self._ui: vercel_stream.UiStream | None = None
        self.outcome: Outcome | None = None

    def take(self, item: Any) -> bool:
        """Reads an item where it is of such a dialect; False leaves it to others."""
        sign = sign_of(item)
        if sign is None:
            self._turn = None
            return False
        if responses_stream.is_event(item):
            if self._response is None or (item.get("type") == "response.created" and self._response.seen):
                self.end()
                self._response = responses_stream.ResponseStream()
            self._response.take(item)
        elif vercel_stream.is_chunk(item):
            if self._ui is None or (item.get("type") == "start" and self._ui.finished):
                self.end()
                self._ui = vercel_stream.UiStream()
            self._ui.take(item)
        else:
            self.end()
            self._message(sign, item)
        return True

    def _message(self, sign: Sign, item: dict[str, Any]) -> None:
        if sign.format != "openai-responses":
            add_message(self._builder, item)
            return
        made = not str(item.get("type")).endswith(("_output", "_response")) and item.get("role") in (None, "assistant")
        if made and self._turn is None:
            self._turn = self._builder.new_turn()
        elif not made:
            self._turn = None
        responses_items.add_item(self._builder, item, turn=self._turn)

    def end(self) -> None:
        """Writes what a stream has added up to."""
        response, self._response = self._response, None
        ui, self._ui = self._ui, None
        if response is not None:
            self.outcome = add_response(self._builder, response.whole())
            self._unfinished(response.finished)
        if ui is not None:
            vercel_messages.add_message(self._builder, ui.message())
            self.outcome = Outcome(stop_reason=ui.stop_reason) if ui.stop_reason else None
            self._unfinished(ui.finished)

    def _unfinished(self, finished: bool) -> None:
        if not finished:
            self.outcome = Outcome(status="incomplete")
            self._builder.note("UNFINISHED_STREAM", "the stream ends before its reply does", len(self._builder) or None)


def add_response(builder: StepBuilder, response: Mapping[str, Any]) -> Outcome | None:
    """The steps of a Responses API object: instructions, input where it is stored beside, output."""
    if isinstance(response.get("instructions"), str) and response["instructions"]:
        openai_messages.add_message(builder, {"role": "system", "content": response["instructions"]})
    given = response.get("input")
    if isinstance(given, str) and given:
        openai_messages.add_message(builder, {"role": "user", "content": given})
    for item in given if isinstance(given, list) else []:
        if isinstance(item, dict):
            add_message(builder, item)
    turn = response.get("id") if isinstance(response.get("id"), str) else builder.new_turn()
    usage = read_usage(response.get("usage"))
    output = response.get("output")
    calls = 0
    for item in output if isinstance(output, list) else []:
        if isinstance(item, dict):
            calls += item.get("type") in ("function_call", "custom_tool_call", "local_shell_call", "shell_call")
            calls += item.get("type") in ("apply_patch_call", "computer_call")
            responses_items.add_item(builder, item, usage=usage, turn=turn)
            usage = None
    if calls:
        where = response.get("previous_response_id")
        behind = f", perhaps behind previous_response_id {where!r}" if where else ""
        text = f"a stored response holds no tool outputs: those of its {calls} calls are in the next request{behind}"
        builder.note("RESULTS_ELSEWHERE", text, severity="info")
    status = response.get("status")
    if status == "completed":
        return Outcome(status="incomplete" if calls else "completed", stop_reason="completed")
    if isinstance(status, str):
        ends = {"failed": "failed", "cancelled": "aborted", "incomplete": "limit"}
        return Outcome(status=ends.get(status, "incomplete"), stop_reason=status)
    return None


def holds_response(record: Mapping[str, Any]) -> bool:
    """Whether an object is a stored response, or the items of a request beside those of its response."""
    if record.get("object") == "response" and isinstance(record.get("output"), list):
        return True
    output = record.get("output")
    beside = isinstance(record.get("input"), list | str)
    return (
        beside
        and isinstance(output, list)
        and any(isinstance(it, dict) and responses_items.is_item(it) for it in output)
    )
