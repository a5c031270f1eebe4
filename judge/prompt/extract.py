"""Text of a reply → the one JSON object that is the answer, or why there is none.

Strict first. What is undone, in this order and only after the step before failed: one code fence around
the whole reply; a leading closed block of visible thoughts; a trailing comma outside of strings. In free
text the answer must be the only object of its shape, or every one the same: a run can plant a verdict in
what the judge quotes, so neither the first nor the last may win.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

_FENCE = "```"
_LANGUAGE = re.compile(r"[\w+-]*")
_THOUGHTS = re.compile(r"\s*<(think|thinking)>", re.IGNORECASE)
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)


class Found(NamedTuple):
    """What a reply holds.

    Attributes:
        status: "ok", "unparsed", "ambiguous" or "truncated".
        value: The answer; None unless ok.
        repaired: Whether a trailing comma was removed.
        free: Whether the answer stood among other text.
    """

    status: Literal["ok", "unparsed", "ambiguous", "truncated"]
    value: dict[str, Any] | None = None
    message: str = ""
    repaired: bool = False
    free: bool = False


class _Twice(ValueError):
    """A key of one object has two different values."""


def extract(text: str, is_answer: Callable[[dict[str, Any]], bool]) -> Found:
    """The answer in `text`.

    Args:
        text: Not blank.
        is_answer: Whether an object has the shape of an answer.
    """
    try:
        return _extract(text, is_answer)
    except _Twice as error:
        return Found("ambiguous", message=f"The reply gives two values for one key: {error}.")
    except RecursionError:
        return Found("unparsed", message="The reply is nested too deeply to be an answer.")


def _extract(text: str, is_answer: Callable[[dict[str, Any]], bool]) -> Found:
    body = text.strip().removeprefix("\ufeff").strip()
    opened = False
    while True:
        for candidate in _unwrapped(body):
            value = _decode(candidate)
            if value is not _NOTHING:
                return _whole(value, is_answer)
        if opened or not (thoughts := _THOUGHTS.match(body)):
            break
        opened = True
        closing = re.compile(rf"</{thoughts.group(1)}>", re.IGNORECASE).search(body, thoughts.end())
        if closing is None:
            return Found("truncated", message="The reply ends inside its visible thoughts, before any answer.")
        body = body[closing.end() :].strip()
        if not body:
            return Found("unparsed", message="The reply holds thoughts and no answer.")
    for candidate in _unwrapped(body):
        if candidate[:1] == "{":
            repaired = _STRING_OR_COMMA.sub(lambda found: "" if found.group() == "," else found.group(), candidate)
            if repaired != candidate and (value := _decode(repaired)) is not _NOTHING:
                return _whole(value, is_answer)._replace(repaired=True)
    return _scan(body, is_answer)


_NOTHING = object()


def _unwrapped(body: str) -> Iterator[str]:
    yield body
    if len(body) > 2 * len(_FENCE) and body.startswith(_FENCE) and body.endswith(_FENCE):
        inner = body[len(_FENCE) : -len(_FENCE)]
        yield _LANGUAGE.sub("", inner, count=1).strip()


def _whole(value: Any, is_answer: Callable[[dict[str, Any]], bool]) -> Found:
    if isinstance(value, dict) and is_answer(value):
        return Found("ok", value)
    return Found("unparsed", message="The reply is JSON, but not an object with the keys that were asked for.")


def _scan(body: str, is_answer: Callable[[dict[str, Any]], bool]) -> Found:
    answers: list[dict[str, Any]] = []
    rest: list[str] = []
    at = seen = 0
    tries = 0
    while (at := body.find("{", at)) >= 0 and tries < 2000:
        tries += 1
        try:
            value, end = _decoder.raw_decode(body, at)
        except _Twice:
            raise
        except ValueError:
            at += 1
            continue
        if isinstance(value, dict) and is_answer(value):
            answers.append(value)
            rest.append(body[seen:at])
            seen = end
        at = end
    rest.append(body[seen:])
    if not answers:
        return Found("unparsed", message="The reply holds no JSON object with the keys that were asked for.")
    if any(answer != answers[0] for answer in answers):
        return Found("ambiguous", message=f"The reply holds {len(answers)} verdicts that differ.")
    if any('"score"' in text for text in rest):
        return Found("ambiguous", message="The reply holds a verdict beside the remains of another.")
    return Found("ok", answers[0], free=True)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out and (out[key] != value or type(out[key]) is not type(value)):
            raise _Twice(repr(key)[:80])
        out[key] = value
    return out


def _constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant)


def _decode(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except _Twice:
        raise
    except ValueError:
        return _NOTHING
