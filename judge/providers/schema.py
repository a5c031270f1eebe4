"""What a provider's own JSON decoding asks of a schema."""

from __future__ import annotations

from typing import Any

from judge.types.request import Request

LONGEST_TEXT = 240
LONGEST_LIST = 3
LAST_STEP = 999


def is_strict(schema: Any) -> bool:
    """Whether every object of `schema` names all its properties as required and allows no others.

    Strict decoding is refused for any other schema.
    """
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict) and (
            schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties)
        ):
            return False
        return all(is_strict(value) for value in schema.values())
    if isinstance(schema, list):
        return all(is_strict(value) for value in schema)
    return True


def bounded(schema: Any, *, text: int, items: int, last_step: int, quotes: bool) -> Any:
    """`schema` narrowed so that a small model comes to an end and cites what exists.

    Args:
        text: Longest string in characters, where the schema names none.
        items: Longest list.
        last_step: Highest step that may be cited; integers without a range lie in [1, last_step].
        quotes: Whether quotes may be given; otherwise every ``quote`` is the empty text, and a ``reason`` begins with
            a word and holds plain characters only, for the smallest models answer with a number there.
    """
    if isinstance(schema, list):
        return [bounded(each, text=text, items=items, last_step=last_step, quotes=quotes) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {
        key: bounded(value, text=text, items=items, last_step=last_step, quotes=quotes) for key, value in schema.items()
    }
    if "enum" in out or "const" in out:
        return out
    if out.get("type") == "string":
        out.setdefault("maxLength", text)
    elif out.get("type") == "array":
        out.setdefault("maxItems", items)
    elif out.get("type") == "integer":
        out.setdefault("minimum", 1)
        out.setdefault("maximum", max(1, last_step))
    properties = out.get("properties")
    if isinstance(properties, dict) and "quote" in properties and not quotes:
        out["properties"] = {**properties, "quote": {"type": "string", "enum": [""]}}
    elif isinstance(properties, dict) and "reason" in properties and not quotes:
        wordy = f"^[A-Z][a-z]+ [a-zA-Z0-9 ,.;:()-]{{10,{max(10, text - 20)}}}$"
        out["properties"] = {**properties, "reason": {"type": "string", "pattern": wordy}}
    return out


def for_small_model(request: Request, *, quotes: bool) -> dict[str, Any]:
    """The reply's schema as `bounded` for a small model, with the steps of this trajectory."""
    narrowed: dict[str, Any] = bounded(
        request.reply_schema,
        text=LONGEST_TEXT,
        items=LONGEST_LIST,
        last_step=max(request.subject.steps, default=LAST_STEP),
        quotes=quotes,
    )
    return narrowed


_BOUNDS = frozenset(
    {"minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minItems", "maxItems", "uniqueItems"}
)


def without_bounds(schema: Any, *, names: bool = False) -> Any:
    """`schema` without limits on lengths and numbers, which some decoders refuse. The parser checks them anyway.

    Args:
        names: The keys of `schema` are property names and no keywords.
    """
    if isinstance(schema, list):
        return [without_bounds(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: without_bounds(value, names=not names and key in {"properties", "$defs"})
        for key, value in schema.items()
        if names or key not in _BOUNDS
    }
