"""A live jury: each member judges as it would alone, in the order of its seat, and the votes become one verdict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from itertools import islice

from judge.calibration.jury_rules import JuryVote, jury_vote, needs_binary, next_seat
from judge.config import Settings
from judge.engine.budget import Ledger
from judge.engine.connection import Connection
from judge.engine.judging import Judging
from judge.engine.run import BATCH, Progress, References, reference_of
from judge.engine.setup import make_setup
from judge.engine.standing import Standing, standing_of
from judge.errors import UsageError
from judge.types.jury import Jury
from judge.types.record import fingerprint
from judge.types.reference import Reference
from judge.types.rubric import BinaryScale, Criterion, Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import CriterionResult, JudgeSpec, Verdict, VerdictStatus, Vote, VoteRule, VoteStatus
from judge.voting import add_known, add_usage, overall, tally

RULES: Mapping[str, VoteRule] = {"median": "median", "mean": "mean", "weighted": "mean"}
"""The nearest vote rule of one judge, by which reason and evidence are picked."""


class LiveJury:
    """Judges trajectories with several opened judges. Bound to the event loop that it is used in."""

    def __init__(self, jury: Jury, rubric: Rubric, seats: Mapping[str, Judging], standing: Standing) -> None:
        self.jury = jury
        self.rubric = rubric
        self.standing = standing
        self._seats = seats

    async def judge(self, trajectory: Trajectory, reference: Reference | None) -> Verdict:
        """One verdict of the whole jury.

        Raises:
            TerminalError, BudgetReached: A member can make no further call.
        """
        said: dict[str, Verdict] = {}
        given: dict[str, dict[str, float | None]] = {criterion.id: {} for criterion in self.rubric.criteria}
        while (name := self._next(given)) is not None:
            verdict = await self._seats[name].judge(trajectory, reference)
            said[name] = verdict
            for result in verdict.criteria:
                given[result.id][name] = result.score if result.status == "ok" else None
        return self._verdict(trajectory, said, given)

    def _next(self, given: Mapping[str, Mapping[str, float | None]]) -> str | None:
        wanted = (next_seat(self.jury, votes) for votes in given.values())
        return next((name for name in wanted if name is not None), None)

    def _verdict(
        self, trajectory: Trajectory, said: Mapping[str, Verdict], given: Mapping[str, Mapping[str, float | None]]
    ) -> Verdict:
        jury, verdicts = self.jury, list(said.values())
        results = []
        for criterion in self.rubric.criteria:
            vote = jury_vote(
                jury,
                given[criterion.id],
                binary=isinstance(criterion.scale, BinaryScale),
                weights=jury.weights or None,
            )
            results.append(_result(jury, criterion, vote, said))
        whole = overall(self.rubric, results)
        served = sorted(
            {v.served_model for verdict in verdicts for r in verdict.criteria for v in r.votes if v.served_model}
        )
        seconds = [verdict.seconds for verdict in verdicts if verdict.seconds is not None]
        first = verdicts[0]
        return first.model_copy(
            update={
                "judge": jury.name,
                "status": whole.status,
                "score": whole.score,
                "scale": whole.scale,
                "passed": whole.passed,
                "reason": whole.reason,
                "criteria": tuple(results),
                "trust": self.standing.of(trajectory, served, whole.score),
                "usage": add_usage([verdict.usage for verdict in verdicts]),
                "cost_usd": add_known(verdict.cost_usd for verdict in verdicts),
                "seconds": sum(seconds) if len(seconds) == len(verdicts) else None,
                "calls": sum(verdict.calls for verdict in verdicts),
                "cached": sum(verdict.cached for verdict in verdicts),
                "truncated": any(verdict.truncated for verdict in verdicts),
                "cuts": tuple(dict.fromkeys(cut for verdict in verdicts for cut in verdict.cuts)),
                "dropped_params": tuple(dict.fromkeys(p for verdict in verdicts for p in verdict.dropped_params)),
                "warnings": tuple(dict.fromkeys(w for verdict in verdicts for w in verdict.warnings)),
                "errors": tuple(error for verdict in verdicts for error in verdict.errors),
                "fingerprints": {
                    **{k: v for k, v in first.fingerprints.items() if k != "prompt"},
                    "judge": self.standing.spec.fingerprint,
                    "prompt": fingerprint({name: v.fingerprints.get("prompt") for name, v in said.items()}),
                },
            }
        )


@asynccontextmanager
async def open_jury(
    jury: Jury,
    rubric: Rubric,
    settings: Settings,
    opened: Callable[[str], AbstractAsyncContextManager[Connection]],
    *,
    policy: str | None,
    ledger: Ledger | None = None,
) -> AsyncIterator[LiveJury]:
    """The jury, with every judge on it opened for the time of the block.

    Args:
        opened: Opens one judge by name.

    Raises:
        UsageError: Its rule learns from labels, or does not fit the rubric's scales.
    """
    refuse_live(jury, rubric)
    async with AsyncExitStack() as stack:
        seats: dict[str, Judging] = {}
        for name in (*jury.members, *jury.reserves):
            connection = await stack.enter_async_context(opened(name))
            setup = make_setup(rubric, connection, settings, policy=policy)
            seats[name] = Judging(setup, connection, ledger=ledger)
        first = next(iter(seats.values()))
        for seat in seats.values():
            seat.budget = first.budget  # one cap for the whole jury
        spec = JudgeSpec(
            name=jury.name,
            provider="jury",
            model=jury.fingerprint,
            sampling=first.setup.sampling,
            samples=settings.samples,
            vote=settings.vote,
            jury=jury,
            members=tuple(seat.setup.spec for seat in seats.values()),
        )
        base = first.setup.standing
        yield LiveJury(jury, rubric, seats, standing_of(spec, rubric, settings.certificates, base.now))


def refuse_live(jury: Jury, rubric: Rubric) -> None:
    """Raises UsageError where this jury cannot judge live under this rubric."""
    if jury.rule in ("dawid_skene", "stacked") or (jury.rule == "weighted" and not jury.weights):
        raise UsageError(
            f"Jury {jury.name!r}: rule {jury.rule} learns from many runs, a live jury votes on one.",
            hint="Use it on recorded verdicts, or give `weights:` with rule weighted.",
        )
    scored = [c.id for c in rubric.criteria if not isinstance(c.scale, BinaryScale)]
    if scored and (why := needs_binary(jury)):
        raise UsageError(
            f"Jury {jury.name!r}: {why}, and criterion {scored[0]!r} of rubric {rubric.id!r} is scored.",
            hint="Take a rubric with binary criteria, give a pass_mark with screen, or take another rule.",
        )


async def jury_batches(
    live: LiveJury,
    trajectories: Iterable[Trajectory],
    *,
    reference: References,
    concurrency: int,
    progress: Callable[[Progress], None] | None,
) -> AsyncGenerator[list[Verdict], None]:
    """Verdicts in input order, some at a time; what was finished comes before the error that stops the run.

    Raises:
        TerminalError, BudgetReached: No further call can be made.
        UsageError: Two trajectories have the same id.
    """
    room = asyncio.Semaphore(concurrency)
    seen: set[str] = set()
    so_far = Progress(done=0, total=None, failed=0, calls=0, cached=0, cost_usd=0.0)

    async def one(trajectory: Trajectory) -> Verdict:
        async with room:
            return await live.judge(trajectory, reference_of(trajectory, reference))

    source = iter(trajectories)
    while chunk := list(islice(source, BATCH)):
        for trajectory in chunk:
            if trajectory.id in seen:
                raise UsageError(f"Two trajectories have the id {trajectory.id!r}.", hint="Give each run its own id.")
            seen.add(trajectory.id)
        made = await asyncio.gather(*(one(trajectory) for trajectory in chunk), return_exceptions=True)
        finished = [verdict for verdict in made if isinstance(verdict, Verdict)]
        if finished:
            so_far = _further(so_far, finished)
            if progress is not None:
                progress(so_far)
            yield finished
        for verdict in made:
            if isinstance(verdict, BaseException):
                raise verdict


def _further(so_far: Progress, fresh: Sequence[Verdict]) -> Progress:
    return Progress(
        done=so_far.done + len(fresh),
        total=None,
        failed=so_far.failed + sum(verdict.status == "error" for verdict in fresh),
        calls=so_far.calls + sum(verdict.calls for verdict in fresh),
        cached=so_far.cached + sum(verdict.cached for verdict in fresh),
        cost_usd=add_known([so_far.cost_usd, *(verdict.cost_usd for verdict in fresh)]),
    )


def _result(jury: Jury, criterion: Criterion, vote: JuryVote, said: Mapping[str, Verdict]) -> CriterionResult:
    """The members' results on one criterion as votes of one judge, with what the jury makes of them."""
    own = {name: next(r for r in said[name].criteria if r.id == criterion.id) for name in said}
    base = tally(list(_votes(own)), criterion, rule=RULES.get(jury.rule, "majority"))
    status: VerdictStatus = "ok"
    if vote.value is None:
        status = "inconclusive" if vote.tie else "error" if base.status == "ok" else base.status
    speaker = next((v for v in base.votes if v.status == "ok" and v.score == vote.value), None)
    reason = base.reason if status == base.status and vote.value == base.score else (vote.failure or "The votes tie.")
    passed = None
    if criterion.gate and vote.value is not None:
        binary = isinstance(criterion.scale, BinaryScale)
        passed = vote.value > 0.5 if binary else vote.value >= criterion.pass_mark
    return base.model_copy(
        update={
            "status": status,
            "score": vote.value,
            "tie": vote.tie,
            "reason": speaker.reason if speaker and status == "ok" else reason,
            "evidence": speaker.evidence if speaker else base.evidence,
            "passed": passed,
        }
    )


def _votes(own: Mapping[str, CriterionResult]) -> Iterator[Vote]:
    unsettled: Mapping[str, VoteStatus] = {"inconclusive": "abstain", "not_applicable": "not_applicable"}
    for seat, (name, result) in enumerate(own.items()):
        usage = add_usage([vote.usage for vote in result.votes]) if any(v.usage for v in result.votes) else None
        status: VoteStatus = "ok"
        if result.status != "ok":
            cause = next((vote.status for vote in result.votes if vote.status != "ok"), None)
            status = unsettled.get(result.status) or cause or "unparsed"
        yield Vote(
            status=status,
            score=result.score if status == "ok" else None,
            reason=f"{name}: {result.reason}",
            evidence=result.evidence,
            sample=seat,
            usage=usage,
            detail={"judge": name},
        )
