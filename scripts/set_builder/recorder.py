"""Records a scripted run as a trajectory, with a clock, durations and token counts drawn from its id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

from judge.types import (
    Agent,
    Approval,
    Final,
    Message,
    Outcome,
    Retry,
    Source,
    Step,
    StepError,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)

T = TypeVar("T")
Failure = Literal["error", "timeout"]
FIRST_DAY = datetime(2026, 11, 12, 8, 0, 0)  # after the last date in any record; runs start within 16 days


class Draw:
    """Numbers from a name: the same on every machine and every Python, unlike `random`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1."""
        self._count += 1
        digest = hashlib.sha256(f"{self._name}/{self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def between(self, low: float, high: float) -> float:
        """A number in [low, high], to the millisecond."""
        return round(low + (high - low) * self.below(10_000) / 9_999, 3)

    def one_of(self, options: Sequence[T]) -> T:
        """One of `options`."""
        return options[self.below(len(options))]


class Recorder:
    """One run in the making: call the methods in the order in which things happened."""

    def __init__(self, id: str, group: str, task: str, tools: Sequence[Tool], agent: str, system: str = "") -> None:
        self.draw = Draw(id)
        self._id, self._group, self._task = id, group, task
        self._tools, self._agent = tuple(tools), agent
        self._now = FIRST_DAY + timedelta(
            days=self.draw.below(16), minutes=self.draw.below(540), milliseconds=self.draw.below(60_000)
        )
        self._steps: list[Step] = []
        self._turns = 0
        self._calls = 0
        self._seen_chars = 1800 + len(task)  # instructions and tool schemas come before the task
        self._spent = [0, 0]
        if system:
            self._steps.append(Message(**self._common(0.0), role="system", content=(Text(text=system),)))
        self._steps.append(Message(**self._common(0.0), role="user", content=(Text(text=task),)))

    def _common(self, seconds: float) -> dict[str, Any]:
        ts = self._now.isoformat(timespec="milliseconds") + "Z"
        self._now += timedelta(seconds=seconds)
        return {"index": len(self._steps) + 1, "ts": ts, "seconds": seconds or None}

    def _turn(self, written: str) -> dict[str, Any]:
        """A model call that wrote `written`: its turn, agent and usage."""
        self._turns += 1
        used = Usage(input_tokens=self._seen_chars // 4, output_tokens=12 + len(written) // 4)
        self._spent[0] += used.input_tokens or 0
        self._spent[1] += used.output_tokens or 0
        self._seen_chars += len(written) + 40
        return {"turn": f"t{self._turns}", "agent": self._agent, "usage": used}

    def call(self, name: str, arguments: Mapping[str, Any], say: str | None = None, attempt: int = 1) -> ToolCall:
        """The agent calls a tool, after a sentence to the user where `say` is given."""
        raw = json.dumps(arguments, ensure_ascii=False)
        turn = self._turn(raw + (say or ""))
        seconds = self.draw.between(0.6, 2.8)
        if say is not None:
            self._steps.append(Message(**self._common(seconds), **turn, role="assistant", content=(Text(text=say),)))
            seconds, turn = 0.0, {**turn, "usage": None}
        self._calls += 1
        call = ToolCall(
            **self._common(seconds),
            **turn,
            call_id=f"call_{self._calls}",
            name=name,
            arguments=dict(arguments),
            arguments_raw=raw,
            attempt=attempt,
        )
        self._steps.append(call)
        return call

    def result(self, call: ToolCall, value: Any) -> None:
        """The tool answered with a JSON value."""
        text = json.dumps(value, ensure_ascii=False)
        self._seen_chars += len(text)
        self._steps.append(
            ToolResult(
                **self._common(self.draw.between(0.08, 0.9)),
                call_id=call.call_id,
                call_index=call.index,
                pairing="id",
                content=(Text(text=text),),
                structured=value,
                status="ok",
            )
        )

    def failure(self, call: ToolCall, kind: str, message: str, status: Failure = "error") -> None:
        """The tool failed."""
        self._seen_chars += len(message)
        self._steps.append(
            ToolResult(
                **self._common(self.draw.between(0.3, 2.0) if status == "error" else 10.0),
                call_id=call.call_id,
                call_index=call.index,
                pairing="id",
                content=(Text(text=message),),
                status=status,
                error=StepError(type=kind, message=message),
            )
        )

    def approval(
        self,
        call: ToolCall,
        state: Literal["requested", "approved"],
        approver: str | None = None,
        reason: str | None = None,
    ) -> None:
        """A request for a decision on a call, or the decision."""
        quick = approver is None or approver.startswith("auto:")
        self._steps.append(
            Approval(
                **self._common(0.02 if quick else self.draw.between(25, 400)),
                call_id=call.call_id,
                call_index=call.index,
                tool=call.name,
                state=state,
                approver=approver,
                reason=reason,
            )
        )

    def retry(self, call: ToolCall, attempt: int, backoff_s: float) -> None:
        """The run waits before a call is tried again."""
        self._steps.append(
            Retry(
                **self._common(backoff_s),
                call_id=call.call_id,
                call_index=call.index,
                tool=call.name,
                attempt=attempt,
                backoff_s=backoff_s,
            )
        )

    def final(self, text: str, status: str | None = None) -> Trajectory:
        """The final answer; the run is over."""
        turn = self._turn(text)
        self._steps.append(Final(**self._common(self.draw.between(0.9, 4.0)), **turn, text=text, status=status))
        return Trajectory(
            id=self._id,
            task=self._task,
            group=self._group,
            source=Source(format="native"),
            agents=(Agent(name=self._agent),),
            tools=self._tools,
            steps=tuple(self._steps),
            final=text,
            outcome=Outcome(status="completed"),
            usage=Usage(input_tokens=self._spent[0], output_tokens=self._spent[1]),
        )
