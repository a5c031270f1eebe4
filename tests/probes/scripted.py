"""A judge for tests that answers by a function of the request: an oracle, or one with a dialled defect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from offline_judge import OfflineJudge

from judge.providers.answers import Answer, on_scale, write
from judge.types.request import Reply, Request
from judge.types.trajectory import Usage

Opinion = Callable[[Request], "tuple[float, Sequence[int]] | None"]
"""Share of the scale and cited steps; None for a reply that cannot be read."""


class Scripted(OfflineJudge):
    def __init__(self, opinion: Opinion, name: str = "fake/oracle") -> None:
        super().__init__(name)
        self.calls = 0
        self._opinion = opinion

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
