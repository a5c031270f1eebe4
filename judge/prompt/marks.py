"""How text of a run is written so that it cannot pass for ours: line prefixes, disarmed control tokens, the mark.

Three defences, each enough for its own threat. Every line of a run's text is prefixed, so that none can
begin like a step or a closing line. Control tokens of chat templates get a visible backslash. The closing
line carries a hash of what it closes, which no text can contain in advance.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from pydantic_core import to_jsonable_python

PREFIX = "| "
"""Begins every line of a run's text that does not stand on the line of its step."""

_CONTROL = re.compile(
    r"<(?=\\*(?:[|｜]|/?s>|</?SYS>>|/?(?:think|thinking|tool_call|tool_response|bos|eos|pad|unk|mask|sep|cls"
    r"|start_of_turn|end_of_turn|start_of_image|repo_?name|file_sep|filename|gh_stars|empty_output"
    r"|(?:jupyter|issue|commit|fim)_\w+)>))"
    r"|\[(?=\\*/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT)\])"
)
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NAME = re.compile(r"[\w.:/@+-]{1,200}")


def disarm(text: str) -> str:
    r"""`text` with a backslash inside every control token of a known chat template: ``<|im_end|>`` → ``<\|im_end|>``.

    Taking one backslash out again gives the original, also where it had some. Characters that steer a
    terminal or turn the writing direction, and lone surrogates, become visible escapes such as ``\x1b``.
    """
    if "<" in text or "[" in text:
        text = _CONTROL.sub(lambda found: found.group() + "\\", text)
    if not text.isprintable():
        text = _UNSEEN.sub(_escape, text)
    return text


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def lines_of(text: str) -> list[str]:
    """`text` cut at every line break that any reader may see, each line disarmed."""
    return [disarm(line) for line in text.splitlines()]


@lru_cache(maxsize=4096)
def inline(name: str) -> str:
    """A name of the run (tool, agent, status) that is safe inside a line of ours: bare, or as a JSON string."""
    if _NAME.fullmatch(name):
        return name
    return disarm(json.dumps(name))


_encoder = json.JSONEncoder(ensure_ascii=False, default=to_jsonable_python)


def json_text(value: Any) -> str:
    """`value` as JSON on one line, never as a Python literal."""
    text = _encoder.encode(value)
    return text if text.isprintable() else _UNSEEN.sub(_escape, text)


def prefixed(lines: Iterable[str]) -> list[str]:
    """Disarmed lines of a run as they stand below a line of ours."""
    return [PREFIX + line if line else PREFIX.rstrip() for line in lines]


def mark_of(body: str) -> str:
    """16 hex digits that close `body`: the head of its sha256, so that equal prompts are equal bytes."""
    return hashlib.sha256(body.encode("utf-8")).hexdigest()[:16]
