"""One message of the Vercel AI SDK into steps: UI messages (v4 to v6) and model messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import Content, read_content
from judge.importers.dialects.openai_messages import result_content
from judge.importers.fields import MISSING, mapping, objects, rest, string
from judge.types.trajectory import Approval, Event, ResultStatus, StepError

_DONE: dict[str, ResultStatus] = {"output-available": "ok", "output-error": "error", "output-denied": "denied"}
_UI_PARTS = ("step-start", "dynamic-tool", "tool-invocation", "source-url", "source-document")
_MODEL_PARTS = frozenset({"tool-call", "tool-result", "tool-approval-request", "tool-approval-response"})
_OUTPUT: dict[str, ResultStatus] = {
    "error-text": "error",
    "error-json": "error",
    "execution-denied": "denied",
    "text": "ok",
    "json": "ok",
    "content": "ok",
}


def is_message(item: Mapping[str, Any]) -> bool:
    """Whether a record is a UI message, or a model message with tool parts."""
    if not isinstance(item.get("role"), str):
        return False
    parts = item.get("parts")
    if isinstance(parts, list) and "kind" not in item:
        types = [str(part.get("type")) for part in objects(parts)]
        tools = any(kind in _UI_PARTS or kind.startswith("tool-") for kind in types)
        return tools or ("id" in item and bool(types) and types[0] != "None")
    if isinstance(item.get("toolInvocations"), list):
        return True
    return any(str(part.get("type")) in _MODEL_PARTS for part in objects(item.get("content")))


def add_message(builder: StepBuilder, item: dict[str, Any], *, turn: str | None = None) -> None:
    """The steps of one message; a tool part of the UI is a call, its approval and its result at once."""
    writer = _Writer(builder, item, turn)
    parts = item.get("parts")
    if not isinstance(parts, list):
        content = item.get("content")
        parts = content if isinstance(content, list) else [content] if content not in (None, "") else []
        parts = [
            *parts,
            *({"type": "tool-invocation", "toolInvocation": it} for it in objects(item.get("toolInvocations"))),
        ]
    for part in parts:
        writer.take(part)
    writer.end()


class _Writer:
    """The parts of one message in order; text is gathered until a tool comes."""

    def __init__(self, builder: StepBuilder, item: dict[str, Any], turn: str | None) -> None:
        self._builder = builder
        self._role = str(item["role"]) if item.get("role") in ("system", "user", "assistant", "tool") else "other"
        self._new = turn is None and self._role == "assistant"
        self._turn = turn or (builder.new_turn() if self._new else None)
        self._extra = rest(item, ("role", "parts", "content", "toolInvocations"))
        self._said: list[Any] = []
        self._steps = 0
        self.wrote = False

    def take(self, part: Any) -> None:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str) or kind == "text":
            self._said.append(part if isinstance(part, str) else rest(part, ("state",)))
        elif kind in ("file", "image"):
            self._said.append(_media(part))
        elif kind == "step-start":
            self.flush()
            self._steps += 1
            if self._new and self._steps > 1:
                self._turn = self._builder.new_turn()
        elif kind == "reasoning":
            self.flush()
            self._builder.reasoning(read_content(part.get("text", part.get("reasoning"))), **self._common())
        elif kind == "tool-call":
            self.flush()
            self._call(part)
        elif kind == "tool-result":
            self.flush()
            self._result(part)
        elif kind in ("tool-approval-request", "tool-approval-response"):
            self.flush()
            self._approval(part, kind)
        elif kind == "tool-invocation":
            self.flush()
            self._tool(_from_invocation(mapping(part.get("toolInvocation"))))
        elif isinstance(kind, str) and (kind == "dynamic-tool" or kind.startswith("tool-")):
            self.flush()
            self._tool({**part, "toolName": part.get("toolName") or kind.removeprefix("tool-")})
        else:
            self.flush()
            self._builder.add(Event, name=str(kind), data=part, **self._common())

    def flush(self) -> None:
        if self._said:
            said, self._said = self._said, []
            content = read_content(said[0]) if len(said) == 1 and isinstance(said[0], str) else read_content(said)
            self._builder.message(self._role, content, **self._common())

    def end(self) -> None:
        self.flush()
        if not self.wrote:
            self._builder.message(self._role, Content(), **self._common())

    def _common(self, extra: dict[str, Any] | None = None) -> dict[str, Any]:
        merged = {**self._extra, **(extra or {})}
        self._extra, self.wrote = {}, True
        return {"turn": self._turn, "extra": merged or None}

    def _call(self, part: dict[str, Any]) -> int:
        known = (
            "type",
            "toolCallId",
            "toolName",
            "input",
            "args",
            "rawInput",
            "output",
            "errorText",
            "approval",
            "state",
        )
        given = part.get("input", part.get("args", part.get("rawInput", MISSING)))
        invalid = given.get("INVALID_JSON") if isinstance(given, dict) and len(given) == 1 else None
        given = invalid if isinstance(invalid, str) else given
        extra = rest(part, known)
        return self._builder.call(part.get("toolName"), given, call_id=part.get("toolCallId"), **self._common(extra))

    def _tool(self, part: dict[str, Any]) -> None:
        index = self._call(part)
        state = str(part.get("state"))
        approval = mapping(part.get("approval"))
        if approval or state.startswith("approval-"):
            self._decision(part, approval, index)
        if state not in _DONE:
            return
        status = _DONE[state]
        value = part.get("output")
        content, structured = result_content(value)
        error = None
        if status == "error":
            error = StepError(message=string(part.get("errorText")))
            if error.message == "An error occurred.":
                self._builder.note("ERROR_MASKED", "the source masks the text of errors", index, severity="info")
        self._builder.result(
            content,
            call_id=part.get("toolCallId"),
            structured=structured,
            status=status,
            error=error,
            nested_in=index,
            turn=self._turn,
        )

    def _decision(self, part: dict[str, Any], approval: dict[str, Any], index: int) -> None:
        fields: dict[str, Any] = {"call_id": string(part.get("toolCallId")), "call_index": index, "turn": self._turn}
        extra = {"approval_id": approval["id"]} if approval.get("id") else None
        fields.update(tool=string(part.get("toolName")), extra=extra)
        self._builder.add(Approval, state="requested", **fields)
        if isinstance(approval.get("approved"), bool):
            state = "approved" if approval["approved"] else "denied"
            self._builder.add(Approval, state=state, reason=string(approval.get("reason")), **fields)

    def _result(self, part: dict[str, Any]) -> None:
        output = part.get("output", part.get("result"))
        status: ResultStatus = "error" if part.get("isError") is True else "unknown"
        error = None
        if isinstance(output, dict) and output.get("type") in _OUTPUT:
            status = _OUTPUT[str(output["type"])]
            value = output.get("value", output.get("reason"))
            if status == "error":
                error = StepError(message=value if isinstance(value, str) else None)
            output = value
        content, structured = result_content(output)
        extra = rest(part, ("type", "toolCallId", "toolName", "output", "result", "isError"))
        self._builder.result(
            content,
            call_id=part.get("toolCallId"),
            name=string(part.get("toolName")),
            structured=structured,
            status=status,
            error=error,
            **self._common(extra),
        )

    def _approval(self, part: dict[str, Any], kind: str) -> None:
        given = part.get("approved")
        state = "requested" if kind.endswith("request") else "approved" if given is True else "denied"
        extra = rest(part, ("type", "toolCallId", "approved", "reason"))
        self._builder.add(
            Approval,
            state=state,
            call_id=string(part.get("toolCallId")),
            reason=string(part.get("reason")),
            **self._common(extra),
        )


def _from_invocation(call: dict[str, Any]) -> dict[str, Any]:
    """A tool invocation of version 4 as a tool part of version 5."""
    left = rest(call, ("state", "args", "result"))
    shape = {**left, "state": "input-available"}
    if "args" in call:
        shape["input"] = call["args"]
    if call.get("state") == "result":
        shape |= {"state": "output-available", "output": call.get("result")}
    return shape


def _media(part: dict[str, Any]) -> dict[str, Any]:
    media = str(part.get("mediaType") or part.get("mimeType") or "")
    family = "image" if part.get("type") == "image" else media.split("/")[0]
    shape: dict[str, Any] = {"type": family if family in ("image", "audio", "video") else "document"}
    if media:
        shape["media_type"] = media
    address = next((part[key] for key in ("url", "data", "image") if isinstance(part.get(key), str)), None)
    remote = address is not None and address[:5].lower() in ("data:", "http:", "https")
    return {**shape, "url" if remote else "data": address}
