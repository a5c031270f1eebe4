"""What the SDK-backed providers share about the wire, without touching an HTTP library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_SDKS = frozenset({"openai", "anthropic", "litellm", "httpx2", "httpx", "aiohttp"})


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine: then no proxy of the environment is used."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


async def close_client(client: Any) -> None:
    """Close an SDK's asynchronous client."""
    await client.close()


def from_sdk(error: BaseException) -> bool:
    """Whether an exception is about the wire, and no programming error of ours."""
    return type(error).__module__.partition(".")[0] in _SDKS or isinstance(error, OSError)


def count(value: Any, name: str) -> int | None:
    """A number of tokens under `name`, or None where it is absent or no such number."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
