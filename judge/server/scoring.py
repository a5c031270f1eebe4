"""POST /v1/score: judge one trajectory or some, and say how far the judge may be trusted."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.concurrency import run_in_threadpool

from judge.engine.facade import ascore_many
from judge.errors import UnknownName
from judge.server.access import ServiceHere, need
from judge.server.problems import Problem, of_cause
from judge.server.received import TrajectoryIn, one_or_many, trajectories
from judge.server.repeats import IdempotencyKey, Repeats
from judge.server.service import Service
from judge.store.access_keys import Caller
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict, VoteRule
from judge.voting import VerdictSums

router = APIRouter(tags=["score"])

LONG_BODY = 16 * 1024
"""Bytes of a request from which on its trajectories are read in a thread."""

EXAMPLE_RUN: dict[str, JsonValue] = {
    "schema": "judge.trajectory/1",
    "id": "run-1",
    "task": "Refund order 7.",
    "source": {"format": "native"},
    "steps": [
        {"index": 1, "kind": "message", "role": "user", "content": [{"type": "text", "text": "Refund order 7."}]},
        {"index": 2, "kind": "tool_call", "call_id": "c1", "name": "refund", "arguments": {"order": 7}},
        {"index": 3, "kind": "tool_result", "call_id": "c1", "call_index": 2, "pairing": "id", "status": "ok"},
        {"index": 4, "kind": "final", "text": "Done."},
    ],
}
EXAMPLE_CHAT: list[JsonValue] = [
    {"role": "user", "content": "Refund order 7."},
    {"role": "assistant", "content": "Order 7 is refunded."},
]


class JudgingOptions(BaseModel):
    """How to judge; what is left out is as the service is configured."""

    model_config = ConfigDict(extra="forbid")

    rubric: str | None = Field(default=None, max_length=200, description="Name of a rubric; see /v1/rubrics.")
    judge: str | None = Field(default=None, max_length=200, description="One of the judges offered here.")
    samples: int | None = Field(default=None, ge=1, le=21, description="Votes for one verdict.")
    vote: VoteRule | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    policy: str | None = Field(default=None, max_length=200_000, description="Text of the rules, for rubrics with one.")
    require_trust: bool = Field(default=False, description="Refuse a judge without a valid certificate (409).")

    def settings(self) -> dict[str, Any]:
        """Those that are settings of a run."""
        return {"samples": self.samples, "vote": self.vote, "temperature": self.temperature}


class ScoreRequest(JudgingOptions):
    """One trajectory or some, native or in any format that `judge convert` reads."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"trajectory": EXAMPLE_RUN, "rubric": "process"},
                {"trajectories": [EXAMPLE_CHAT], "rubric": "process", "samples": 3, "require_trust": True},
            ]
        },
    )

    trajectory: TrajectoryIn | None = None
    trajectories: list[TrajectoryIn] | None = None
    reference: JsonValue = Field(default=None, description="Expected answer or path, one for all of the request.")


@router.post(
    "/v1/score",
    summary="Judge trajectories",
    responses={
        status: {"description": words, "content": {"application/problem+json": {}}}
        for status, words in {
            409: "Trust was required and is not there; the document says what is missing.",
            413: "Too large.",
            422: "No trajectory, or one that tells the answer.",
            502: "The judge gave no usable answer.",
            503: "The judge takes no call now.",
            504: "The judge was too slow.",
        }.items()
    },
)
async def score(
    request: Request,
    body: ScoreRequest,
    service: ServiceHere,
    caller: Annotated[Caller, Depends(need("score"))],
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Judges each trajectory on its own.

    The answer is 200 with `results` (verdicts in the order of the request) and `summary`. A judgement that failed has
    status "error" and no score; when none succeeded, the answer is a problem document with the cause instead.
    """

    async def work() -> dict[str, Any]:
        given = one_or_many(body.trajectory, body.trajectories, most=service.deployment.max_items)
        read = partial(trajectories, given, max_steps=service.deployment.max_steps)
        # A thread costs more than reading a short request does, and keeps a long one from holding up the others.
        short = len(await request.body()) < LONG_BODY
        runs = read() if short else await run_in_threadpool(read)
        verdicts = await judged(service, runs, body, reference=body.reference)
        settings = service.deployment.settings
        sums = VerdictSums(settings.stop if body.samples is None and settings.samples is None else None)
        for verdict in verdicts:
            sums.add(verdict)
        return {"results": [verdict.to_json() for verdict in verdicts], "summary": sums.summary().to_json()}

    return await Repeats(service, caller, idempotency_key, "score").answer(body, work)


def judge_and_rubric(service: Service, options: JudgingOptions) -> tuple[str, Rubric]:
    """The judge and rubric that a request asks for.

    Raises:
        Problem: 422 when the service does not offer them, or the rubric needs a policy that is not there.
    """
    try:
        name, rubric = service.judge_name(options.judge), service.rubric(options.rubric)
    except UnknownName as error:
        raise Problem(422, error.kind, error.message, hint=error.hint) from None
    if rubric.policy and not options.policy:
        raise Problem(422, "policy_needed", f"Rubric {rubric.id!r} judges against a policy: send its text as `policy`.")
    return name, rubric


async def judged(
    service: Service, runs: list[Trajectory], options: JudgingOptions, *, reference: Any = None
) -> list[Verdict]:
    """Verdicts on the runs, in order.

    Raises:
        Problem: Every judgement failed (502, 503, 504 by cause), or trust was required and is missing (409).
        JudgeError: What stops a whole run.
    """
    name, rubric = judge_and_rubric(service, options)
    require = options.require_trust or service.deployment.require_trust
    connection = await service.judge(name)
    verdicts = [
        verdict
        async for verdict in ascore_many(
            runs,
            rubric,
            judge=connection,
            reference=reference,
            policy=options.policy,
            require_trust=require,
            settings=service.deployment.settings,
            **options.settings(),
        )
    ]
    for verdict in verdicts:
        service.counters.add("judge_verdicts_total", status=verdict.status)
        service.counters.spend(verdict.calls, verdict.cost_usd)
    if verdicts and all(verdict.status == "error" for verdict in verdicts):
        raise failed(verdicts)
    missing = [verdict for verdict in verdicts if verdict.trust.state != "certified"] if require else []
    if missing:
        raise Problem(
            409,
            "trust_required",
            f"Trust was required, and {len(missing)} of {len(verdicts)} verdicts are not covered by a certificate.",
            missing=[
                {"trajectory_id": v.trajectory_id, "state": v.trust.state, "reasons": list(v.trust.reasons)}
                for v in missing
            ],
        )
    return verdicts


def failed(verdicts: list[Verdict]) -> Problem:
    """The problem of a request of which every judgement failed; the status is that of the first cause."""
    first = verdicts[0].errors[0] if verdicts[0].errors else None
    cause = first.kind if first else "quorum"
    status, wait = of_cause(cause)
    words = first.message if first else verdicts[0].reason or "The judge gave no usable answer."
    return Problem(
        status,
        f"judge_{cause}",
        f"{len(verdicts)} of {len(verdicts)} judgements failed: {words}",
        retry_after=wait,
        results=[verdict.to_json() for verdict in verdicts],
    )
