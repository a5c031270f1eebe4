"""What a provider's own JSON decoding asks of a schema."""

from __future__ import annotations

from typing import Any


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


def bounded(schema: Any, *, text: int, items: int) -> Any:
    """`schema` with a longest text and a longest list where it names none, so that a small model comes to an end."""
    if isinstance(schema, list):
        return [bounded(value, text=text, items=items) for value in schema]
    if not isinstance(schema, dict):
        return schema
    out = {name: bounded(value, text=text, items=items) for name, value in schema.items()}
    if out.get("type") == "string" and "enum" not in out and "const" not in out:
        out.setdefault("maxLength", text)
    if out.get("type") == "array":
        out.setdefault("maxItems", items)
    return out
