"""Scripted answers to the question which of two runs is better.

A word of the script ("X" for the run that stands first, "Y", "tie") or {winner: X, reason: ..., evidence: [X1, Y2]} is
the answer itself. `strengths` decides by the runs instead, whatever their place::

    strengths: {run-1: 3, run-2: 1}   # the stronger one wins, equal ones tie
    first_bonus: 1                    # added to the run that stands first: a judge that prefers the first place
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from judge.errors import RequestRefused
from judge.types.request import Request

FIRST, SECOND, TIE = "X", "Y", "tie"
PAIR_WORDS = (FIRST, SECOND, TIE)
PAIR_KEYS = ("strengths", "first_bonus")


def is_pair(request: Request) -> bool:
    """Whether the request is about two runs."""
    return request.subject.against is not None


def stronger(script: Mapping[str, Any], request: Request, name: str) -> str:
    """The winner by the script's strengths.

    Raises:
        RequestRefused: The script gives one of the runs no strength.
    """
    strengths = script["strengths"]
    pair = request.subject.trajectory_id, request.subject.against
    for run in pair:
        if run not in strengths:
            raise RequestRefused(
                f"{name}: the script gives no strength to run {run!r}.", provider=name, reason="not_in_script"
            )
    first, second = (float(strengths[run]) for run in pair)
    lead = first + float(script.get("first_bonus", 0)) - second
    return TIE if lead == 0 else FIRST if lead > 0 else SECOND


def pair_text(request: Request, given: Mapping[str, Any]) -> str | None:
    """The reply as JSON text: flat for one criterion, keyed by criterion id for several; None without a winner."""
    if "text" in given:
        return str(given["text"])
    winner = given.get("winner", given.get("score"))
    if winner is None:
        return None
    cited = given.get("evidence")
    if cited is None:
        cited = [f"{FIRST}{step}" for step in request.subject.steps[:1]]
    evidence = [entry if isinstance(entry, dict) else {"step": entry, "quote": ""} for entry in cited]
    answer = {"reason": str(given.get("reason", "Scripted.")), "evidence": evidence, "winner": winner}
    names = list(request.subject.criteria)
    return json.dumps(answer if len(names) == 1 else dict.fromkeys(names, answer), ensure_ascii=False)
