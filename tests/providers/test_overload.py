"""A provider that refuses every call is waited for within bounds, then given up, and taken again when it is back."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.config import Settings
from judge.engine.bench import make_bench
from judge.engine.budget import Budget
from judge.engine.connection import OpenJury
from judge.engine.judging import Judging
from judge.engine.run import Run
from judge.errors import Overloaded, ProviderError, RetryableError, TerminalError
from judge.providers.connection import Connection
from judge.providers.room import OverloadWarning, Room
from judge.report.verdicts import summary_text
from judge.types import Criterion, Rubric, Trajectory
from judge.types.jury import Jury
from judge.types.request import Reply, Request, Subject
from judge.types.trajectory import Usage
from judge.types.verdict import Verdict
from judge.voting import Summary, VerdictSums

CRITERION = Criterion(id="quality", question="Good?", scale={"type": "binary"}, evidence="none")
RUBRIC = Rubric(id="own", version="1", title="Own", intent="To test.", criteria=(CRITERION,))
DEAD = float("inf")
LONGEST_S = 300.0
"""The default of `max_wait_s`."""
LAST_PAUSE_S = 30.0
"""The longest common backoff: the refusal that ends the waiting comes this much after `LONGEST_S` at most."""


class VirtualTime:
    """Time that leaps to the next sleeper as soon as nobody has anything else to do."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._number = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._number), until))
        await until

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        async def driven() -> Any:
            task = asyncio.ensure_future(work)
            while not task.done():
                for _ in range(100):
                    await asyncio.sleep(0)
                if not task.done() and self._sleepers:
                    self.now, _, until = heapq.heappop(self._sleepers)
                    if not until.done():
                        until.set_result(None)
            return await task

        return asyncio.run(driven())


class Model:
    """A provider without a network: refuses by `refusal`, which sees the seconds since the start, or passes all."""

    offline = False
    context_tokens: int | None = None

    def __init__(
        self, name: str, time: VirtualTime, refusal: Callable[[float], tuple[int, float | None] | None]
    ) -> None:
        self.name = name
        self.calls = 0
        self._time = time
        self._begun = time.now
        self._refusal = refusal

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def payload(self, request: Request) -> dict[str, Any]:
        return {"model": self.name, "prompt": request.segments, "sample": request.sample}

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        await self._time.sleep(0.2)
        refused = self._refusal(self._time.now - self._begun)
        if refused is not None:
            raise RetryableError(
                f"{self.name} answered {refused[0]}: busy",
                provider=self.name,
                status_code=refused[0],
                reason="server",
                retry_after=refused[1],
            )
        return Reply(text='{"reason": "fine", "score": "pass"}', model=self.name, usage=Usage())

    async def aclose(self) -> None:
        return


def until(
    end: float, status: int = 503, asked: float | None = None
) -> Callable[[float], tuple[int, float | None] | None]:
    """Refuses everything for so many seconds."""
    return lambda seconds: (status, asked) if seconds < end else None


def connected(model: Model, time: VirtualTime, tmp_path: Path, **flags: Any) -> Connection:
    settings = Settings(cache_dir=tmp_path, samples=1, cache=False, **flags)
    return Connection(
        model, provider="openai", model=model.name, settings=settings,
        cache=None, sleep=time.sleep, clock=time, draw=lambda: 0.5,
    )  # fmt: skip


def request(number: int = 0) -> Request:
    subject = Subject(trajectory_id=f"t{number}", rubric="r", criteria={})
    return Request(system="s", segments=(f"p{number}",), reply_schema={}, subject=subject)


def runs(count: int) -> Iterator[Trajectory]:
    for number in range(count):
        step = {"index": 1, "kind": "final", "text": f"the answer of {number}"}
        yield Trajectory.from_json(
            {"schema": "judge.trajectory/1", "id": f"t{number}", "source": {"format": "native"}, "steps": [step]}
        )


def judged(
    opened: Connection | OpenJury, time: VirtualTime, tmp_path: Path, count: int = 25, **flags: Any
) -> tuple[list[Verdict], BaseException | None]:
    """Verdicts of a run with the default concurrency, and what stopped it."""
    settings = Settings(cache_dir=tmp_path, samples=1, cache=False, **flags)
    verdicts: list[Verdict] = []

    async def story() -> BaseException | None:
        bench = make_bench(opened, RUBRIC, settings, clock=time)
        run = Run(bench, runs(count), concurrency=settings.concurrency, total=count)
        try:
            async for batch in run.batches():
                verdicts.extend(batch)
        except Overloaded as error:
            return error
        return None

    return verdicts, time.run(story())


def room(time: VirtualTime, *, tries: int = 3) -> Room:
    return Room("openai/m1", 8, longest=20.0, tries=tries, clock=time, draw=lambda: 0.0)


def test_a_provider_is_given_up_after_the_time_and_the_tries_and_taken_back_with_an_answer() -> None:
    time = VirtualTime()
    places = room(time)
    places.overloaded(time.now, None, 503)
    time.now += 25
    places.overloaded(time.now, None, 503)
    assert not places.given_up  # the time is over; a call has a third try
    places.overloaded(time.now, None, 529)
    assert places.given_up
    error = places.error(2)
    assert "openai/m1 has answered nothing but 503 and 529 for 25 s" in error.message
    assert "max_wait_s = 20" in error.hint
    assert (error.exit_code, error.kind, error.reason, error.attempts) == (4, "overloaded", "overloaded", 2)
    places.answered()
    assert (places.given_up, places.pause()) == (False, 0.0)


def test_many_overloads_in_a_short_time_give_nobody_up() -> None:
    time = VirtualTime()
    places = room(time)
    for _ in range(10):
        places.overloaded(time.now, 1.0, 429)
        time.now += 1.0
    assert not places.given_up  # 9 s of 20


def test_a_provider_that_asks_all_to_wait_longer_than_anybody_waits_is_given_up_at_once() -> None:
    time = VirtualTime()
    places = room(time)
    places.overloaded(time.now, 3600.0, 429)
    assert not places.given_up  # one call alone may be told so
    time.now += 1.0
    places.overloaded(time.now, 3600.0, 429)
    assert places.given_up
    assert "nothing but 429 for 1 s and asks to wait 3600 s" in places.error(1).message


@pytest.mark.parametrize("status", [503, 529, 429])
@pytest.mark.parametrize("http_retries", [0, 4])
def test_a_dead_provider_ends_a_run_within_the_time_that_it_is_waited_for(
    status: int, http_retries: int, tmp_path: Path
) -> None:
    time = VirtualTime()
    model = Model("openai/m1", time, until(DEAD, status))
    with pytest.warns(
        OverloadWarning, match=rf"nothing but {status} for \d+ s\. Its calls wait, up to max_wait_s"
    ) as told:
        verdicts, error = judged(connected(model, time, tmp_path, http_retries=http_retries), time, tmp_path, count=60)
    assert len(told) == 1
    assert isinstance(error, Overloaded)
    assert f"{len(verdicts)} judged, {60 - len(verdicts)} left" in error.message
    assert all((verdict.status, verdict.score) == ("error", None) for verdict in verdicts)
    assert LONGEST_S <= time.now - 1000.0 <= LONGEST_S + LAST_PAUSE_S
    assert model.calls < 40
    if http_retries:
        assert verdicts == []  # nobody's tries were used up, so that all are left for a resume


@pytest.mark.parametrize("back", [20.0, 240.0])
def test_a_provider_that_comes_back_in_time_judges_everything(back: float, tmp_path: Path) -> None:
    time = VirtualTime()
    model = Model("openai/m1", time, until(back))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverloadWarning)
        verdicts, error = judged(connected(model, time, tmp_path), time, tmp_path)
    assert (error, [verdict.status for verdict in verdicts]) == (None, ["ok"] * 25)
    assert time.now - 1000.0 <= back + LAST_PAUSE_S + 10.0


def test_what_retry_after_asks_is_waited_for_at_each_of_a_calls_tries(tmp_path: Path) -> None:
    """Four times 100 s are more than the provider is waited for, and no more than one call may wait."""
    time = VirtualTime()
    model = Model("openai/m1", time, until(399.0, 429, 100.0))
    with pytest.warns(OverloadWarning, match="asks to wait 100 s"):
        reply = time.run(connected(model, time, tmp_path).complete(request()))
    assert (reply.status, reply.attempts, model.calls) == ("ok", 5, 5)


def test_a_provider_at_its_quota_judges_everything(tmp_path: Path) -> None:
    """Five calls a minute are answered, the others told to come back in the next."""
    time = VirtualTime()
    answered: Counter[int] = Counter()

    def refusal(seconds: float) -> tuple[int, float | None] | None:
        minute = int(seconds // 60)
        if answered[minute] == 5:
            return 429, 60.0 * (minute + 1) - seconds
        answered[minute] += 1
        return None

    verdicts, error = judged(connected(Model("openai/m1", time, refusal), time, tmp_path), time, tmp_path)
    assert (error, [verdict.status for verdict in verdicts]) == (None, ["ok"] * 25)
    assert 240.0 <= time.now - 1000.0 <= 260.0  # 25 calls in five minutes, the last of them at the start of the fifth


def test_the_common_wait_ends_no_call_after_its_deadline(tmp_path: Path) -> None:
    time = VirtualTime()
    model = Model("openai/m1", time, until(DEAD))
    connection = connected(model, time, tmp_path, call_deadline_s=20.0)
    ends: list[tuple[float, str]] = []

    async def call(number: int) -> None:
        with pytest.raises(RetryableError) as caught:
            await connection.complete(request(number))
        assert "call_deadline_s = 20" in caught.value.hint
        ends.append((time.now - 1000.0, caught.value.message))

    async def story() -> None:
        await asyncio.gather(*(call(number) for number in range(12)))

    time.run(story())
    assert max(seconds for seconds, _ in ends) <= 20.0


def summed(verdicts: list[Verdict]) -> Summary:
    sums = VerdictSums()
    for verdict in verdicts:
        sums.add(verdict)
    return sums.summary()


def jury(time: VirtualTime, tmp_path: Path, *, a: Model, **flags: Any) -> OpenJury:
    models = {name: Model(f"openai/{name}", time, until(0.0)) for name in "bcd"} | {"a": a}
    judges = {f"openai/{name}": connected(models[name], time, tmp_path, **flags) for name in "abcd"}
    members = ("openai/a", "openai/b", "openai/c")
    return OpenJury(Jury(name="jury/j", members=members, reserves=("openai/d",)), judges)


@pytest.mark.parametrize("http_retries", [0, 4])
def test_a_dead_member_holds_a_jury_up_once_and_its_reserve_sits_in(http_retries: int, tmp_path: Path) -> None:
    time = VirtualTime()
    dead = Model("openai/a", time, until(DEAD))
    opened = jury(time, tmp_path, a=dead, http_retries=http_retries)
    with pytest.warns(OverloadWarning):
        verdicts, error = judged(opened, time, tmp_path, count=100)
    assert error is None
    assert [(verdict.status, verdict.score) for verdict in verdicts] == [("ok", 1.0)] * 100
    assert all(len(verdict.errors) == 1 for verdict in verdicts)
    summary = summed(verdicts)
    refused = summary.votes_failed.get("server", 0)  # before it was given up, where a call has one try
    assert (summary.errors, summary.votes_failed["overloaded"]) == ({}, 100 - refused)
    assert (refused == 0) == (http_retries > 0)
    assert f"verdicts without votes that failed: {100 - refused} overloaded" in summary_text(summary)
    assert time.now - 1000.0 <= LONGEST_S + 2 * LAST_PAUSE_S
    assert dead.calls < 40


def test_a_member_that_is_back_votes_again(tmp_path: Path) -> None:
    """Given up after 300 s, it is asked again with the first call after each common wait."""
    time = VirtualTime()
    late = Model("openai/a", time, until(330.0))
    with pytest.warns(OverloadWarning):
        verdicts, error = judged(jury(time, tmp_path, a=late), time, tmp_path, count=800)
    voted = [
        "openai/a" in {(v.detail or {})["judge"] for v in verdict.criteria[0].votes if v.status == "ok"}
        for verdict in verdicts
    ]
    assert error is None
    assert not any(voted[:8])
    assert all(voted[-8:])


def test_a_jury_of_which_nobody_answers_stops_the_run(tmp_path: Path) -> None:
    time = VirtualTime()
    models = {f"openai/{name}": Model(f"openai/{name}", time, until(DEAD)) for name in "ab"}
    judges = {name: connected(model, time, tmp_path, max_wait_s=60.0) for name, model in models.items()}
    opened = OpenJury(Jury(name="jury/j", members=("openai/a", "openai/b"), rule="mean"), judges)
    with pytest.warns(OverloadWarning):
        verdicts, error = judged(opened, time, tmp_path)
    assert isinstance(error, Overloaded)
    assert "No judge of jury/j answers: openai/a has answered nothing but 503" in error.message
    assert verdicts == []
    assert time.now - 1000.0 <= 2 * (60.0 + LAST_PAUSE_S)


@pytest.mark.parametrize("ends", ["overloaded", "auth"])
def test_what_ends_a_call_keeps_that_an_earlier_try_of_it_may_have_been_billed(ends: str, tmp_path: Path) -> None:
    time = VirtualTime()
    model = Model("dead", time, lambda _: (503, None))
    answer, lost = model.complete, ["t1"]

    async def complete(asked: Request) -> Reply:
        if asked.subject.trajectory_id in lost:
            lost.clear()
            raise RetryableError("no answer", provider="dead", reason="timeout")
        if ends == "auth" and not lost:
            raise TerminalError("bad key", provider="dead", status_code=401, reason="auth")
        return await answer(asked)

    model.complete = complete  # type: ignore[method-assign,assignment]
    connection = connected(model, time, tmp_path, max_wait_s=5.0)

    async def story() -> list[ProviderError]:
        found = []
        for number in range(3):
            with pytest.raises(ProviderError) as raised:
                await connection.complete(request(number))
            found.append(raised.value)
            await time.sleep(60.0 if number == 0 else 0.0)
        return found

    _, second, third = time.run(story())
    assert (second.reason, second.untold) == (ends, 1)
    assert (third.reason, third.untold) == (ends, 0)  # of another call, none of whose tries was lost


def test_a_budget_counts_a_lost_try_of_a_call_that_stops_the_run(tmp_path: Path) -> None:
    time = VirtualTime()
    model = Model("dead", time, lambda _: None)

    async def complete(asked: Request) -> Reply:
        model.calls += 1
        if model.calls == 1:
            raise RetryableError("no answer", provider="dead", reason="timeout")
        raise TerminalError("bad key", provider="dead", status_code=401, reason="auth")

    model.complete = complete  # type: ignore[method-assign,assignment]
    priced = {"dead": {"input_usd_per_million": 1000.0, "output_usd_per_million": 1000.0}}
    connection = connected(model, time, tmp_path, max_usd=100.0, models=priced)
    budget = Budget(100.0)
    bench = make_bench(connection, RUBRIC, connection._settings, budget=budget)
    assert isinstance(bench, Judging)

    async def story() -> None:
        (run,) = runs(1)
        with pytest.raises(TerminalError):
            await bench.judge(run, None)

    time.run(story())
    assert model.calls == 2
    assert budget.spent > 0
