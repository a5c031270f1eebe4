"""A live jury: each member judges as it would alone, in the order of its seat, and the votes become one verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judge.calibration.jury_rules import JuryVote, jury_vote, needs_binary, next_seat
from judge.engine.budget import Budget
from judge.engine.in_turn import InTurn, TurnCase
from judge.engine.judging import Judging
from judge.engine.setup import Setup
from judge.errors import Overloaded, UsageError
from judge.types.jury import Jury
from judge.types.record import fingerprint
from judge.types.reference import Reference
from judge.types.rubric import BinaryScale, Criterion, Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import CriterionResult, JudgeSpec, Verdict, VerdictStatus, Vote, VoteRule, VoteStatus
from judge.voting import add_at_most, add_known, add_usage, overall, tally

RULES: Mapping[str, VoteRule] = {"median": "median", "mean": "mean", "weighted": "mean"}
"""The nearest vote rule of one judge, by which reason and evidence are picked."""


@dataclass(slots=True)
class JuryCase(TurnCase):
    """One trajectory before the jury.

    Attributes:
        given: Criterion to judge to its score; None for a judge that was called and gave none.
        aside: Criterion to the judges that say it does not apply: their seats are filled, without a score.
    """

    started: float
    given: dict[str, dict[str, float | None]]
    aside: dict[str, set[str]] = field(default_factory=dict)


class LiveJury(InTurn[JuryCase]):
    """Judges trajectories with several opened judges, driven as one judge is (see `judge.engine.bench.Bench`).

    Bound to the event loop that it is used in.
    """

    _seats: Mapping[str, Judging]

    def __init__(
        self,
        jury: Jury,
        setup: Setup,
        seats: Mapping[str, Judging],
        budget: Budget,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`setup`: the jury's, as of one judge; `seats`: every member and reserve, all paid from `budget`."""
        super().__init__(setup, seats, budget, priced=jury.members)
        self.jury = jury
        self._clock = clock

    def seat(self, name: str) -> Judging:
        """A member or reserve, by its name."""
        return self._seats[name]

    def begin(self, trajectory: Trajectory, reference: Reference | None) -> JuryCase:
        """The case of a trajectory; under a cap with every member's prompt made, so that it has a price."""
        cap = self.setup.max_usd_per_item
        given: dict[str, dict[str, float | None]] = {criterion.id: {} for criterion in self.setup.rubric.criteria}
        budget = None if cap is None else Budget(cap, name="max_usd_per_item")
        return self._price(JuryCase(trajectory, reference, self._clock(), given, budget=budget))

    def _next(self, case: JuryCase) -> str | None:
        wanted = (self._wanted(votes, case.aside.get(name, set())) for name, votes in case.given.items())
        return next((name for name in wanted if name is not None), None)

    def _wanted(self, votes: Mapping[str, float | None], aside: set[str]) -> str | None:
        """The judge that one criterion waits for; no reserve is called for one that says it does not apply."""
        if 2 * len(aside) > len(self.jury.members):
            return None
        failed = any(score is None and name not in aside for name, score in votes.items())
        return next_seat(self.jury if failed else self.jury.model_copy(update={"reserves": ()}), votes)

    def _hear(self, case: JuryCase, seat: str, verdict: Verdict) -> None:
        case.said[seat] = verdict
        for result in verdict.criteria:
            case.given[result.id][seat] = result.score if result.status == "ok" else None
            if result.status == "not_applicable":
                case.aside.setdefault(result.id, set()).add(seat)

    def _verdict(self, case: JuryCase) -> Verdict:
        jury, said, standing = self.jury, case.said, self.setup.standing
        verdicts = list(said.values())
        refuse_silent(jury.name, verdicts)
        results = []
        for criterion in self.setup.rubric.criteria:
            vote = jury_vote(
                jury,
                case.given[criterion.id],
                binary=isinstance(criterion.scale, BinaryScale),
                weights=jury.weights or None,
            )
            results.append(_result(jury, criterion, vote, said))
        whole = overall(self.setup.rubric, results)
        served = sorted(
            {v.served_model for verdict in verdicts for r in verdict.criteria for v in r.votes if v.served_model}
        )
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
                "trust": standing.of(case.trajectory, served, whole.score),
                "usage": add_usage([verdict.usage for verdict in verdicts]),
                "cost_usd": add_known(verdict.cost_usd for verdict in verdicts),
                "at_most_usd": add_at_most((verdict.cost_usd, verdict.at_most_usd) for verdict in verdicts),
                "seconds": self._clock() - case.started,
                "calls": sum(verdict.calls for verdict in verdicts),
                "cached": sum(verdict.cached for verdict in verdicts),
                "truncated": any(verdict.truncated for verdict in verdicts),
                "cuts": tuple(dict.fromkeys(cut for verdict in verdicts for cut in verdict.cuts)),
                "dropped_params": tuple(dict.fromkeys(p for verdict in verdicts for p in verdict.dropped_params)),
                "warnings": tuple(dict.fromkeys(w for verdict in verdicts for w in verdict.warnings)),
                "errors": tuple(error for verdict in verdicts for error in verdict.errors),
                "fingerprints": {
                    **{k: v for k, v in first.fingerprints.items() if k != "prompt"},
                    "judge": standing.spec.fingerprint,
                    "prompt": fingerprint({name: v.fingerprints.get("prompt") for name, v in said.items()}),
                },
            }
        )


def jury_setup(jury: Jury, members: Mapping[str, Setup]) -> Setup:
    """The setup of a jury: that of its first judge, under the spec and the standing of the whole.

    Args:
        members: Setup of every member and reserve, in the order of the seats.

    Raises:
        UsageError: The rule learns from labels, or does not fit the rubric's scales.
    """
    first = next(iter(members.values()))
    refuse_live(jury, first.rubric)
    spec = JudgeSpec(
        name=jury.name,
        provider="jury",
        model=jury.fingerprint,
        sampling=first.sampling,
        samples=first.samples,
        vote=first.vote,
        stop=first.stop,
        jury=jury,
        members=tuple(setup.spec for setup in members.values()),
    )
    return replace(
        first,
        spec=spec,
        fingerprints={**first.fingerprints, "judge": spec.fingerprint},
        warnings=tuple(dict.fromkeys(warning for setup in members.values() for warning in setup.warnings)),
        standing=first.standing.of_judge(spec),
    )


def refuse_silent(name: str, said: Sequence[Verdict]) -> None:
    """Raises Overloaded where every judge that was asked is overloaded, so that each further trajectory would fail."""
    errors = [error for verdict in said for error in verdict.errors]
    silent = all(verdict.status == "error" for verdict in said)
    if silent and errors and all(error.kind == Overloaded.REASON for error in errors):
        messages = " ".join(dict.fromkeys(error.message for error in errors))
        raise Overloaded(f"No judge of {name} answers: {messages}", provider=name)


def refuse_live(jury: Jury, rubric: Rubric) -> None:
    """Raises UsageError where this jury cannot judge live under this rubric."""
    if jury.rule in ("dawid_skene", "stacked") or (jury.rule == "weighted" and not jury.weights):
        raise UsageError(
            f"Jury {jury.name!r}: rule {jury.rule} learns from many runs, a live jury votes on one.",
            hint="Learn the weights: `judge compare --set SET --judge JURY --judge OTHER --write-jury FILE`."
            if jury.rule == "weighted"
            else "Use it on recorded verdicts.",
        )
    scored = [c.id for c in rubric.criteria if not isinstance(c.scale, BinaryScale)]
    if scored and (why := needs_binary(jury)):
        raise UsageError(
            f"Jury {jury.name!r}: {why}, and criterion {scored[0]!r} of rubric {rubric.id!r} is scored.",
            hint="Take a rubric with binary criteria, give a pass_mark with screen, or take another rule.",
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
