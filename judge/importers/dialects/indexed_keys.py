"""Attributes whose keys hold indices (`llm.input_messages.10.message.role`) into lists of messages, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.importers.dialects.spans import decoded
from judge.importers.fields import mapping, objects

_ROOTS = ("llm", "openinference", "gen_ai", "input", "output", "tool", "session", "traceloop")
MAX_INDEX = 10_000
"""Largest index that is taken for one."""


def flat(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes with dotted keys, from those that some exports nest."""
    out: dict[str, Any] = {}
    for key, value in attributes.items():
        if key in _ROOTS and isinstance(value, dict):
            _flatten(key, value, out)
        else:
            out[key] = value
    return out


def _flatten(prefix: str, value: Any, out: dict[str, Any]) -> None:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            _flatten(f"{prefix}.{key}", item, out)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for at, item in enumerate(value):
            _flatten(f"{prefix}.{at}", item, out)
    else:
        out[prefix] = value


def tree(attributes: Mapping[str, Any], prefix: str) -> Any:
    """What stands under a prefix, nested; keys that are all numbers make a list, in the order of the numbers."""
    root: dict[str, Any] = {}
    start = prefix + "."
    for key, value in attributes.items():
        if not key.startswith(start):
            continue
        at = root
        *path, last = key.removeprefix(start).split(".")
        for part in path:
            inner = at.setdefault(part, {})
            if not isinstance(inner, dict):
                inner = at[part] = {"": inner}
            at = inner
        if isinstance(at.get(last), dict):
            at[last][""] = value
        else:
            at[last] = value
    return _listed(root)


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdigit() and len(key) < 6 and int(key) <= MAX_INDEX for key in value):
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(item) for key, item in value.items()}


def messages_under(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """Messages of indexed keys in the shape of the OpenAI chat API; empty where there are none."""
    found = tree(attributes, prefix)
    return [_message(mapping(item.get("message")) or item) for item in objects(found)]


def _message(item: dict[str, Any]) -> dict[str, Any]:
    known = ("contents", "tool_calls")
    out = {key: value for key, value in item.items() if key not in known}
    out.setdefault("role", "assistant" if "tool_calls" in item or "finish_reason" in item else "user")
    contents = objects(item.get("contents"))
    if contents:
        out["content"] = [_part(mapping(part.get("message_content")) or part) for part in contents]
    out.setdefault("content", None)
    if isinstance(out["content"], str) and out["content"].lstrip().startswith("[{"):
        parts = decoded(out["content"])
        if isinstance(parts, list) and all(isinstance(part, dict) and "type" in part for part in parts):
            out["content"] = parts
    calls = [mapping(call.get("tool_call")) or call for call in objects(item.get("tool_calls"))]
    if calls:
        out["tool_calls"] = calls
    return out


def _part(part: dict[str, Any]) -> dict[str, Any]:
    image = mapping(mapping(part.get("image")).get("image"))
    return {"type": "image", "url": image.get("url")} if image else part


def tools_under(attributes: Mapping[str, Any]) -> list[Any]:
    """Definitions of tools in OpenInference's and OpenLLMetry's indexed keys."""
    out: list[Any] = []
    for item in objects(tree(attributes, "llm.tools")):
        out.append(decoded(mapping(item.get("tool")).get("json_schema")))
    for item in objects(tree(attributes, "llm.request.functions")):
        out.append({**item, "parameters": decoded(item.get("parameters"))})
    return out
