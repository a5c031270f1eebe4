"""MCP logs, JSON-RPC messages with or without a wrapper, into the tool side of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.dialects.openai_messages import result_content
from judge.importers.envelope import Envelope, read_tools
from judge.importers.fields import MISSING, first, mapping, objects, rest, string
from judge.importers.log import Log, Look
from judge.importers.times import instant
from judge.types.trajectory import Approval, ErrorStep, Event, StepError, Tool

_TIMES = ("ts", "timestamp", "time", "@timestamp")
_WAYS = ("dir", "direction", "from", "sender")


def look(record: dict[str, Any]) -> Look | None:
    """One message, or a wrapper around one."""
    found = _message_in(record)
    if found is None:
        return None
    return Look("mcp", "item", "jsonrpc 2.0" if found is record else "jsonrpc 2.0 inside a wrapper", 100)


def _message_in(record: dict[str, Any]) -> dict[str, Any] | None:
    if record.get("jsonrpc") == "2.0":
        return record
    return next((v for v in record.values() if isinstance(v, dict) and v.get("jsonrpc") == "2.0"), None)


def read(records: list[Any]) -> Iterator[Log]:
    """The one connection of a log. Ids are matched within a direction, and 5 is not "5"."""
    yield _Connection().read(records)


class _Connection:
    """Reads the messages of one connection in order."""

    def __init__(self) -> None:
        self._builder = StepBuilder()
        self._open: dict[tuple[Any, str, Any], tuple[str, int]] = {}
        self._tools: dict[str, Tool] = {}
        self._meta: dict[str, Any] = {}

    def read(self, records: list[Any]) -> Log:
        for record in records:
            for each in record if isinstance(record, list) else [record]:
                message = _message_in(each) if isinstance(each, dict) else None
                if message is None:
                    index = self._builder.add(Event, name="record", data=each)
                    self._builder.note("NOT_A_RECORD", "a line is no JSON-RPC message", index)
                    continue
                start = len(self._builder)
                wrapper = {} if message is each else {k: v for k, v in each.items() if v is not message}
                way = string(first(wrapper, _WAYS))
                if "method" in message:
                    self._request(message, way)
                else:
                    self._answer(message, way)
                ts = first(wrapper, _TIMES)
                left = rest(wrapper, [key for key in _TIMES if key in wrapper])
                self._builder.fill(start, ts=instant(None if ts is MISSING else ts).iso, extra=left)
        return Log(self._builder, Envelope(tools=tuple(self._tools.values()), meta=self._meta))

    def _request(self, message: dict[str, Any], way: str | None) -> None:
        method, params = str(message.get("method")), mapping(message.get("params"))
        number = message.get("id")
        if method == "tools/call":
            extra = {"id": number, **rest(params, ("name", "arguments"))}
            index = self._builder.call(
                params.get("name"), params.get("arguments", MISSING), call_id=self._name(number, way), extra=extra
            )
        elif method == "elicitation/create":
            index = self._builder.add(Approval, state="requested", reason=string(params.get("message")), extra=message)
        else:
            index = self._builder.add(Event, name=method, data=rest(message, ("jsonrpc", "method")) or None)
        if "id" in message:
            self._open[(way, type(number).__name__, str(number))] = (method, index)

    def _name(self, number: Any, way: str | None) -> str:
        text = f'"{number}"' if isinstance(number, str) else str(number)
        return f"{way}:{text}" if way else text

    def _answer(self, message: dict[str, Any], way: str | None) -> None:
        number = message.get("id")
        method, index = self._asked(number, way)
        result = message.get("result")
        error = mapping(message.get("error"))
        if method == "tools/call" and index is not None:
            self._result(message, index, error)
        elif method == "elicitation/create":
            action = mapping(result).get("action")
            state = {"accept": "approved", "decline": "denied", "cancel": "denied"}.get(str(action), "requested")
            self._builder.add(Approval, state=state, extra=message)
        elif error:
            kind, text = string(error.get("code")), string(error.get("message"))
            self._builder.add(ErrorStep, type=kind, message=text, extra={"id": number, "data": error.get("data")})
        else:
            if method is None:
                self._builder.note("ORPHAN_RESULT", f"an answer to a request {number!r} that is not in the log")
            for tool in objects(mapping(result).get("tools")) if method == "tools/list" else []:
                for read_ in read_tools([{**tool, "parameters": tool.get("inputSchema")}]):
                    self._tools.setdefault(read_.name, read_)
            if method == "initialize":
                self._meta = mapping(result)
            data = rest(message, ("jsonrpc",))
            self._builder.add(Event, name=f"{method} result" if method else "result", data=data)

    def _asked(self, number: Any, way: str | None) -> tuple[str | None, int | None]:
        """The open request that an answer is to: asked the other way where the log tells ways apart."""
        kind = type(number).__name__
        keys = [key for key in self._open if key[1:] == (kind, str(number))]
        key = next((key for key in keys if key[0] != way), keys[0] if keys else None)
        return self._open.pop(key) if key is not None else (None, None)

    def _result(self, message: dict[str, Any], index: int, error: dict[str, Any]) -> None:
        result = mapping(message.get("result"))
        content, value = result_content(result.get("content"))
        flag = result.get("isError")
        self._builder.result(
            content,
            call_id=self._builder.call_id_of(index),
            structured=result.get("structuredContent", value),
            status="error" if error or flag is True else "ok" if flag is False else "unknown",
            error=StepError(type=string(error.get("code")), message=string(error.get("message"))) if error else None,
            nested_in=index,
            by_id=True,
            extra=rest(result, ("content", "structuredContent", "isError")) or None,
        )
