"""Texts of traces on a page: escaped by the template, and here without what the eye cannot see."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


def visible(text: object) -> str:
    """`text` with every control, bidirectional and invisible character as its name, e.g. ⟨ESC⟩ or ⟨U+202E⟩."""
    return _HIDDEN.sub(_name, str(text))


def _name(found: re.Match[str]) -> str:
    char = found[0]
    if char == "\x1b":
        return "⟨ESC⟩"
    if char == "\r":
        return ""
    return f"⟨U+{ord(char):04X}⟩"
