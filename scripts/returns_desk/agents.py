"""Two agents of the returns desk, by rule and without a model: they differ in what they do when a tool fails.

They see the customer's message and what the tools answer, never the state behind them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from set_builder.recorder import Recorder
from set_builder.return_cases import DESK, TOOLS

from judge.policy.environment import Answer
from judge.policy.returns_desk import BUDGET, ReturnsDesk
from judge.types import Trajectory
from judge.types.suite import AgentTask

_ORDER = re.compile(r"\bFW-\d+\b")
_INTENT = re.compile(r"\b(return|take back|send back)\b", re.IGNORECASE)


def baseline(task: AgentTask) -> Trajectory:
    """Looks up any order that is named, and ends at the first failure."""
    return _solve(task, reads_intent=False, retries=False)


def candidate(task: AgentTask) -> Trajectory:
    """Checks first whether a return is asked for, and tries again while calls are left."""
    return _solve(task, reads_intent=True, retries=True)


class _Session:
    """One request at the desk: the calls are made and recorded."""

    def __init__(self, task: AgentTask, name: str, *, retries: bool) -> None:
        states = json.loads((Path(task.folder) / "states.json").read_text(encoding="utf-8"))
        self.desk = ReturnsDesk(states["groups"][task.case])
        self.run = Recorder(f"{task.case}-{task.attempt}", task.case, task.task, TOOLS, name, DESK)
        self._left = BUDGET
        self._retries = retries

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """The last answer: of the first try, or of as many as the budget has where this agent tries again."""
        attempt = 0
        while True:
            attempt += 1
            self._left -= 1
            call = self.run.call(tool, arguments, attempt=attempt)
            answer = self.desk.call(tool, arguments)
            if answer.status == "ok":
                self.run.result(call, answer.value)
            else:
                self.run.failure(call, answer.status, answer.message)
            if answer.status != "failed" or not self._retries or self._left == 0:
                return answer


def _solve(task: AgentTask, *, reads_intent: bool, retries: bool) -> Trajectory:
    session = _Session(task, "candidate" if retries else "baseline", retries=retries)
    text, status = _handle(session, task.task, reads_intent=reads_intent)
    left = json.dumps(session.desk.state())
    (Path(task.folder) / "left.json").write_text(left + "\n", encoding="utf-8")
    return session.run.final(text, status)


def _handle(session: _Session, message: str, *, reads_intent: bool) -> tuple[str, str]:
    """The final reply and its status."""
    if reads_intent and not _INTENT.search(message):
        return "This desk arranges returns only, so I cannot help with that.", "declined"
    found = _ORDER.search(message)
    if found is None:
        return "Please tell me the number of your order.", "declined"
    id = found.group()
    looked = session.call("lookup_order", {"order_id": id})
    if looked.status == "missing":
        return f"I cannot find an order {id}.", "unavailable"
    if looked.status != "ok":
        return "Our order system does not answer. Please write again later.", "unavailable"
    checked = session.call("check_eligibility", {"order_id": id})
    if checked.status != "ok":
        return "The check does not answer. Please write again later.", "unavailable"
    if not checked.value["eligible"]:
        return f"{id} cannot be returned: {checked.value['reason']}.", "declined"
    made = session.call("create_return", {"order_id": id, "reason": "customer's wish"})
    if made.status != "ok":
        return "The return could not be created. Please write again later.", "unavailable"
    return f"Your return is set up under number {made.value['return_id']}.", "returned"
