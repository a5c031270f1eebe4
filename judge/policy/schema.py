"""JSON Schema of arguments: draft 2020-12, without fetching anything."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from judge.types.record import canonical_json


def schema_fault(schema: Any) -> str | None:
    """What keeps a schema from being used, or None.

    A reference to another document is a fault: nothing is fetched.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = ".".join(str(part) for part in error.absolute_path)
        return f"it is no JSON Schema{f' at {where!r}' if where else ''}: {error.message[:120]}"
    for target in _references(schema):
        if not target.startswith("#"):
            return f"it refers to {target!r}, and nothing is fetched: write the part into the schema"
    return None


def problem(schema: Any, arguments: Any) -> str | None:
    """What does not fit, by place and keyword and without the value; None where all does.

    Raises:
        ValueError: The schema cannot be used.
    """
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    try:
        error = best_match(_validator(canonical_json(schema)).iter_errors(arguments))
    except (Unresolvable, RecursionError):
        raise ValueError("it has a reference that leads nowhere") from None
    if error is None:
        return None
    where = ".".join(str(part) for part in error.absolute_path)
    place = where or "the arguments"
    if error.validator == "required":
        present = error.instance if isinstance(error.instance, dict) else {}
        missing = ", ".join(name for name in error.validator_value if name not in present)
        return f"{place}: {missing} is missing" if where else f"{missing} is missing"
    if error.validator == "additionalProperties":
        return f"{place} has a key that the schema does not know"
    return f"{place} breaks {error.validator}: {str(error.validator_value)[:80]}"


@lru_cache(maxsize=256)
def _validator(text: bytes) -> Any:
    import json

    from jsonschema import Draft202012Validator
    from referencing import Registry

    schema = json.loads(text)
    fault = schema_fault(schema)
    if fault is not None:
        raise ValueError(fault)
    return Draft202012Validator(schema, registry=Registry())


def _references(value: Any) -> list[str]:
    found: list[str] = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            found += [one[key] for key in ("$ref", "$dynamicRef") if isinstance(one.get(key), str)]
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
    return found
