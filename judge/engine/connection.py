"""What the engine needs of an opened judge: limits, retries and cache are behind it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from judge.types.jury import Jury
from judge.types.request import Reply, Request, Sharing
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


@runtime_checkable
class SharingConnection(Connection, Protocol):
    """A judge whose samples of one prompt may share its price. Optional: others are asked for each sample apart."""

    def sharing(self, request: Request, tokens: int) -> Sharing:
        """How samples of a request, a prompt of so many tokens, are best asked now."""
        ...

    async def complete_together(self, request: Request, copies: int) -> tuple[Reply, ...]:
        """New replies to one request, as `complete`; one alone where the others have to be asked one by one."""
        ...


@runtime_checkable
class SharedConnection(Connection, Protocol):
    """A judge whose cache other processes may use at the same moment. Optional: others are asked at once."""

    @property
    def cache_failures(self) -> int:
        """Reads and writes that the cache failed to do."""
        ...

    @property
    def shares_cache(self) -> bool:
        """Whether `alone` can make anybody wait."""
        ...

    def alone(self, request: Request) -> AbstractAsyncContextManager[bool]:
        """Lets one process at a time ask for a reply; yields whether the cache may hold it by now."""
        ...


@dataclass(frozen=True, slots=True)
class OpenJury:
    """A jury with every judge on it opened.

    Attributes:
        connections: Member or reserve to its connection, in the order of the seats.
    """

    jury: Jury
    connections: Mapping[str, Connection]

    @property
    def name(self) -> str:
        """The jury's name, e.g. "jury/bench"."""
        return self.jury.name

    @property
    def host(self) -> str | None:
        """Every host that is contacted, or None."""
        hosts = dict.fromkeys(c.host for c in self.connections.values() if c.host is not None)
        return ", ".join(hosts) or None

    @property
    def offline(self) -> bool:
        """Whether no judge on it calls a model."""
        return all(connection.offline for connection in self.connections.values())

    async def aclose(self) -> None:
        """Closes every connection, also where one of them fails to close."""
        async with AsyncExitStack() as stack:
            for connection in self.connections.values():
                stack.push_async_callback(connection.aclose)


Opened = Connection | OpenJury
"""What can judge: one judge, or several as one."""


def cache_failures(opened: Opened) -> int | None:
    """Reads and writes that the cache, which all judges of a jury share, failed to do; None where nobody counts."""
    judges = opened.connections.values() if isinstance(opened, OpenJury) else (opened,)
    counts = [judge.cache_failures for judge in judges if isinstance(judge, SharedConnection)]
    return max(counts, default=None)


JudgeLike = str | Connection | OpenJury | Jury
"""What a caller may name as the judge."""
