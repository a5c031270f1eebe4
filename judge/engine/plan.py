"""What a run would send and cost, found out without sending anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from judge.calibration.jury_rules import sure_seats
from judge.config import Settings
from judge.engine.bench import make_bench
from judge.engine.connection import Connection, JudgeLike, SharingConnection
from judge.engine.draw import numbered
from judge.engine.facade import open_judge, rubric_of, settings_of
from judge.engine.intake import TrajectoryLike, as_reference, as_trajectories
from judge.engine.judging import Judging
from judge.engine.loop import PRIVATE
from judge.engine.run import reference_of
from judge.prompt import Prompt
from judge.providers.prices import batch_price_of
from judge.types.record import Record
from judge.types.reference import Reference
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory, Usage
from judge.types.verdict import Verdict


class PlannedPrompt(Record):
    """Exactly what would be sent for one trajectory, without secrets.

    Attributes:
        judge: The member that it goes to, of a jury; None of a single judge.
        payload: The call of the first sample; further samples send the same and differ in their draw.
    """

    trajectory_id: str
    judge: str | None = None
    system: str
    segments: tuple[str, ...]
    payload: dict[str, Any]
    tokens: int
    truncated: bool

    @classmethod
    def of(cls, name: str, prompt: Prompt, connection: Connection, *, judge: str | None = None) -> PlannedPrompt:
        """The prompt of what `name` names, as `connection` would send it."""
        return cls(
            trajectory_id=name,
            judge=judge,
            system=prompt.request.system,
            segments=prompt.request.segments,
            payload=connection.payload(prompt.request),
            tokens=prompt.tokens,
            truncated=prompt.truncated,
        )

    def text(self) -> str:
        """The prompt as people read it: the system text, then the user text, whole."""
        return "\n".join(
            [
                f"==== {self.trajectory_id}{f' to {self.judge}' if self.judge else ''}: about {self.tokens:,} tokens"
                + (", truncated" if self.truncated else "")
                + " ====",
                "---- system ----",
                self.system,
                "---- user ----",
                "".join(self.segments),
                "---- call ----",
                json.dumps(_without_texts(self.payload), ensure_ascii=False, indent=2),
            ]
        )


class PlannedSeat(Record):
    """What one member of a jury would take; the fields are as those of `Plan`.

    Attributes:
        always: Whether it is called on every run; else after a split or a pass alone, so that it may cost nothing.
    """

    omit_none: ClassVar[bool] = False

    judge: str
    host: str | None
    always: bool
    calls_low: int
    calls_high: int
    cached: int
    cost_low: float | None
    cost_high: float | None

    def text(self) -> str:
        """The seat in a line."""
        when = "" if self.always else " (only when it is needed)"
        cost = range_text(self.cost_low, self.cost_high)
        return f"  {self.judge}{when}: {_calls_text(self.calls_low, self.calls_high)} calls, {cost}"


class Plan(Record):
    """What a run would take.

    Attributes:
        calls_low, calls_high: Fewest and most calls; they differ where a third vote depends on the first two.
            Retries come on top.
        offline: Whether the judge calls no model: its calls are counted like others, and read no prompt.
        cached: Samples that the cache holds already; they cost nothing.
        input_tokens: Of all calls at `calls_high`, as counted for the judge's model.
        output_tokens: Most that the calls may write.
        cost_low, cost_high: US dollars, without provider prompt caches: input alone at `calls_low`, and input
            with the longest output at `calls_high`. None where the price is not known.
        overflow: Trajectories that do not fit the judge even shortened; they would be errors, not scores. Of a jury:
            those that do not fit one of its members.
        seats: Members of a jury; () of a single judge. Its lowest price has no member that waits for a split or a pass,
            its highest has all of them; reserves come on top, like retries.
    """

    omit_none: ClassVar[bool] = False

    judge: str
    host: str | None
    rubric: str
    trajectories: int
    calls_low: int
    calls_high: int
    cached: int
    input_tokens: int
    output_tokens: int
    cost_low: float | None
    cost_high: float | None
    overflow: tuple[str, ...]
    truncated: tuple[str, ...]
    prompts: tuple[PlannedPrompt, ...] = ()
    seats: tuple[PlannedSeat, ...] = ()
    offline: bool = False

    def text(self) -> str:
        """The plan in a few lines."""
        runs = "trajectory" if self.trajectories == 1 else "trajectories"
        lines = [
            f"{self.trajectories} {runs} under rubric {self.rubric} by {self.judge}"
            + (f" at {self.host}" if self.host else ""),
            f"calls: {_calls_text(self.calls_low, self.calls_high)}{' that ask no model' if self.offline else ''}, and "
            f"{self.cached} samples from the cache",
            *(
                [f"tokens: about {self.input_tokens:,} in, at most {self.output_tokens:,} out"]
                if self.calls_high and not self.offline
                else []
            ),
            f"cost: {range_text(self.cost_low, self.cost_high)}",
            *(seat.text() for seat in self.seats),
            *named("shortened to fit", self.truncated),
            *named("do not fit and would be errors", self.overflow),
        ]
        return "\n".join(lines)


def plan(
    trajectories: str | Path | Iterable[TrajectoryLike],
    rubric: str | Path | Rubric | None = None,
    *,
    judge: JudgeLike | None = None,
    reference: Any = None,
    policy: str | None = None,
    settings: Settings | None = None,
    payloads: bool = False,
    batched: bool = False,
    **options: Any,
) -> Plan:
    """What `score_many` would do with the same arguments; nothing is sent.

    Args:
        payloads: Keep every prompt and payload in the result.
        batched: At the price of the provider's batch API.

    Raises:
        UsageError: As for `score_many`.
    """
    chosen = settings_of(settings, options)
    return PRIVATE.run(_plan(trajectories, rubric, judge, reference, policy, chosen, payloads, batched))


async def _plan(
    trajectories: str | Path | Iterable[TrajectoryLike],
    rubric: str | Path | Rubric | None,
    judge: JudgeLike | None,
    reference: Any,
    policy: str | None,
    settings: Settings,
    payloads: bool,
    batched: bool,
) -> Plan:
    references = as_reference(reference)
    async with open_judge(judge, settings) as opened:
        bench = make_bench(opened, rubric_of(rubric, settings), settings, policy=policy)
        seats = [bench] if isinstance(bench, Judging) else [bench.seat(name) for name in bench.jury.members]
        counted = [_Counted(seat, settings if batched else None) for seat in seats]
        trajectories_seen = 0
        prompts: list[PlannedPrompt] = []
        for trajectory in as_trajectories(trajectories):
            trajectories_seen += 1
            own = reference_of(trajectory, references)
            for one in counted:
                prompt = one.add(trajectory, own)
                if payloads and prompt is not None:
                    prompts.append(one.planned(trajectory, prompt, of_several=len(counted) > 1))
        sure = len(counted) if isinstance(bench, Judging) else sure_seats(bench.jury)
        made = [one.seat(always=place < sure) for place, one in enumerate(counted)]
        first = [seat for seat in made if seat.always]
        return Plan(
            judge=opened.name,
            host=opened.host,
            rubric=bench.setup.rubric.id,
            trajectories=trajectories_seen,
            calls_low=sum(seat.calls_low for seat in first),
            calls_high=sum(seat.calls_high for seat in made),
            cached=sum(seat.cached for seat in made),
            input_tokens=sum(one.tokens_high for one in counted),
            output_tokens=sum(one.output for one in counted),
            cost_low=_sum(seat.cost_low for seat in first),
            cost_high=_sum(seat.cost_high for seat in made),
            overflow=tuple(dict.fromkeys(name for one in counted for name in one.overflow)),
            truncated=tuple(dict.fromkeys(name for one in counted for name in one.truncated)),
            prompts=tuple(prompts),
            seats=() if isinstance(bench, Judging) else tuple(made),
            offline=opened.offline,
        )


class _Counted:
    """Calls and tokens that one judge would take, trajectory by trajectory."""

    def __init__(self, judging: Judging, batched: Settings | None) -> None:
        """`batched`: what the price of the provider's batch API is looked up in; None for the usual price."""
        self._judging = judging
        self._batched = batched
        self._low = self._high = self._cached = self._tokens_low = 0
        self.tokens_high = 0
        self.overflow: list[str] = []
        self.truncated: list[str] = []

    @property
    def output(self) -> int:
        """Most tokens that the calls may write."""
        return self._high * self._judging.setup.sampling.max_output_tokens

    def add(self, trajectory: Trajectory, reference: Reference | None) -> Prompt | None:
        """Counts a trajectory in; None where it does not fit."""
        case = self._judging.begin(trajectory, reference)
        if isinstance(case, Verdict):
            self.overflow.append(trajectory.id)
            return None
        prompt, connection = case.prompt, self._judging.connection
        least, most = self._judging.setup.draws
        kept = [connection.hit(numbered(prompt.request, index)) is not None for index in range(most)]
        self._cached += sum(kept)
        sure = least - sum(kept[:least])
        if sure > 1 and isinstance(connection, SharingConnection) and self._batched is None:  # there each is a request
            by_one_request = connection.sharing(prompt.request, prompt.tokens) == "together"
            sure = 1 if by_one_request else sure
        self._low += sure
        self._high += most - sum(kept)
        self._tokens_low += prompt.tokens * sure
        self.tokens_high += prompt.tokens * (most - sum(kept))
        if prompt.truncated:
            self.truncated.append(trajectory.id)
        return prompt

    def planned(self, trajectory: Trajectory, prompt: Prompt, *, of_several: bool) -> PlannedPrompt:
        """What would be sent for a trajectory."""
        connection = self._judging.connection
        return PlannedPrompt.of(trajectory.id, prompt, connection, judge=connection.name if of_several else None)

    def seat(self, *, always: bool) -> PlannedSeat:
        """The sums."""
        connection = self._judging.connection
        return PlannedSeat(
            judge=connection.name,
            host=connection.host,
            always=always,
            calls_low=self._low,
            calls_high=self._high,
            cached=self._cached,
            cost_low=self._cost(self._tokens_low, 0),
            cost_high=self._cost(self.tokens_high, self.output),
        )

    def _cost(self, input_tokens: int, output_tokens: int) -> float | None:
        connection = self._judging.connection
        if connection.offline or (input_tokens == 0 and output_tokens == 0):
            return 0.0
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        if self._batched is None:
            return connection.price(usage)
        price = batch_price_of(connection.name, self._batched)
        return None if price is None else price.cost(usage)


def _sum(prices: Iterable[float | None]) -> float | None:
    """The sum, or None where one is not known."""
    known = list(prices)
    return None if any(price is None for price in known) else sum(price for price in known if price is not None)


def _calls_text(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def range_text(low: float | None, high: float | None) -> str:
    """A range of US dollars, or the word unknown."""
    return "unknown" if low is None or high is None else f"${low:.4g} to ${high:.4g}"


def named(what: str, names: Sequence[str]) -> list[str]:
    """A line with how many they are and the first five of them; [] where there are none."""
    return [f"{what}: {len(names)} ({', '.join(names[:5])})"] if names else []


def _without_texts(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload with its long texts named and not repeated: they stand above it, whole."""

    def short(value: Any) -> Any:
        if isinstance(value, str) and len(value) > 300:
            return f"({len(value):,} characters, shown above)"
        if isinstance(value, dict):
            return {key: short(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [short(part) for part in value]
        return value

    return {key: short(value) for key, value in payload.items()}
