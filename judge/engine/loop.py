"""One private event loop in a thread of its own, for the functions that are not async.

Everything that belongs to an event loop (clients, limits) is made and used in this one, so the
second call works like the first, also inside a notebook or a web handler whose loop is running.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from judge.errors import UsageError

Result = TypeVar("Result")

UNWIND_S = 3.0
"""Seconds that interrupted work is given to close its connections and files, before the interrupt goes on. A model in
this process ends its call only when the connection to it is closed."""


class LoopThread:
    """An event loop that runs in a daemon thread from its first use until the process ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = 0

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`, run in the private loop; blocks the calling thread alone.

        Raises:
            UsageError: Called from inside the private loop, where waiting would never end.
        """
        loop = self._started()
        if threading.current_thread() is self._thread:
            work.close()
            raise UsageError(
                "A blocking call was made from inside the judge's own event loop, where it would wait for ever.",
                hint="Do not score while producing the trajectories to score; use `await judge.ascore(...)`.",
            )
        ended = threading.Event()

        async def watched() -> Result:
            try:
                return await work
            finally:
                ended.set()

        future = asyncio.run_coroutine_threadsafe(watched(), loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # an interrupt in the waiting thread ends the work as well
            ended.wait(UNWIND_S)
            if inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
                work.close()  # the loop had no turn to begin it
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed() or self._process != os.getpid():
                self._loop = asyncio.new_event_loop()
                self._process = os.getpid()
                self._thread = threading.Thread(target=self._loop.run_forever, name="judge-event-loop", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            return self._loop

    def close(self) -> None:
        """Ends the loop and its thread; a later `run` starts new ones."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            if loop is None or self._process != os.getpid():
                return
        atexit.unregister(self.close)
        if not loop.is_closed():
            loop.call_soon_threadsafe(loop.stop)
            if thread is not None:
                thread.join(timeout=5)
            if not loop.is_running():
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.close()


PRIVATE = LoopThread()
"""The one of this process."""
