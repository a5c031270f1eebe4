"""Replies kept in Redis, so that machines share them: the same keys and texts as on disk, one call for equal requests.

A reply is a string under ``judge:1:reply:KEY``. A process that is about to ask for one claims it by a lock under
``judge:1:call:KEY`` that expires after `LEASE_S`, is renewed while the call is under way and is given up by whoever
holds it alone. A process that dies is overtaken when its lock expires; a lock that was lost costs a second call at
most, since a reply is kept whether or not its lock still stands.

Redis may go away at any time: the run goes on without it, warned once and counted, and asks again after `AWAY_S`, then
ever more rarely. What is not a text of ours is a miss. A try waits for Redis `TIMEOUT_S` at most.
"""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from judge.errors import ConfigError, MissingExtra
from judge.providers.cache import CacheWarning
from judge.providers.redaction import redact

REPLY = "judge:1:reply:"
CALL = "judge:1:call:"
LEASE_S = 30.0
"""Seconds after which the lock of a process that does not renew it is another one's to take."""
AWAY_S = 15.0
"""Seconds without a try after Redis did not answer; twice as many after each try in vain, to `LONGEST_AWAY_S`."""
LONGEST_AWAY_S = 300.0
TIMEOUT_S = 2.0
DAY_S = 86_400
PAGE = 500

# A lock that never expires, or later than any of ours, was not set by us and holds nobody up.
_TAKE = """
local left = redis.call('pttl', KEYS[1])
if left >= 0 and left <= tonumber(ARGV[2]) and redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return 1
"""
_RENEW = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"
_RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class RedisClaim:
    """The right to make one call; renew it within `lease_s` seconds. Without `held` there was no Redis to ask."""

    cache: RedisCache
    key: str
    token: str = field(repr=False)
    held: bool

    @property
    def lease_s(self) -> float:
        """Seconds for which it stands without being renewed."""
        return self.cache.lease_s

    def renew(self) -> None:
        """Let it stand for another `lease_s`, if nobody has overtaken it."""
        if self.held:
            self.cache.script(_RENEW, CALL + self.key, self.token, str(int(self.lease_s * 1000)))

    def release(self) -> None:
        """Give it up, if nobody has overtaken it."""
        if self.held:
            self.cache.script(_RELEASE, CALL + self.key, self.token)


class RedisCache:
    """A `Cache` in Redis. Safe to use from many threads, processes and machines at once.

    Attributes:
        address: The server without user, password and query, as it may be shown.
        failures: Reads and writes that were not done because Redis did not do them.
        lease_s: Seconds for which a claim stands.

    Raises:
        ConfigError: The server does not answer, and `optional` is not given; the message holds no password.
        MissingExtra: The package redis is not installed.
    """

    def __init__(
        self,
        url: str,
        address: str,
        *,
        days: float | None = None,
        optional: bool = False,
        hidden: tuple[str, ...] = (),
        lease_s: float = LEASE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            url: With the password, if there is one.
            days: How long a reply stays; None for as long as the server keeps it.
            optional: Begin without the server where it does not answer.
            hidden: Texts that must not be shown.
            clock: Seconds, for the wait after a failure.
        """
        self.address = address
        self.failures = 0
        self.lease_s = lease_s
        self._hidden = hidden
        self._expire = None if days is None else max(1, int(days * DAY_S))
        self._clock = clock
        self._away_until = float("-inf")
        self._away_s = AWAY_S
        self._warned = False
        redis = _redis()
        self._errors: Any = redis.exceptions
        try:
            self._server: Any = redis.Redis(
                connection_pool=redis.ConnectionPool.from_url(
                    url,
                    socket_timeout=TIMEOUT_S,
                    socket_connect_timeout=TIMEOUT_S,
                    retry=redis.retry.Retry(redis.backoff.NoBackoff(), 1),  # a connection that was idle too long
                    protocol=2,
                )
            )
            self._server.ping()
        except (ValueError, TypeError) as error:
            raise ConfigError(
                f"The cache {address} cannot be used: a setting in its URL is wrong ({type(error).__name__}).",
                hint="Write it like redis://HOST:6379/0; what may follow after ? are options of the package redis.",
            ) from None
        except (redis.exceptions.RedisError, OSError) as error:
            if not optional:
                raise ConfigError(
                    f"The cache {address} does not answer: {self._why(error)}",
                    hint="Start it, correct its address or password (--cache, JUDGE_CACHE, or cache in judge.toml), "
                    "or go without it where it is away: --cache-optional.",
                ) from None
            self._go_away()
            self._warn("opening it", error)

    def get(self, key: str) -> str | None:
        """The text kept under `key`, or None. A value that is not text is None."""
        try:
            found = self._ask("reading", lambda: self._server.get(REPLY + key))
            return found.decode() if isinstance(found, bytes) else None
        except UnicodeDecodeError:
            return None

    def put(self, key: str, text: str) -> None:
        """Keep `text` under `key`, over what was there.

        Raises:
            TypeError: `key` or `text` is not text.
        """
        for what, value in (("key", key), ("value", text)):
            if type(value) is not str:
                raise TypeError(f"a cache {what} is text, found {type(value).__name__}")
        self._ask("writing", lambda: self._server.set(REPLY + key, text.encode(), ex=self._expire))

    def claim(self, key: str, token: str) -> RedisClaim | None:
        """The right to ask for the reply of `key`, or None while another process has it.

        Where Redis does not say, the caller may go on: the claim is given, and holds nothing.

        Args:
            token: Of the caller (see `new_token`); who asks again with the same one gets its own claim back.
        """
        taken = self.script(_TAKE, CALL + key, token, str(int(self.lease_s * 1000)))
        return None if taken == 0 else RedisClaim(self, key, token, held=taken == 1)

    def script(self, text: str, *arguments: str) -> Any:
        """What a script says on one key, or None where Redis does not do it."""
        return self._ask("claiming a call", lambda: self._server.eval(text, 1, *arguments), counts=False)

    def stats(self) -> dict[str, Any]:
        """{"path": address, "entries": replies kept, "bytes": length of their texts}.

        Raises:
            ConfigError: Redis does not answer.
        """
        entries = size = 0
        with_size = self._each_page(lambda pipeline, key: pipeline.strlen(key))
        for lengths in with_size:
            known = [length for length in lengths if isinstance(length, int)]
            entries, size = entries + len(lengths), size + sum(known)
        return {"path": self.address, "entries": entries, "bytes": size}

    def clear(self) -> int:
        """Remove every reply, and nothing else that the server holds; returns how many there were.

        Raises:
            ConfigError: Redis does not answer.
        """
        pages = self._each_page(lambda pipeline, key: pipeline.unlink(key))
        return sum(removed for page in pages for removed in page if isinstance(removed, int))

    def close(self) -> None:
        """Close the connections."""
        self._server.connection_pool.disconnect()

    def _each_page(self, do: Callable[[Any, bytes], Any]) -> Iterator[list[Any]]:
        """What `do` answers for each reply kept, some at a time."""
        seen: set[bytes] = set()  # a scan may name a key twice
        cursor = 0
        try:
            while True:
                cursor, keys = self._server.scan(cursor, match=f"{REPLY}*", count=PAGE)
                pipeline = self._server.pipeline(transaction=False)
                for key in dict.fromkeys(keys):
                    if key not in seen:
                        seen.add(key)
                        do(pipeline, key)
                yield pipeline.execute(raise_on_error=False)
                if cursor == 0:
                    return
        except (self._errors.RedisError, OSError) as error:
            raise ConfigError(
                f"The cache {self.address} does not answer: {self._why(error)}", hint="Try again when it is up."
            ) from None

    def _ask(self, doing: str, ask: Callable[[], Done], *, counts: bool = True) -> Done | None:
        """The answer of Redis, or None where there is none; never an error. `counts`: as a failure, if it is one."""
        if self._clock() < self._away_until:
            self.failures += counts
            return None
        try:
            answer = ask()
            self._away_s = AWAY_S
            return answer
        except self._errors.ResponseError as error:  # Redis is there and refuses
            if str(error).startswith("WRONGTYPE"):
                return None
            self._warn(doing, error)
        except (self._errors.RedisError, OSError) as error:
            self._go_away()
            self._warn(doing, error)
        self.failures += counts
        return None

    def _go_away(self) -> None:
        self._away_until = self._clock() + self._away_s
        self._away_s = min(2 * self._away_s, LONGEST_AWAY_S)

    def _warn(self, doing: str, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"The cache {self.address} failed while {doing}: {self._why(error)} The run goes on without it "
                "and tries it again now and then.",
                CacheWarning,
                stacklevel=4,
            )

    def _why(self, error: Exception) -> str:
        return redact(f"{str(error).rstrip('. ') or type(error).__name__}.", self._hidden)


def new_token() -> str:
    """A name that no other claim has."""
    return secrets.token_hex(16)


def _redis() -> Any:
    try:
        import redis
        import redis.backoff
        import redis.retry
    except ImportError:
        raise MissingExtra(
            "A shared cache needs the package redis, which is not installed.",
            hint='Install it with: pip install "trajudge[redis]".',
        ) from None
    return redis
