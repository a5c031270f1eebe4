"""One message of the Anthropic API into steps: its blocks in order, server tools and nested calls included."""

from __future__ import annotations

from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import Content, read_content
from judge.importers.dialects.openai_messages import result_content
from judge.importers.fields import MISSING, rest, string
from judge.types.trajectory import Event, StepError, Usage

CALL_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
THOUGHT_BLOCKS = frozenset({"thinking", "redacted_thinking"})


def is_block(item: Any) -> bool:
    """Whether a content part is a block that only the Anthropic API has."""
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(kind, str):
        return False
    return kind in CALL_BLOCKS or kind in THOUGHT_BLOCKS or _is_result(kind)


def _is_result(kind: str) -> bool:
    return kind == "tool_result" or kind.endswith("_tool_result")


def add_message(
    builder: StepBuilder, message: dict[str, Any], *, usage: Usage | None = None, turn: str | None = None
) -> None:
    """The steps of one message: text between tool blocks is a message, each tool block a call or a result."""
    role = message.get("role")
    if role not in ("user", "assistant", "system"):
        index = builder.add(Event, name=f"role:{role}" if isinstance(role, str) else "message", data=message)
        builder.note("UNKNOWN_ROLE", f"a message of role {role!r} was kept as an event", index)
        return
    extra = rest(message, ("role", "content", "type", "id", "usage", "stop_reason", "stop_sequence"))
    if role == "assistant":
        turn = string(message.get("id")) or turn or builder.new_turn()
    writer = _Blocks(builder, role, turn, usage, extra)
    content = message.get("content")
    for block in content if isinstance(content, list) else [content]:
        writer.take(block)
    writer.flush()
    if not writer.wrote:
        builder.message(role, read_content(None), turn=turn, usage=usage, extra=extra or None)


class _Blocks:
    """The blocks of one message, text gathered until a tool block comes."""

    def __init__(
        self, builder: StepBuilder, role: str, turn: str | None, usage: Usage | None, extra: dict[str, Any]
    ) -> None:
        self._builder = builder
        self._role = role
        self._turn = turn
        self._usage = usage
        self._extra = extra
        self._said: list[Any] = []
        self._calls: dict[str, int] = {}
        self.wrote = False

    def take(self, block: Any) -> None:
        kind = block.get("type") if isinstance(block, dict) else None
        if block is None:
            return
        if not isinstance(kind, str) or not is_block(block):
            self._said.append(block)
            return
        self.flush()
        if kind in THOUGHT_BLOCKS:
            redacted = kind == "redacted_thinking"
            text = block.get("thinking")
            content = read_content(text if isinstance(text, str) else None)
            self._builder.reasoning(content, redacted=redacted, **self._common(rest(block, ("type", "thinking"))))
        elif kind in CALL_BLOCKS:
            self._call(block, kind)
        else:
            self._result(block, kind)

    def flush(self) -> None:
        if not self._said:
            return
        self._builder.message(self._role, read_content(self._said), **self._common({}))
        self._said = []

    def _common(self, extra: dict[str, Any]) -> dict[str, Any]:
        merged = {**self._extra, **extra}
        common = {"turn": self._turn, "usage": self._usage, "extra": merged or None}
        self._usage, self._extra, self.wrote = None, {}, True
        return common

    def _call(self, block: dict[str, Any], kind: str) -> None:
        extra = rest(block, ("type", "id", "name", "input"))
        if kind != "tool_use":
            extra["block"] = kind
        caller = block.get("caller")
        outer = self._calls.get(str(caller.get("tool_id"))) if isinstance(caller, dict) else None
        index = self._builder.call(
            block.get("name"),
            block.get("input", MISSING),
            call_id=block.get("id"),
            parent=outer,
            **self._common(extra),
        )
        if isinstance(block.get("id"), str):
            self._calls[block["id"]] = index

    def _result(self, block: dict[str, Any], kind: str) -> None:
        extra = rest(block, ("type", "tool_use_id", "content", "is_error"))
        if kind != "tool_result":
            extra["block"] = kind
        value = block.get("content")
        flag = block.get("is_error")
        error: StepError | None = None
        if kind not in ("tool_result", "mcp_tool_result"):
            content, structured = Content(), value
            if isinstance(value, dict) and str(value.get("type")).endswith("_error"):
                error = StepError(type=string(value.get("error_code")), message=string(value.get("error_message")))
                flag = True
        else:
            content, structured = result_content(value)
        self._builder.result(
            content,
            call_id=block.get("tool_use_id"),
            structured=structured,
            status="error" if flag is True else "ok" if flag is False else "unknown",
            error=error,
            **self._common(extra),
        )
