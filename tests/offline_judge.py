"""An opened judge without a model, a price or a cache, for tests; what it answers is its subclass's."""

from __future__ import annotations

from typing import Any

from judge.types.request import Reply, Request
from judge.types.trajectory import Usage


class OfflineJudge:
    """All of a `Connection` but `complete`."""

    offline = True
    host = None
    context_tokens: int | None = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.provider, _, self.model = name.partition("/")

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def payload(self, request: Request) -> dict[str, Any]:
        return {"judge": self.name}

    def hit(self, request: Request) -> Reply | None:
        return None

    def keep(self, request: Request, reply: Reply) -> None:
        pass

    def price(self, usage: Usage) -> float | None:
        return 0.0

    async def aclose(self) -> None:
        pass
