"""Traps 1 to 11 of real trace files: arguments, pairing, content; each with a small input of our own."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from chat_records import Read, asks, calls, codes, results, tool, user

from judge.types import Media, Message, Text, Unknown


def test_01_broken_arguments_stay_as_text_and_are_not_repaired(read: Read) -> None:
    (run,) = read({"messages": [user(), asks(("c1", "weather", '{"city":"Pa')), tool("c1", "?")]})
    (call,) = calls(run)
    assert call.arguments is None
    assert call.arguments_raw == '{"city":"Pa'
    assert call.arguments_error is not None
    assert "ARGS_INVALID" in codes(run)


@pytest.mark.parametrize(
    ("given", "value", "raw"),
    [
        ({"a": 1}, {"a": 1}, None),
        ('{"a": 1}', {"a": 1}, '{"a": 1}'),
        ('"{\\"a\\": 1}"', {"a": 1}, '"{\\"a\\": 1}"'),
        ("", {}, ""),
        ("null", {}, "null"),
        (None, {}, None),
        ('"plain"', "plain", '"plain"'),
        ("[1, 2]", [1, 2], "[1, 2]"),
        ('{"a":1,"a":2}', {"a": 2}, '{"a":1,"a":2}'),
        ('{"a": NaN}', {"a": None}, '{"a": NaN}'),
    ],
)
def test_02_arguments_of_every_type_are_decoded_once(read: Read, given: Any, value: Any, raw: str | None) -> None:
    (run,) = read({"messages": [user(), asks(("c1", "f", given))]})
    (call,) = calls(run)
    assert (call.arguments, call.arguments_raw, call.arguments_error) == (value, raw, None)


def test_02_text_inside_decoded_arguments_is_not_decoded_again(read: Read) -> None:
    (run,) = read({"messages": [user(), asks(("c1", "f", '{"body": "{\\"x\\": 1}"}'))]})
    assert calls(run)[0].arguments == {"body": '{"x": 1}'}


def test_03_a_result_before_its_call_is_linked_and_the_order_kept(read: Read) -> None:
    (run,) = read(
        [
            {"type": "tool_result", "call_id": "c1", "output": "r"},
            {"type": "tool_call", "call_id": "c1", "name": "f", "args": {}},
        ]
    )
    assert [step.kind for step in run.steps] == ["tool_result", "tool_call"]
    assert (results(run)[0].call_index, results(run)[0].pairing) == (2, "id")
    assert codes(run) == ["RESULT_BEFORE_CALL"]


def test_04_a_repeated_id_joins_each_result_with_the_nearest_unanswered_call(read: Read) -> None:
    messages = [
        user(),
        asks(("c1", "search", '{"q": "x"}')),
        tool("c1", "found"),
        asks(("c1", "book", '{"n": 1}')),
        tool("c1", "booked"),
    ]
    (run,) = read({"messages": messages})
    assert [(result.index, result.call_index) for result in results(run)] == [(3, 2), (5, 4)]
    assert codes(run) == ["DUPLICATE_CALL_ID"]
    assert "another call" in run.diagnostics[0].message


def test_05_a_copy_of_a_call_inside_its_model_call_is_not_a_second_call(read: Read) -> None:
    (run,) = read(
        [
            {"type": "llm_call", "output": "looking", "tool_calls": [{"id": "c1", "name": "f", "arguments": {}}]},
            {"type": "tool_call", "call_id": "c1", "name": "f", "args": {}},
            {"type": "tool_result", "call_id": "c1", "output": "x"},
            {"type": "llm_call", "output": "again", "tool_calls": [{"id": "c2", "name": "f", "arguments": {}}]},
        ]
    )
    assert [call.call_id for call in calls(run)] == ["c1", "c2"]
    assert calls(run)[0].turn != calls(run)[1].turn


def test_05_an_agent_that_repeats_itself_is_not_deduplicated(read: Read) -> None:
    (run,) = read([{"tool": "f", "arguments": {"a": 1}, "result": "x"}] * 3)
    assert len(calls(run)) == 3


def test_06_a_missing_result_is_reported_and_not_made_up(read: Read) -> None:
    messages = [user(), asks(("c1", "f", "{}")), tool("c1", "x"), asks(("c9", "f", "{}")), user("and?")]
    (run,) = read({"messages": messages})
    assert len(results(run)) == 1
    (note,) = run.diagnostics
    assert (note.code, note.step) == ("MISSING_RESULT", 4)
    assert "goes on" in note.message


def test_06_a_call_that_waits_for_approval_says_so(read: Read) -> None:
    (run,) = read(
        [
            {"type": "tool_call", "call_id": "c1", "name": "refund", "args": {}},
            {"type": "approval", "call_id": "c1", "state": "pending"},
        ]
    )
    (note,) = run.diagnostics
    assert note.code == "MISSING_RESULT"
    assert "approval was requested" in note.message


def test_07_an_orphan_result_is_kept_without_a_call(read: Read) -> None:
    (run,) = read({"messages": [user(), asks(("c1", "f", "{}")), tool("c1", "x"), tool("zz", "ok")]})
    orphan = results(run)[1]
    assert (orphan.call_index, orphan.pairing) == (None, "none")
    assert codes(run) == ["ORPHAN_RESULT"]


@pytest.mark.parametrize("absent", [None, ""])
def test_08_results_without_ids_pair_by_order_and_name(read: Read, absent: str | None) -> None:
    messages = [
        user(),
        asks((absent, "f", "{}"), (absent, "g", "{}")),
        tool(absent, "of g", name="g"),
        tool(absent, "of f", name="f"),
    ]
    (run,) = read({"messages": messages})
    assert [(result.call_index, result.pairing) for result in results(run)] == [(3, "name"), (2, "order")]
    assert all(step.call_id is None for step in calls(run))


def test_08_legacy_function_calls_pair_by_order(read: Read) -> None:
    messages = [
        user(),
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "f", "content": "x"},
    ]
    (run,) = read({"messages": messages})
    assert calls(run)[0].arguments == {"a": 1}
    assert (results(run)[0].call_index, results(run)[0].pairing) == (2, "order")


def test_08_a_result_without_id_answers_the_last_row_of_calls_not_an_old_one(read: Read) -> None:
    (run,) = read(
        [
            {"type": "tool_call", "name": "f", "args": {"n": 1}},
            {"type": "llm_call", "output": "no answer, once more"},
            {"type": "tool_call", "name": "f", "args": {"n": 2}},
            {"type": "tool_result", "output": "x"},
        ]
    )
    assert results(run)[0].call_index == 3


def test_09_null_content_is_no_part_and_empty_text_is_told_apart(read: Read) -> None:
    messages = [
        user(),
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        {**asks(("c1", "f", "{}")), "content": ""},
    ]
    (run,) = read({"messages": messages})
    nothing, empty = run.steps[1:3]
    assert isinstance(nothing, Message)
    assert isinstance(empty, Message)
    assert nothing.content == ()
    assert empty.content == (Text(text=""),)
    assert calls(run)[0].extra == {"content": ""}
    assert "EMPTY_MESSAGE" in codes(run)


def test_10_unknown_parts_bare_strings_and_text_under_either_key_are_kept(read: Read) -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "hologram", "x": 1},
        "bare",
        {"type": "text", "content": "b"},
        {"type": "refusal", "refusal": "no"},
    ]
    (run,) = read({"messages": [user(), {"role": "assistant", "content": parts}]})
    said = run.steps[1]
    assert isinstance(said, Message)
    assert [part.type for part in said.content] == ["text", "unknown", "text", "text", "refusal"]
    assert said.content[1] == Unknown(original_type="hologram", raw={"type": "hologram", "x": 1})
    assert said.content[3] == Text(text="b")
    assert run.final == "a\nbare\nb\nno"


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(200))


@pytest.mark.parametrize("style", ["plain", "newlines", "url-safe", "no padding"])
def test_11_images_become_references_by_hash(read: Read, style: str) -> None:
    text = base64.b64encode(PNG).decode()
    if style == "newlines":
        text = "\n".join(text[at : at + 20] for at in range(0, len(text), 20))
    elif style == "url-safe":
        text = base64.urlsafe_b64encode(PNG).decode()
    elif style == "no padding":
        text = text.rstrip("=")
    part = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{text}"}}
    (run,) = read({"messages": [{"role": "user", "content": [part]}]})
    said = run.steps[0]
    assert isinstance(said, Message)
    digest = hashlib.sha256(PNG).hexdigest()
    assert said.content == (Media(type="image", media_type="image/png", sha256=digest, size_bytes=208),)
    assert text[:40] not in json.dumps(run.to_json())


def test_11_bad_base64_is_an_unknown_part_and_addresses_are_kept(read: Read) -> None:
    bad = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "!!"}}
    far = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    (run,) = read({"messages": [{"role": "user", "content": [bad, far]}]})
    said = run.steps[0]
    assert isinstance(said, Message)
    assert isinstance(said.content[0], Unknown)
    assert said.content[1] == Media(type="image", uri="https://example.org/a.png")
    assert codes(run) == ["BAD_BASE64"]
