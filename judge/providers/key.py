"""Cache keys: one sha256 over everything that can change a reply."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import orjson

from judge.types.record import canonical_json
from judge.types.request import Request

KEY_VERSION = 1
KNOWN = 64
"""Samples and rubrics whose common parts are remembered."""
_GAP = "the run stands here: 2b1f0f3f9a7d4c58"
"""Holds the place of a run's text; no fixed text of a prompt holds it."""

Payload = Callable[[Request], dict[str, Any]]


def cache_key(payload: Payload, request: Request) -> str:
    """Key of one sample: sha256 of the call as it would be sent, of the sample's index and of our versions."""
    return hashlib.sha256(_keyed(payload, request)).hexdigest()


def _keyed(payload: Payload, request: Request) -> bytes:
    return canonical_json(
        {
            "payload": payload(request),
            "sample": request.sample,
            "versions": request.versions,
            "key": KEY_VERSION,
        }
    )


class RunKeys:
    """The same keys, where a payload holds the second segment, the run's text, once and as it is.

    What the requests have in common is then hashed once, and for each only the run's text and what follows it.
    """

    def __init__(self, payload: Payload) -> None:
        self._payload = payload
        self._known: dict[tuple[int, str], tuple[Any, Any, bytes]] = {}

    def of(self, request: Request) -> str:
        """What `cache_key` gives."""
        if len(request.segments) < 2:
            return cache_key(self._payload, request)
        first, run, *rest = request.segments
        asked = (request.system, first, rest, request.reply_name, request.reply_schema)
        common = (*asked, request.sampling, request.versions)
        known = self._known.get((request.sample, first))
        if known is None or known[0] != common:
            if len(self._known) >= KNOWN:
                self._known.clear()
            gap = request.model_copy(update={"segments": (first, _GAP, *rest)})
            head, _, tail = _keyed(self._payload, gap).partition(_GAP.encode())
            known = self._known[request.sample, first] = common, hashlib.sha256(head), tail
        whole = known[1].copy()
        whole.update(orjson.dumps(run)[1:-1])
        whole.update(known[2])
        return str(whole.hexdigest())
