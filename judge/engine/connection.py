"""What the engine needs of an opened judge: limits, retries and cache are behind it."""

from __future__ import annotations

from typing import Any, Protocol

from judge.types.request import Reply, Request
from judge.types.trajectory import Usage


class Connection(Protocol):
    """An opened judge, as `judge.providers.connect` returns it.

    Attributes:
        name: The judge's name, e.g. "openai/gpt-4o".
        host: Host that is contacted, or None.
        offline: Whether it answers from the subject and calls no model.
        context_tokens: Tokens that prompt and reply may take together, or None where unknown.
    """

    @property
    def name(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def host(self) -> str | None: ...
    @property
    def offline(self) -> bool: ...
    @property
    def context_tokens(self) -> int | None: ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`, exact or a stated overestimate."""
        ...

    def payload(self, request: Request) -> dict[str, Any]:
        """The call as it would be sent, without secrets."""
        ...

    def hit(self, request: Request) -> Reply | None:
        """The kept reply to this request, or None. Never for a retry."""
        ...

    async def complete(self, request: Request) -> Reply:
        """A new reply, under the limits and the one retry layer. Never reads the cache."""
        ...

    def keep(self, request: Request, reply: Reply) -> None:
        """Keeps a reply whose every vote was an answer."""
        ...

    def price(self, usage: Usage) -> float | None:
        """US dollars of `usage`, or None where the price is not known."""
        ...

    async def aclose(self) -> None:
        """Closes clients and connections."""
        ...
