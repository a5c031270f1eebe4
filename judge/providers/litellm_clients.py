"""The HTTP clients that litellm makes for a connection of ours, apart from those of the user's own litellm calls.

litellm keeps clients in one cache for the whole process, drops the old ones there without closing them, and tells
nobody for whom it made which. So a call of ours sees a cache of its own there: what is in it is closed with the
connection, and nothing else is. Clients that litellm shares among everything in the process (its module-level one,
those of logging callbacks) stay in the common cache, and are left alone.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

_CACHE = "in_memory_llm_clients_cache"
_MODULE_LEVEL = "litellm_module_level_client"


class Clients:
    """What litellm made for one connection in one event loop."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}
        self._made: list[Any] = []  # two calls at once may make one each under one key
        self._closed = False

    def get(self, key: str) -> Any:
        """The client of that key, or None."""
        return self._kept.get(key)

    def put(self, key: str, client: Any) -> None:
        """Keeps a client until the connection is closed."""
        self._kept[key] = client
        self._made.append(client)

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Within the block litellm finds these clients and keeps new ones here."""
        token = _LENT.set(self)
        try:
            yield
        finally:
            _LENT.reset(token)
            if self._closed:  # meanwhile; what was closed may have opened anew for the call
                await self.aclose()

    async def aclose(self) -> None:
        """Close every client, also where this is cancelled or one of them fails to close."""
        self._closed = True
        self._kept.clear()
        await _close_all(list(self._made))


_LENT: ContextVar[Clients | None] = ContextVar("judge_litellm_clients", default=None)


class SplitCache:
    """Stands in for litellm's cache of clients: a call of ours gets its own, everyone else what was there before."""

    def __init__(self, common: Any, shared: tuple[str, ...]) -> None:
        """`shared`: how keys end whose clients belong to the whole process."""
        self._common = common
        self._shared = shared

    def __getattr__(self, name: str) -> Any:
        return getattr(self._common, name)

    def get_cache(self, key: str, *args: Any, **kwargs: Any) -> Any:
        """As litellm's."""
        own = self._own(key)
        return self._common.get_cache(key, *args, **kwargs) if own is None else own.get(key)

    def set_cache(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """As litellm's; a client of ours stays until its connection is closed."""
        own = self._own(key)
        return self._common.set_cache(key, value, *args, **kwargs) if own is None else own.put(key, value)

    def _own(self, key: str) -> Clients | None:
        return None if key.endswith(self._shared) else _LENT.get()


def split_cache(litellm: Any) -> None:
    """Has litellm keep the clients of our calls apart. Does nothing where it does so already."""
    common = getattr(litellm, _CACHE)
    if not isinstance(common, SplitCache):
        from litellm.types.llms.custom_http import httpxSpecialProvider

        shared = tuple(str(special.value) for special in httpxSpecialProvider)
        setattr(litellm, _CACHE, SplitCache(common, (*shared, _MODULE_LEVEL)))


async def _close_all(clients: list[Any]) -> None:
    try:
        while clients:
            await _close(clients.pop())
    finally:
        if clients:
            await _close_all(clients)


async def _close(client: Any) -> None:
    import litellm

    inner = getattr(client, "_client", None)
    if inner is not None and (inner is litellm.aclient_session or inner is litellm.client_session):
        return  # the user's own, which litellm was told to use
    close = getattr(client, "aclose", None) or getattr(client, "close", None)
    done = close() if callable(close) else None
    if inspect.isawaitable(done):
        await done
