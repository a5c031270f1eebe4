"""Arguments are equal by the meaning of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.types import ToolCall
from judge.types.json_equality import arguments_equal, call_key, json_equal, json_key

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def shuffled(value: Any) -> Any:
    """The same JSON value with the keys of every object in reverse."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(list(value))}
    return [shuffled(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ({"count": 3}, {"count": 3.0}, True),
        ({"count": -0.0}, {"count": 0}, True),
        ({"count": 2**53 + 1}, {"count": float(2**53)}, False),
        ({"x": {"b": 1, "a": [2]}}, {"x": {"a": [2.0], "b": 1}}, True),
        ('{"to": "ann", "cc": []}', {"cc": [], "to": "ann"}, True),
        ({"inner": '{"a": 1}'}, {"inner": {"a": 1}}, False),  # text is read as JSON at the top only
        (None, {}, True),
        ({}, {}, True),
        ({"on": True}, {"on": 1}, False),
        ({"on": False}, {"on": 0}, False),
        ({"on": True}, {"on": "true"}, False),
        ({"id": "7"}, {"id": 7}, False),
        ({"ids": [1, 2]}, {"ids": [2, 1]}, False),
        ({"ids": []}, {"ids": {}}, False),
        ({"note": None}, {}, False),
        ({"note": None}, {"note": ""}, False),
        ({"name": "Ann"}, {"name": "ann"}, False),
    ],
)
def test_arguments_compare_as_json(left: Any, right: Any, equal: bool) -> None:
    assert arguments_equal(left, right) is equal
    assert arguments_equal(right, left) is equal


def test_the_published_pairs_are_judged_as_listed(case: Callable[[str], dict[str, Any]]) -> None:
    entry = case("G-D30")
    found = [arguments_equal(left, right) for left, right in entry["input"]["pairs"]]
    assert found == entry["right"]["exact"]["equal"]


@given(JSON)
def test_a_value_equals_its_copy_through_text_and_any_key_order(value: Any) -> None:
    assert json_equal(value, json.loads(json.dumps(value)))
    assert json_equal(value, shuffled(value))


@given(JSON, JSON)
def test_equality_is_symmetric_and_agrees_with_canonical_text(left: Any, right: Any) -> None:
    def canonical(value: Any) -> str:
        # an oracle by text: whole floats as integers, keys sorted
        def plain(one: Any) -> Any:
            if isinstance(one, float) and one.is_integer():
                return int(one)
            if isinstance(one, dict):
                return {key: plain(inner) for key, inner in one.items()}
            return [plain(inner) for inner in one] if isinstance(one, list) else one

        return json.dumps(plain(value), sort_keys=True)

    assert json_equal(left, right) == json_equal(right, left) == (canonical(left) == canonical(right))


def test_arguments_that_did_not_parse_equal_only_the_same_text() -> None:
    def broken(text: str) -> ToolCall:
        return ToolCall(index=1, name="search", arguments_raw=text, arguments_error="cut off")

    assert call_key(broken('{"q": "a')) == call_key(broken('{"q": "a'))
    assert call_key(broken('{"q": "a')) != call_key(broken('{"q": "b'))
    assert call_key(broken("")) != call_key(ToolCall(index=1, name="search"))


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match="is set, which is not JSON"):
        json_key({"x": {1, 2}})
