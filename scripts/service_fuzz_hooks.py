"""For the chains of `service_fuzz.py`: generated bodies get runs that can be read, and names that are on offer.

Random bodies are nearly always refused, and behind a refusal there is nothing to follow: jobs begun this way are what
the stateful phase polls, pages through, follows and cancels.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import schemathesis

from judge.server.scoring import EXAMPLE_CHAT, EXAMPLE_RUN

LEFT_OUT = ("judge", "rubric", "criterion", "pass_mark", "reference", "require_trust", "samples", "policy")


@schemathesis.hook
def map_body(_context: Any, body: Any) -> Any:
    """The body, or one made of it that the service takes."""
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("judges"), list):
        return {"set": "refunds", "judges": ["fake/always-4", "fake/always-2"]}
    if "queue" in body and "set" in body and "profile" in body:
        return {"set": "refunds", "claims": ["kappa"]}
    if "trajectories" not in body:
        return body
    kept = {key: value for key, value in body.items() if key not in LEFT_OUT and key != "trajectory"}
    if "id" in kept:
        kept["id"] = f"q{zlib.crc32(json.dumps(body, sort_keys=True, default=str).encode()) % 50}"
    return {**kept, "trajectories": [EXAMPLE_RUN, EXAMPLE_CHAT]}
