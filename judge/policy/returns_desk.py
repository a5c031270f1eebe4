"""A simulated returns desk: look up an order, check that it may go back, create the return; a tool may fail.

Eligible: the order exists, is delivered, is returnable, and was delivered at most 30 days ago. A request for anything
but a return needs no tool. A missing order and a used-up call budget end as unavailable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from judge.errors import UsageError
from judge.policy.environment import Answer, Goal
from judge.types.record import Record

LAST_DAY = 30
BUDGET = 6
TOOLS = ("lookup_order", "check_eligibility", "create_return")
_NUMBER = re.compile(r"\bRT-\d+\b")


class Order(Record):
    """One order of the shop; `days_since_delivery` is None before it is delivered."""

    item: str
    status: Literal["packed", "in transit", "delivered"]
    days_since_delivery: int | None = Field(default=None, ge=0)
    returnable: bool = True

    @property
    def why_not(self) -> str | None:
        """Why it may not go back, or None."""
        if self.status != "delivered" or self.days_since_delivery is None:
            return "not delivered"
        if not self.returnable:
            return "not returnable"
        if self.days_since_delivery > LAST_DAY:
            return f"delivered {self.days_since_delivery} days ago, limit {LAST_DAY}"
        return None


class DeskState(Record):
    """The first state of a desk.

    Attributes:
        wants_return: Whether the customer asks for a return; the desk does nothing else.
        order_id: The order that the customer names, or None.
        failing: For a tool, how many of its first calls fail.
        budget: Calls that one request may use.
    """

    wants_return: bool
    order_id: str | None = None
    orders: dict[str, Order] = {}
    failing: dict[str, int] = {}
    budget: int = Field(default=BUDGET, ge=1)


class ReturnsDesk:
    """An environment for `judge.policy.replay`, and the world that agents of the desk run in."""

    tools: Collection[str] = TOOLS

    def __init__(self, state: DeskState | Mapping[str, Any] | None = None) -> None:
        """
        Raises:
            UsageError: No state is given, or it is not one of a desk.
        """
        if state is None:
            raise UsageError(
                "A returns desk needs its first state: the orders and what the customer asks for.",
                hint="Give it as JSON with --state FILE (docs/suites.md).",
            )
        try:
            self._first = state if isinstance(state, DeskState) else DeskState.model_validate(state)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise UsageError(f"The state of the returns desk is wrong at {where!r}: {first['msg']}.") from None
        self.max_calls: int | None = self._first.budget
        self._calls = 0
        self._tries: dict[str, int] = {}
        self._found: set[str] = set()
        self._checked: dict[str, bool] = {}
        self._returns: dict[str, str] = {}

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """One call; the tool fails as often as the state says, before it looks at anything."""
        self._calls += 1
        self._tries[tool] = self._tries.get(tool, 0) + 1
        if self._tries[tool] <= self._first.failing.get(tool, 0):
            return Answer(status="failed", message="503 from the order service")
        id = arguments.get("order_id")
        if not isinstance(id, str) or id != self._first.order_id:
            return Answer(status="wrong_id", message=f"order {id!r} is not the one that the customer named")
        order = self._first.orders.get(id)
        if order is None:
            return Answer(status="missing", message=f"no order {id}")
        if tool == "lookup_order":
            self._found.add(id)
            return Answer(value={"order_id": id, **order.model_dump(mode="json")})
        if tool == "check_eligibility":
            if id not in self._found:
                return Answer(status="precondition", message=f"{id} was not looked up before it was checked")
            self._checked[id] = order.why_not is None
            because = {"reason": order.why_not} if order.why_not else {}
            return Answer(value={"order_id": id, "eligible": order.why_not is None, **because})
        return self._create(id)

    def _create(self, id: str) -> Answer:
        if id not in self._checked:
            return Answer(status="precondition", message=f"{id} was not checked before the return was created")
        if not self._checked[id]:
            return Answer(status="precondition", message=f"{id} may not go back: its check said so")
        number = self._returns.setdefault(id, f"RT-{1001 + len(self._returns)}")
        return Answer(value={"return_id": number, "order_id": id, "status": "created"})

    def state(self) -> Mapping[str, Any]:
        """Returns by order, and the number of calls."""
        return {"returns": dict(self._returns), "calls": self._calls}

    @property
    def should_return(self) -> bool:
        """Whether a right run leaves a return: it is asked for, allowed, and within reach of the budget."""
        order = self._first.orders.get(self._first.order_id or "")
        in_reach = len(TOOLS) + sum(self._first.failing.get(tool, 0) for tool in TOOLS) <= self._first.budget
        return self._first.wants_return and order is not None and order.why_not is None and in_reach

    def goal(self) -> Goal:
        """A return for the order exactly where one should be, and no call for a request that is not the desk's."""
        if not self._first.wants_return:
            reached = self._calls == 0
            detail = "no tool was used" if reached else f"{self._calls} calls for a request that the desk does not do"
            return Goal(reached=reached, detail=detail, calls_needed=False)
        id = self._first.order_id or ""
        there = id in self._returns
        detail = f"a return of {id} {'exists' if there else 'does not exist'}"
        if there != self.should_return:
            detail += f", and it {'should' if self.should_return else 'should not'}"
        return Goal(reached=there == self.should_return, detail=detail)

    def unsupported(self, text: str, status: str | None) -> Collection[str]:
        """Return numbers that nobody gave, and an ending that the state does not bear out."""
        given = set(self._returns.values())
        invented = [number for number in _NUMBER.findall(text) if number not in given]
        wrong = [f"the return number {number} was given by no tool" for number in invented]
        id = self._first.order_id or ""
        if status == "returned" and id not in self._returns:
            wrong.append(f"it ends as returned, and there is no return of {id}")
        if status == "declined" and self._first.wants_return and self._checked.get(id) is not False:
            wrong.append(f"it ends as declined, and no check refused {id}")
        if status != "returned" and id in self._returns:
            wrong.append(f"it ends as {status or 'unsaid'}, and a return of {id} exists")
        return wrong
