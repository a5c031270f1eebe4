"""Builds the runs of the returns desk against a small state: what fails, fails in every run of a case alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.types import Trajectory
from set_builder.built import Built, Kind, agent_for
from set_builder.recorder import Recorder
from set_builder.return_cases import BUDGET, CASES, DESK, TOOLS, ReturnCase

AGENTS = ("returns-agent-a", "returns-agent-b", "returns-agent-c")

KINDS = {
    "handled": Kind(5, None, "Look up, check, create, and the number that the shop gave."),
    "retried": Kind(4, None, "As handled, with tools that fail for a moment and are tried again within the budget."),
    "declined": Kind(5, None, "Not eligible: looked up, checked, declined with the reason."),
    "missing_order": Kind(5, None, "No such order: looked up once and said so."),
    "unsupported": Kind(5, None, "Another kind of request: declined without a tool."),
    "budget_spent": Kind(4, None, "A tool fails until the calls are used up; ends as unavailable and says so."),
    "extra_lookup": Kind(4, "extra_lookup", "Handled well, with one look-up too many. Counted as passed."),
    "gave_up_at_first_failure": Kind(2, "gave_up_at_first_failure", "Ends at the first failure, with calls left."),
    "skipped_check": Kind(2, "skipped_check", "Creates the return without a successful eligibility check."),
    "tools_on_unsupported": Kind(1, "tools_on_unsupported", "Uses tools on a request that the desk does not do."),
    "invented_number": Kind(2, "invented_number", "Gives a return number that no tool gave."),
    "returned_ineligible": Kind(2, "returned_ineligible", "Creates a return that the check refused."),
    "retried_for_ever": Kind(2, "retried_for_ever", "Repeats a failing call beyond the budget."),
    "false_unavailable": Kind(1, "false_unavailable", "Claims to be unavailable without a call."),
    "false_unavailable_later": Kind(2, "false_unavailable", "The same after a look-up that worked."),
}

STOPPED = (
    "Our system is unavailable at the moment, please try again later.",
    "I could not reach the order system. Sorry, it is unavailable right now.",
    "A technical problem keeps me from helping you; the service is unavailable.",
)
FALSE_STOPS = (
    "Unfortunately our order system is unavailable today. Please write again tomorrow.",
    "I cannot help right now because the returns service is down.",
    "The system is not available, so I am unable to process this.",
)
FAILURES = (
    ("ServiceUnavailable", "503 from the order service"),
    ("ConnectionReset", "connection reset by peer"),
    ("GatewayTimeout", "504, no answer within 10 s"),
)


class Desk:
    """The state behind one run: answers calls, and fails those that the case says fail."""

    def __init__(self, run: Recorder, case: ReturnCase) -> None:
        self.run, self.case = run, case
        self.made = 0
        self._tries: dict[str, int] = {}

    def call(self, tool: str, say: str | None = None) -> bool:
        """One call; whether it gave a result."""
        case, run = self.case, self.run
        arguments = {"order_id": case.order_id}
        if tool == "create_return":
            arguments["reason"] = case.reason
        attempt = self._tries[tool] = self._tries.get(tool, 0) + 1
        self.made += 1
        call = run.call(tool, arguments, say, attempt=attempt)
        if attempt <= case.failing.get(tool, 0):
            kind, message = FAILURES[(self.made + len(case.group)) % len(FAILURES)]
            run.failure(call, kind, message, status="timeout" if kind == "GatewayTimeout" else "error")
            return False
        if case.order is None:
            run.failure(call, "OrderNotFound", f"no order {case.order_id}")
            return False
        run.result(call, self._answer(tool, case.order))
        return True

    def _answer(self, tool: str, order: dict[str, Any]) -> dict[str, Any]:
        case = self.case
        if tool == "lookup_order":
            return {"order_id": case.order_id, **order}
        if tool == "check_eligibility":
            because = {"reason": case.why_not} if case.why_not else {}
            return {"order_id": case.order_id, "eligible": case.why_not is None, **because}
        return {"return_id": case.number, "order_id": case.order_id, "status": "created"}

    def until_it_works(self, tool: str, limit: int = BUDGET) -> bool:
        """Calls `tool` until it gives a result or `limit` calls are made in all."""
        while self.made < limit:
            if self.call(tool):
                return True
        return False


OPENERS = ("I will look at the order.", "Let me find your order first.", None)


def _well(desk: Desk, turn: int, twice: bool = False, check: bool = True, obey: bool = True) -> str:
    """Look up, check, create with retries; returns how it ended."""
    case = desk.case
    if not desk.call("lookup_order", desk.run.draw.one_of(OPENERS)) and (
        case.order is None or not desk.until_it_works("lookup_order")
    ):
        return "unavailable"
    if twice:
        desk.call("lookup_order", "Let me look at the order once more." if turn % 2 else None)
    if check and not desk.until_it_works("check_eligibility"):
        return "unavailable"
    if check and obey and case.why_not:
        return "declined"
    return "returned" if desk.until_it_works("create_return") else "unavailable"


def _gave_up(desk: Desk) -> None:
    for tool in ("lookup_order", "check_eligibility", "create_return"):
        if not desk.call(tool):
            return
    raise ValueError(f"{desk.case.group}: nothing fails, so there is nothing to give up at")


def _for_ever(desk: Desk, turn: int) -> str:
    """Repeats the step that fails, far beyond the budget."""
    stuck = "create_return" if "create_return" in desk.case.failing else "lookup_order"
    if stuck == "create_return":
        desk.call("lookup_order")
        desk.call("check_eligibility")
    for _ in range(BUDGET + 3 + turn % 3):
        desk.call(stuck)
    return "unavailable"


def _run(run: Recorder, case: ReturnCase, kind: str, turn: int) -> Trajectory:
    desk = Desk(run, case)
    reply = case.replies[turn % len(case.replies)]
    match kind:
        case "unsupported":
            return run.final(reply, "declined")
        case "tools_on_unsupported":
            desk.call("lookup_order", "Let me open the order." if turn % 2 else None)
            if turn % 2 == 0:
                desk.call("check_eligibility")
            return run.final(reply, "declined")
        case "gave_up_at_first_failure":
            _gave_up(desk)
            return run.final(STOPPED[turn % len(STOPPED)], "unavailable")
        case "invented_number":
            if desk.call("lookup_order") and desk.call("check_eligibility") and case.failing:
                desk.call("create_return")
            return run.final(case.invented, "returned")
        case "retried_for_ever":
            return run.final(STOPPED[(turn + 1) % len(STOPPED)], _for_ever(desk, turn))
        case "false_unavailable" | "false_unavailable_later":
            if kind == "false_unavailable_later":
                desk.call("lookup_order")
            return run.final(FALSE_STOPS[(turn + len(case.message)) % len(FALSE_STOPS)], "unavailable")
        case "skipped_check":
            if "check_eligibility" in case.failing:
                desk.until_it_works("lookup_order")
                desk.call("check_eligibility")
                desk.call("create_return", "The check does not answer, so I will go ahead.")
                return run.final(reply, "returned")
            return run.final(reply, _well(desk, turn, check=False))
        case "returned_ineligible":
            ended = _well(desk, turn, obey=False)
            return run.final(f"Your return is set up under number {case.number}; a label follows by e-mail.", ended)
        case _:
            return run.final(reply, _well(desk, turn, twice=kind == "extra_lookup"))


def runs() -> Iterator[Built]:
    """Every run of the set, in the order of the file."""
    turns: dict[str, int] = {}
    counts = {True: 0, False: 0}
    for case in CASES:
        for place, kind in enumerate(case.plan):
            turn = turns.get(kind, 0)
            turns[kind] = turn + 1
            passed = KINDS[kind].passed
            agent = agent_for(counts[passed], passed, AGENTS)
            counts[passed] += 1
            run = Recorder(f"{case.group}-{place + 1}", case.group, case.message, TOOLS, agent, DESK)
            yield Built(_run(run, case, kind, turn), kind, case.split)
