"""A run over many trajectories: order, bounds, one call for equal requests, and stops that lose nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.config import Settings, load_settings
from judge.engine.facade import ascore_many, score_many
from judge.errors import BudgetReached, ConfigError, TerminalError, UsageError
from judge.types import Criterion, Reply, Request, Rubric, Trajectory, Usage, Verdict

CRITERION = Criterion(id="quality", question="How good?", scale={"min": 1, "max": 5, "step": 1}, evidence="none")  # type: ignore[arg-type]
RUBRIC = Rubric(id="own", version="1", title="Own", intent="To test.", criteria=(CRITERION,))


def run_of(name: str, said: str | None = None) -> Trajectory:
    return Trajectory.from_json(
        {
            "schema": "judge.trajectory/1",
            "id": name,
            "source": {"format": "native", "path": "runs.jsonl", "locator": f"line of {name}"},
            "steps": [{"index": 1, "kind": "final", "text": said or f"answer {name}"}],
        }
    )


class Paid:
    """A judge that costs 0.07 dollars a call, keeps replies in memory and can be told when to fail."""

    name, provider, model = "paid/judge", "paid", "judge"
    host: str | None = "judge.example"
    offline = False

    def __init__(self, *, fail_at: int | None = None, wait_s: float = 0.0, price: float | None = 0.07) -> None:
        self.context_tokens: int | None = None
        self.calls = 0
        self.kept: dict[str, Reply] = {}
        self._fail_at = fail_at
        self._wait_s = wait_s
        self._price = price

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def payload(self, request: Request) -> dict[str, Any]:
        return {"text": [request.system, *request.segments], "sample": request.sample}

    def hit(self, request: Request) -> Reply | None:
        reply = self.kept.get(json.dumps(self.payload(request)))
        return reply.model_copy(update={"cached": True}) if reply else None

    def keep(self, request: Request, reply: Reply) -> None:
        self.kept[json.dumps(self.payload(request))] = reply

    def price(self, usage: Usage) -> float | None:
        return self._price

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        number = self.calls
        await asyncio.sleep(self._wait_s)
        if self._fail_at is not None and number >= self._fail_at:
            raise TerminalError("The key was refused (401).", provider=self.name, status_code=401, reason="auth")
        text = json.dumps({"reason": f"call {number}", "score": 4})
        return Reply(text=text, usage=Usage(input_tokens=10, output_tokens=5))

    async def aclose(self) -> None:
        """Nothing to close."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    flags = {"cache_dir": tmp_path / "cache", "samples": 1, "concurrency": 4}
    return load_settings(flags, environment={}, folder=tmp_path)


def collect(run: Iterator[Verdict]) -> tuple[list[str], BaseException | None]:
    got: list[str] = []
    try:
        for verdict in run:
            got.append(verdict.trajectory_id)
    except Exception as error:
        return got, error
    return got, None


def test_no_more_are_under_way_than_allowed_and_the_order_is_kept(settings: Settings) -> None:
    class AtOnce(Paid):
        here = reached = 0

        async def complete(self, request: Request) -> Reply:
            self.here += 1
            self.reached = max(self.reached, self.here)
            while self.reached < 4:  # nobody is answered before as many as may are under way
                await asyncio.sleep(0.001)
            reply = await super().complete(request)
            self.here -= 1
            return reply

    judge = AtOnce(wait_s=0.01)
    names = [f"t{n:02d}" for n in range(30)]
    got, error = collect(score_many([run_of(name) for name in names], RUBRIC, judge=judge, settings=settings))
    assert (got, error, judge.calls) == (names, None, 30)
    assert judge.reached == 4


def test_trajectories_are_read_as_the_run_goes(settings: Settings) -> None:
    read = 0

    def source() -> Iterator[Trajectory]:
        nonlocal read
        for number in range(1000):
            read += 1
            yield run_of(f"t{number}")

    run = score_many(source(), RUBRIC, judge=Paid(wait_s=0.001), settings=settings)
    assert next(run).trajectory_id == "t0"
    assert read < 100
    run.close()  # whoever stops early stops the run
    assert read < 100


def test_a_slow_first_one_does_not_let_the_rest_pile_up(settings: Settings) -> None:
    class SlowFirst(Paid):
        async def complete(self, request: Request) -> Reply:
            if request.subject.trajectory_id == "t0":
                while read < 4 * 4:
                    await asyncio.sleep(0.001)
                await asyncio.sleep(0.1)  # in which more would be read, if it could be
                ahead.append(read)
            return await super().complete(request)

    ahead: list[int] = []
    read = 0

    def source() -> Iterator[Trajectory]:
        nonlocal read
        for number in range(200):
            read += 1
            yield run_of(f"t{number}")

    run = score_many(source(), RUBRIC, judge=SlowFirst(), settings=settings)
    assert next(run).trajectory_id == "t0"
    assert ahead == [4 * 4]  # the backlog: four times the concurrency, the slow one included
    assert [verdict.trajectory_id for verdict in run] == [f"t{n}" for n in range(1, 200)]


def test_equal_requests_of_one_run_share_one_call(settings: Settings) -> None:
    judge = Paid(wait_s=0.01)
    same = [run_of(f"t{n}", said="the same answer") for n in range(6)]
    got = list(score_many(same, RUBRIC, judge=judge, settings=settings))
    assert judge.calls == 1
    assert sorted((verdict.calls, verdict.cached) for verdict in got) == [(0, 1)] * 5 + [(1, 0)]
    assert {verdict.score for verdict in got} == {4}


def test_without_a_cache_every_trajectory_is_a_call(settings: Settings) -> None:
    judge = Paid(wait_s=0.01)
    judge.kept = _Forgetful()
    same = [run_of(f"t{n}", said="the same answer") for n in range(6)]
    list(score_many(same, RUBRIC, judge=judge, settings=settings, cache=False))
    assert judge.calls == 6


class _Forgetful(dict[str, Reply]):
    def __setitem__(self, key: str, value: Reply) -> None:
        """Keeps nothing."""


def test_a_refused_key_stops_the_run_and_finished_verdicts_come_first(settings: Settings) -> None:
    judge = Paid(fail_at=6, wait_s=0.005)
    got, error = collect(score_many([run_of(f"t{n}") for n in range(50)], RUBRIC, judge=judge, settings=settings))
    assert got == [f"t{n}" for n in range(5)]
    assert isinstance(error, TerminalError)
    assert (error.exit_code, error.reason) == (4, "auth")
    assert "5 judged, 45 left" in str(error)
    assert judge.calls <= 6 + 4  # nothing was sent once the refusal was known


def test_finished_verdicts_behind_an_unfinished_one_are_not_lost(settings: Settings) -> None:
    class FirstFails(Paid):
        async def complete(self, request: Request) -> Reply:
            if request.subject.trajectory_id == "t0":
                await asyncio.sleep(0.05)
                raise TerminalError("No credit left (402).", status_code=402, reason="payment")
            return await super().complete(request)

    got, error = collect(score_many([run_of(f"t{n}") for n in range(4)], RUBRIC, judge=FirstFails(), settings=settings))
    assert got == ["t1", "t2", "t3"]
    assert isinstance(error, TerminalError)


def test_the_cap_stops_the_run_and_keeps_what_was_paid_for(settings: Settings) -> None:
    judge = Paid(wait_s=0.005)
    runs = [run_of(f"t{n}") for n in range(10)]
    got, error = collect(score_many(runs, RUBRIC, judge=judge, settings=settings, max_usd=0.2))
    assert got == ["t0", "t1"]  # 2 * 0.07 = 0.14; a third would make 0.21
    assert isinstance(error, BudgetReached)
    assert (error.exit_code, judge.calls) == (5, 2)
    assert "2 judged, 8 left" in str(error)
    again, error = collect(score_many(runs, RUBRIC, judge=judge, settings=settings, max_usd=0.2))
    assert again == ["t0", "t1", "t2", "t3"]  # what is in the cache costs nothing
    assert judge.calls == 4


def test_a_cap_on_a_judge_of_unknown_price_is_refused_before_any_call(settings: Settings) -> None:
    judge = Paid(price=None)
    with pytest.raises(ConfigError, match="price of 'paid/judge' is not known"):
        list(score_many([run_of("a")], RUBRIC, judge=judge, settings=settings, max_usd=1.0))
    assert judge.calls == 0
    (free,) = score_many([run_of("a")], RUBRIC, judge=judge, settings=settings)
    assert (free.status, free.cost_usd) == ("ok", None)  # unknown, not 0


def test_two_trajectories_of_one_name_are_refused_and_both_named(settings: Settings) -> None:
    runs = [run_of("a"), run_of("b"), run_of("a")]
    got, error = collect(score_many(runs, RUBRIC, judge=Paid(), settings=settings))
    assert got == ["a", "b"]
    assert isinstance(error, UsageError)
    assert "'a'" in str(error)
    assert "line of a" in str(error)


def test_an_error_of_the_source_comes_after_what_was_judged(settings: Settings) -> None:
    def source() -> Iterator[Trajectory]:
        yield run_of("a")
        raise UsageError("line 2 is broken")

    got, error = collect(score_many(source(), RUBRIC, judge=Paid(wait_s=0.01), settings=settings))
    assert got == ["a"]
    assert isinstance(error, UsageError)
    assert "line 2 is broken" in str(error)


def test_a_trajectory_that_does_not_fit_is_an_error_and_no_score(settings: Settings) -> None:
    judge = Paid()
    judge.context_tokens = 1100  # 1,024 of them are kept free for the reply
    (verdict,) = score_many([run_of("a")], RUBRIC, judge=judge, settings=settings)
    assert (verdict.status, verdict.score, judge.calls, verdict.cost_usd) == ("error", None, 0, 0)
    assert [error.kind for error in verdict.errors] == ["context_overflow"]
    assert verdict.criteria[0].votes[0].status == "context_overflow"
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_a_verdict_built_from_parts_is_the_one_its_json_gives_back(settings: Settings) -> None:
    (verdict,) = score_many([run_of("a")], RUBRIC, judge=Paid(), settings=settings, samples=3)
    assert Verdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict
    assert set(verdict.fingerprints) == {"trajectory", "rubric", "judge", "prompt"}
    assert (verdict.calls, verdict.usage.input_tokens, verdict.cost_usd) == (3, 30, pytest.approx(0.21))


def test_an_abandoned_async_run_leaves_no_task_behind(settings: Settings) -> None:
    async def story() -> int:
        judge = Paid(wait_s=5)
        run = ascore_many([run_of(f"t{n}") for n in range(9)], RUBRIC, judge=judge, settings=settings)
        waiting = asyncio.ensure_future(anext(run))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await run.aclose()
        return len(asyncio.all_tasks()) - 1

    assert asyncio.run(story()) == 0
