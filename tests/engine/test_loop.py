"""The private event loop: an interrupt ends the work, and waits for what the work has to close."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from judge.engine.loop import LoopThread
from judge.errors import UsageError


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    made = LoopThread()
    yield made
    made.close()


def interrupt_when(begun: threading.Event) -> None:
    """Sends SIGINT to the main thread once `begun` is set and that thread waits."""

    def send() -> None:
        begun.wait()
        main = threading.main_thread().ident or 0
        while sys._current_frames()[main].f_code is not threading.Condition.wait.__code__:
            time.sleep(0.001)
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()


@pytest.mark.skipif(os.name == "nt", reason="a signal cannot be sent to one thread on Windows")
def test_an_interrupt_ends_the_work_once_it_has_closed_its_connections(
    loop: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge.engine.loop.UNWIND_S", 60.0)
    begun = threading.Event()
    closed: list[str] = []

    async def call() -> None:
        try:
            begun.set()
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.05)  # closing a connection takes a turn of the loop
            closed.append("connection")

    interrupt_when(begun)
    with pytest.raises(KeyboardInterrupt):
        loop.run(call())
    assert closed == ["connection"]


@pytest.mark.skipif(os.name == "nt", reason="a signal cannot be sent to one thread on Windows")
def test_an_interrupt_does_not_wait_for_a_loop_that_is_held_up(
    loop: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge.engine.loop.UNWIND_S", 0.05)
    begun, release = threading.Event(), threading.Event()

    async def held_up() -> None:
        begun.set()
        release.wait()  # the whole loop stands still

    interrupt_when(begun)
    with pytest.raises(KeyboardInterrupt):
        loop.run(held_up())
    assert not release.is_set()  # so it was not waited for
    release.set()


def test_errors_and_results_come_through(loop: LoopThread) -> None:
    async def answer() -> int:
        return 4

    async def fail() -> None:
        raise UsageError("no")

    assert loop.run(answer()) == 4
    with pytest.raises(UsageError, match="no"):
        loop.run(fail())


def test_waiting_inside_the_loop_is_refused(loop: LoopThread) -> None:
    async def inner() -> None: ...

    async def outer() -> None:
        loop.run(inner())

    with pytest.raises(UsageError, match="own event loop"):
        loop.run(outer())
