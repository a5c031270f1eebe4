"""Cursors of paged lists: where the last page ended, as a text that clients hand back without reading it.

A cursor holds the sort key of the last row that was given and no count of rows: rows that come or go meanwhile neither
repeat nor hide another one.
"""

from __future__ import annotations

import base64
import json
from typing import Annotated

from fastapi import Query

from judge.server.problems import Problem

Cursor = Annotated[
    str | None,
    Query(max_length=4000, description="`next` of the page before. It stays valid when rows are added or taken away."),
]
Limit = Annotated[int, Query(ge=1, le=1000, description="Most rows of one page.")]


def write_cursor(*key: str | int) -> str:
    """The cursor for a sort key."""
    text = json.dumps(key, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, *kinds: type[str] | type[int]) -> tuple[str | int, ...] | None:
    """The sort key of a cursor, whose parts are of `kinds`; None without one.

    Raises:
        Problem: 422 for a text that is no cursor of this list.
    """
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        key = json.loads(text)
    except (ValueError, RecursionError):
        key = None
    if not isinstance(key, list) or len(key) != len(kinds) or not all(map(_fits, key, kinds)):
        raise Problem(
            422, "bad_cursor", f"{cursor[:40]!r} is no cursor of this list.", hint="Send `next` as it was given."
        )
    return tuple(key)


def _fits(part: object, kind: type[str] | type[int]) -> bool:
    if isinstance(part, str):
        return kind is str and "\x00" not in part and not any("\ud800" <= char <= "\udfff" for char in part)
    return type(part) is kind and isinstance(part, int) and 0 <= part < 2**31
