"""Environment: a small world with tools and state, in which a recorded trace can be played again.

An environment is the user's own code. It is named on the command line or given in Python, never in a data file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, Protocol

from judge.types.record import Record

AnswerStatus = Literal["ok", "missing", "wrong_id", "precondition", "failed"]


class Answer(Record):
    """What a tool of an environment gives back.

    Attributes:
        status: "missing": what was asked for does not exist, which is evidence; "wrong_id": it exists or not, and
            nobody gave the agent this id; "precondition": a step that has to come first was skipped or failed;
            "failed": the tool failed for a moment and may be tried again.
        value: Of an "ok" answer, JSON.
        message: Of any other.
    """

    status: AnswerStatus = "ok"
    value: Any = None
    message: str = ""


class Goal(Record):
    """Whether the state is as a right run leaves it.

    Attributes:
        calls_needed: False where a right run makes no call at all.
    """

    reached: bool
    detail: str
    calls_needed: bool = True


class Environment(Protocol):
    """A world to replay in; one instance for one trace, in its first state."""

    tools: Collection[str]
    """Names of the tools there are."""
    max_calls: int | None
    """Calls that one run may make, or None."""

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """The answer to a call; changes the state. Only called for names in `tools`."""
        ...

    def state(self) -> Mapping[str, Any]:
        """The state now, JSON."""
        ...

    def goal(self) -> Goal:
        """Read from the state alone; what the agent says of it plays no part."""
        ...

    def unsupported(self, text: str, status: str | None) -> Collection[str]:
        """Claims of the final answer that the state does not bear out, in words; empty where all hold."""
        ...
