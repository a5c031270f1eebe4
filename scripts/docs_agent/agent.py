"""The documentation agent: thinks, searches at most so often, answers; every step is recorded as it happens.

It asks a model for one move at a time, as JSON: a search or the answer. Any provider of `judge.providers` will do, and
a list of moves stands in for a model where none is wanted.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from set_builder.quillstone import SEARCH, search

from judge.providers.connection import Connection
from judge.types import (
    Agent,
    ErrorStep,
    Final,
    Message,
    Outcome,
    Reply,
    Request,
    Sampling,
    Source,
    Step,
    StepError,
    Subject,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)

MOST_MOVES = 4
SYSTEM = (
    "You answer questions about Quillstone from its documentation. In each move either search, with a few words, or "
    'answer in one or two sentences. Reply with JSON only: {"action": "search", "text": "words"} or '
    '{"action": "answer", "text": "your answer"}. Search before you answer. You have at most '
    f"{MOST_MOVES} moves; the last one must be the answer."
)
MOVE: dict[str, Any] = {
    "type": "object",
    "properties": {"action": {"enum": ["search", "answer"]}, "text": {"type": "string"}},
    "required": ["action", "text"],
    "additionalProperties": False,
}
Think = Callable[[str, int], Awaitable[Reply]]
"""(everything seen so far, number of the move from 0) → the model's reply."""
Price = Callable[[Usage], float | None]


def by_model(connection: Connection, *, max_output_tokens: int = 300) -> Think:
    """Moves of a model, at temperature 0."""

    async def think(seen: str, move: int) -> Reply:
        request = Request(
            system=SYSTEM,
            segments=(seen,),
            reply_schema=MOVE,
            reply_name="move",
            sampling=Sampling(temperature=0.0, max_output_tokens=max_output_tokens),
            subject=Subject(trajectory_id="docs-agent", rubric="docs-agent", criteria={}),
        )
        return await connection.complete(request)

    return think


def by_script(moves: Sequence[tuple[str, str]]) -> Think:
    """Moves from a list of (action, text); a list that ends too soon gives an empty reply, as a model may."""

    async def think(seen: str, move: int) -> Reply:
        if move >= len(moves):
            return Reply(status="empty", model="script")
        action, text = moves[move]
        return Reply(text=json.dumps({"action": action, "text": text}), model="script")

    return think


async def answer(
    question: str,
    think: Think,
    *,
    id: str,
    group: str,
    name: str = "docs-agent",
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    price: Price = lambda usage: None,
) -> Trajectory:
    """One run. A move that is no move, or none left, ends it without an answer; the trajectory says so.

    Raises:
        ProviderError: The model cannot be reached.
    """
    record = _Record(question, name, clock, price)
    seen = f"Question: {question}\n"
    for move in range(MOST_MOVES):
        left = MOST_MOVES - move
        begun = clock()
        reply = await think(seen + f"\nMoves left: {left}.{' Answer now.' if left == 1 else ''}\n", move)
        made = _move(reply)
        if made is None:
            return record.broken(reply, begun).trajectory(id, group, None, "no_move")
        action, text = made
        if action == "answer":
            return record.final(text, reply, begun).trajectory(id, group, text, None)
        found = record.search(text, reply, begun, move)
        seen += f"\nSearched: {text}\nFound: {json.dumps(found, ensure_ascii=False)}\n"
    return record.trajectory(id, group, None, "moves_used_up")


def _move(reply: Reply) -> tuple[str, str] | None:
    """(action, text), or None where the reply is no move."""
    try:
        value = json.loads(reply.text or "")
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("action") not in ("search", "answer"):
        return None
    text = value.get("text")
    return (value["action"], text) if isinstance(text, str) and text.strip() else None


class _Record:
    """The steps of one run, as they happen."""

    def __init__(self, question: str, name: str, clock: Callable[[], datetime], price: Price) -> None:
        self._question, self._name, self._clock, self._price = question, name, clock, price
        self._steps: list[Step] = []
        self._model: str | None = None
        self._add(Message, clock(), role="user", content=(Text(text=question),))

    def _add(self, kind: type[Any], begun: datetime, **fields: Any) -> int:
        took = max(0.0, (self._clock() - begun).total_seconds())
        index = len(self._steps) + 1
        self._steps.append(kind(index=index, ts=begun.isoformat(), seconds=took, **fields))
        return index

    def _by_model(self, reply: Reply, move: int) -> dict[str, Any]:
        self._model = reply.model or self._model
        usage = reply.usage
        if usage is not None and usage.cost_usd is None:
            usage = usage.model_copy(update={"cost_usd": self._price(usage)})
        return {"turn": f"move-{move + 1}", "agent": self._name, "usage": usage}

    def search(self, query: str, reply: Reply, begun: datetime, move: int) -> list[dict[str, str]]:
        """Records a search with what it found."""
        arguments = {"query": query}
        call_id = f"call_{move + 1}"
        index = self._add(
            ToolCall,
            begun,
            **self._by_model(reply, move),
            call_id=call_id,
            name=SEARCH.name,
            arguments=arguments,
            arguments_raw=json.dumps(arguments, ensure_ascii=False),
        )
        begun = self._clock()
        found = search(query)
        self._add(
            ToolResult,
            begun,
            call_id=call_id,
            call_index=index,
            pairing="id",
            content=(Text(text=json.dumps(found, ensure_ascii=False)),),
            structured=found,
            status="ok",
        )
        return found

    def final(self, text: str, reply: Reply, begun: datetime) -> _Record:
        """Records the answer."""
        self._add(Final, begun, **self._by_model(reply, len(self._steps) // 2), text=text)
        return self

    def broken(self, reply: Reply, begun: datetime) -> _Record:
        """Records a reply that is no move, whole."""
        error = StepError(type=reply.status, message=(reply.text or reply.refusal or "no text")[:2000])
        fields = self._by_model(reply, len(self._steps) // 2)
        self._add(ErrorStep, begun, **fields, type=error.type, message=error.message)
        return self

    def trajectory(self, id: str, group: str, final: str | None, stopped: str | None) -> Trajectory:
        """The run."""
        return Trajectory(
            id=id,
            task=self._question,
            group=group,
            source=Source(format="native"),
            agents=(Agent(name=self._name, model=self._model),),
            tools=(SEARCH,),
            steps=tuple(self._steps),
            final=final,
            outcome=Outcome(status="completed" if stopped is None else "incomplete", stop_reason=stopped),
        )
