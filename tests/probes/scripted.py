"""A judge for tests that answers by a function of the request: an oracle, or one with a dialled defect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from judge.providers.answers import Answer, on_scale, write
from judge.types.request import Reply, Request
from judge.types.trajectory import Usage

Opinion = Callable[[Request], "tuple[float, Sequence[int]] | None"]
"""Share of the scale and cited steps; None for a reply that cannot be read."""


class Scripted:
    """An opened judge without a model."""

    offline = True
    host = None
    context_tokens = None

    def __init__(self, opinion: Opinion, name: str = "fake/oracle") -> None:
        self.name = name
        self.provider, _, self.model = name.partition("/")
        self.calls = 0
        self._opinion = opinion

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def payload(self, request: Request) -> dict[str, Any]:
        return {"judge": self.name}

    def hit(self, request: Request) -> Reply | None:
        return None

    def keep(self, request: Request, reply: Reply) -> None:
        pass

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        found = self._opinion(request)
        if found is None:
            return Reply(text="I would rather not say.", model=self.name, usage=Usage(input_tokens=0, output_tokens=0))
        share, cited = found
        known = set(request.subject.steps)
        steps = [step for step in cited if step in known] or list(request.subject.steps[-1:])
        answers = {
            name: Answer(
                score=on_scale(request, name, share), reason="Scripted.", evidence=tuple((step, "") for step in steps)
            )
            for name in request.subject.criteria
        }
        return Reply(
            text=write(request, answers), model=self.name, usage=Usage(input_tokens=0, output_tokens=0), attempts=1
        )

    def price(self, usage: Usage) -> float | None:
        return 0.0

    async def aclose(self) -> None:
        pass
