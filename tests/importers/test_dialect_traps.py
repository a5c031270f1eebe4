"""The traps of real trace files, over every format of tracers and SDKs in which each can occur."""

from __future__ import annotations

from typing import Any

import pytest
from chat_records import Read, calls, codes, results
from trace_writers import WRITERS, Turn

from judge.types import Trajectory

USER: Turn = ("user", "go")
END: Turn = ("assistant", "done")
every_format = pytest.mark.parametrize("name", WRITERS)
# Formats whose arguments are text: the others cannot hold text that is not JSON.
TEXT = ("responses", "pydantic-ai", "genai-messages", "otel", "openinference", "langfuse", "mlflow")


def written(read: Read, name: str, *turns: Turn) -> Trajectory:
    (run,) = read(WRITERS[name][1](turns))
    assert run.source.format == WRITERS[name][0]
    return run


def pairs(run: Trajectory) -> list[tuple[str, Any]]:
    """Text of each result with the arguments of the call that it answers."""
    by_index = {call.index: call for call in calls(run)}
    told = []
    for result in results(run):
        asked = by_index.get(result.call_index or 0)
        words = result.to_json()["content"][0]["text"]
        told.append((words, asked.arguments if asked else None))
    return told


@every_format
def test_a_plain_run_is_the_same_in_every_format(read: Read, name: str) -> None:
    run = written(read, name, USER, ("call", "c1", "f", '{"a": 1}'), ("result", "c1", "f", "r"), END)
    assert [step.kind for step in run.steps] == ["message", "tool_call", "tool_result", "message"]
    assert (run.task, run.final) == ("go", "done")
    assert pairs(run) == [("r", {"a": 1})]
    assert [result.pairing for result in results(run)] == ["id"]


@pytest.mark.parametrize("name", TEXT)
def test_01_broken_arguments_stay_text(read: Read, name: str) -> None:
    run = written(read, name, USER, ("call", "c1", "f", '{"city":"Pa'), ("result", "c1", "f", "?"), END)
    (call,) = calls(run)
    assert (call.arguments, call.arguments_raw) == (None, '{"city":"Pa')
    assert "ARGS_INVALID" in codes(run)


@every_format
@pytest.mark.parametrize(
    ("given", "value"), [('{"a": 1}', {"a": 1}), ('"{\\"a\\": 1}"', {"a": 1}), ("", {}), ({"a": 1}, {"a": 1})]
)
def test_02_arguments_of_every_type_are_decoded(read: Read, name: str, given: Any, value: Any) -> None:
    if name == "openinference" and not isinstance(given, str):
        given = str(given).replace("'", '"')  # an attribute holds text only
    assert calls(written(read, name, USER, ("call", "c1", "f", given), END))[0].arguments == value


@every_format
def test_04_a_repeated_id_joins_the_nearest_unanswered_call(read: Read, name: str) -> None:
    turns = [("call", "c1", "search", '{"q": 1}'), ("result", "c1", "search", "found")]
    turns += [("call", "c1", "book", '{"n": 2}'), ("result", "c1", "book", "booked")]
    run = written(read, name, USER, *turns, END)
    assert pairs(run) == [("found", {"q": 1}), ("booked", {"n": 2})]
    assert codes(run).count("DUPLICATE_CALL_ID") == 1


@every_format
def test_05_the_same_call_made_twice_is_two_calls(read: Read, name: str) -> None:
    turns = [
        ("call", "c1", "f", "{}"),
        ("result", "c1", "f", "r"),
        ("call", "c2", "f", "{}"),
        ("result", "c2", "f", "r"),
    ]
    run = written(read, name, USER, *turns, END)
    assert (len(calls(run)), len(results(run))) == (2, 2)


@every_format
def test_06_a_missing_result_is_not_made_up(read: Read, name: str) -> None:
    run = written(read, name, USER, ("call", "c1", "f", "{}"), ("assistant", "hm"), USER, END)
    assert results(run) == []
    assert "MISSING_RESULT" in codes(run)


@every_format
def test_07_an_orphan_result_is_kept(read: Read, name: str) -> None:
    run = written(read, name, USER, ("call", "c1", "f", "{}"), ("result", "zz", "f", "ok"), END)
    (result,) = results(run)
    assert (result.call_index, result.pairing) == (None, "none")
    assert "ORPHAN_RESULT" in codes(run)


@every_format
@pytest.mark.parametrize("empty", [None, ""])
def test_08_without_ids_results_join_by_order(read: Read, name: str, empty: str | None) -> None:
    turns = [("call", empty, "f", '{"n": 1}'), ("result", empty, "f", "a")]
    turns += [("call", empty, "f", '{"n": 2}'), ("result", empty, "f", "b")]
    run = written(read, name, USER, *turns, END)
    assert pairs(run) == [("a", {"n": 1}), ("b", {"n": 2})]
    assert {call.call_id for call in calls(run)} == {None}


@every_format
def test_15_a_lone_surrogate_and_a_control_character_read(read: Read, name: str) -> None:
    run = written(read, name, USER, ("call", "c1", "f", "{}"), ("result", "c1", "f", "a\ud83d\u0000b"), END)
    (told, _) = pairs(run)[0]
    assert told.startswith("a\ufffd")


@every_format
def test_25_text_that_speaks_of_an_error_is_no_error(read: Read, name: str) -> None:
    run = written(read, name, USER, ("call", "c1", "f", "{}"), ("result", "c1", "f", "Error: denied by user"), END)
    assert [result.status for result in results(run)] == ["unknown"]
