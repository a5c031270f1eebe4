"""Queues and labels over HTTP: make a queue, take the next run, give a label, export them all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from judge.server.access import ServiceHere, need
from judge.server.cursors import Cursor, Limit, read_cursor, write_cursor
from judge.server.links import ID, links, of_list
from judge.server.problems import Problem
from judge.server.progress import for_rater, progress_of
from judge.server.received import TrajectoryIn, one_or_many, trajectories
from judge.server.repeats import IdempotencyKey, Repeats
from judge.server.scoring import EXAMPLE_RUN, JudgingOptions, judge_and_rubric, judged
from judge.server.service import Service
from judge.store.access_keys import Caller, rater_name
from judge.store.label_draw import Order
from judge.store.label_queue import Answered, Entry, QueueSettings
from judge.types.label import RaterKind

router = APIRouter(tags=["labels"])

_THIS = {"queue": ID}
OF_QUEUE = links(201, next_run=_THIS, list_labels=_THIS, export_labels=_THIS, remove_queue=_THIS)
TO_LABEL: dict[int | str, dict[str, Any]] = {
    200: {
        "links": {
            "give_label": {
                "operationId": "give_label",
                "requestBody": {
                    "queue": "$request.path.queue",
                    "trajectory_id": "$response.body#/trajectory/id",
                    "value": 3,
                },
            }
        }
    }
}
"""How one operation leads to the next, in the description of the API."""

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")]


class QueueRequest(JudgingOptions):
    """Runs for people to label. With `verdicts`, the judge scores them first; raters see it after they have saved."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"id": "refunds", "rubric": "process", "trajectories": [EXAMPLE_RUN]}]},
    )

    id: Name
    title: str = Field(default="", max_length=200)
    criterion: str | None = Field(default=None, max_length=200, description="Of the rubric; its first by default.")
    pass_mark: float | None = Field(default=None, description="Lowest value that counts as passed.")
    order: Order = "random"
    n: int | None = Field(default=None, ge=1, le=100_000, description="How many to draw; all by default.")
    seed: int = Field(default=0, ge=0, le=2**53)
    verdicts: bool = False
    trajectories: list[TrajectoryIn]


class LabelRequest(BaseModel):
    """One answer. The rater is the caller; only an admin may name another one."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"queue": "refunds", "trajectory_id": "run-1", "value": 4, "step": 2}]},
    )

    queue: Name
    trajectory_id: str = Field(max_length=500)
    value: float | None = Field(default=None, description="On the scale; null for not applicable.")
    skipped: bool = False
    step: int | None = Field(default=None, ge=1, le=2**31 - 1, description="Index of the deciding step.")
    note: str = Field(default="", max_length=10_000)
    rater: str | None = Field(default=None, max_length=64)
    rater_kind: RaterKind = "human"

    @field_validator("value", mode="before")
    @classmethod
    def _no_truth_value(cls, value: Any) -> Any:
        """True is no 1: on a scale from 1 to 5 that is the worst level."""
        if isinstance(value, bool):
            raise ValueError("true and false are no values of a scale; on a binary one 1 is passed and 0 is failed")
        return value

    @model_validator(mode="after")
    def _an_answer(self) -> Self:
        """A value that was forgotten is no "not applicable"."""
        if not self.skipped and "value" not in self.model_fields_set:
            raise ValueError("`value` is missing; null says not applicable")
        return self


@router.post(
    "/v1/queues",
    status_code=201,
    summary="Make a queue",
    operation_id="make_queue",
    responses={409: {}, 413: {}, 422: {}, **OF_QUEUE},
)
async def make_queue(
    body: QueueRequest,
    service: ServiceHere,
    caller: Annotated[Caller, Depends(need())],
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Draws what is to be labelled, each run with its recorded chance of being drawn."""

    async def work() -> dict[str, Any]:
        given = one_or_many(None, body.trajectories, most=service.deployment.max_batch)
        runs = await run_in_threadpool(trajectories, given, max_steps=service.deployment.max_steps)
        settings = queue_settings(service, body)
        if settings.id in await run_in_threadpool(service.queues.names):
            raise Problem(409, "queue_exists", f"There is a queue {settings.id!r} already.", hint="Choose another id.")
        verdicts = await judged(service, runs, body) if body.verdicts or body.order != "random" else []
        by_id = {verdict.trajectory_id: verdict for verdict in verdicts}
        drawn = await run_in_threadpool(service.queues.create, settings, runs, by_id)
        return {"id": settings.id, "trajectories": len(runs), "drawn": drawn, "settings": settings.to_json()}

    return await Repeats(service, caller, idempotency_key, "queues").answer(body, work, 201)


def queue_settings(service: Service, body: QueueRequest) -> QueueSettings:
    """What the queue asks, from the rubric that it names.

    Raises:
        Problem: 422 where the rubric has no such criterion, or the pass mark is off its scale.
    """
    _, rubric = judge_and_rubric(service, body)
    by_id = {criterion.id: criterion for criterion in rubric.criteria}
    criterion = by_id.get(body.criterion or rubric.criteria[0].id)
    if criterion is None:
        raise Problem(422, "unknown_criterion", f"Rubric {rubric.id!r} has the criteria {', '.join(by_id)}.")
    if body.pass_mark is not None and not criterion.scale.contains(body.pass_mark):
        raise Problem(422, "bad_pass_mark", f"{body.pass_mark!r} is not on the scale of {criterion.id!r}.")
    return QueueSettings(
        id=body.id,
        title=body.title,
        rubric=rubric.id,
        rubric_version=rubric.version,
        criterion=criterion,
        pass_mark=body.pass_mark,
        order=body.order,
        n=body.n,
        seed=body.seed,
    )


@router.get("/v1/queues", summary="Queues and how far they are")
def queues(service: ServiceHere, caller: Annotated[Caller, Depends(need("label"))]) -> dict[str, Any]:
    """Every queue with its progress; what others answered, and whether it is disputed, is told to an admin alone."""
    found = [progress_of(service.queues, name) for name in service.queues.names()]
    if caller.role == "admin":
        return {"queues": [progress.to_json() for progress in found]}
    return {"queues": [for_rater(progress, caller.name) for progress in found]}


@router.get(
    "/v1/queues/{queue}/next",
    summary="The next run to label",
    operation_id="next_run",
    responses={404: {}, **TO_LABEL},
)
def next_run(queue: Name, service: ServiceHere, caller: Annotated[Caller, Depends(need("label"))]) -> dict[str, Any]:
    """The run that the caller labels next, without verdict and without labels of others; null when all are done."""
    settings = service.queues.settings(queue)
    found = service.queues.next_for(queue, caller.name)
    run = None if found is None else service.queues.item(queue, found).trajectory
    return {
        "queue": queue,
        "criterion": settings.criterion.to_json(),
        "trajectory": None if run is None else blind(run.to_json()),
    }


def blind(run: dict[str, Any]) -> dict[str, Any]:
    """A trajectory without what a rater must not know: labels, outcome, group, file, and notes about it or a step."""
    steps = [{key: value for key, value in step.items() if key != "extra"} for step in run["steps"]]
    shown = {key: run[key] for key in ("schema", "id", "task", "agents", "tools", "final") if key in run}
    return shown | {"source": {"format": run["source"]["format"]}, "steps": steps}


@router.delete(
    "/v1/queues/{queue}",
    status_code=204,
    summary="Remove a queue",
    operation_id="remove_queue",
    responses={404: {}},
)
def remove_queue(queue: Name, service: ServiceHere, caller: Annotated[Caller, Depends(need())]) -> None:
    """Takes a queue away with its labels: export them first."""
    service.queues.remove(queue)


@router.post(
    "/v1/labels",
    status_code=201,
    summary="Give a label",
    operation_id="give_label",
    responses={404: {}, 422: {}, **links(201, list_labels={"queue": "$request.body#/queue"})},
)
def give_label(
    body: LabelRequest, service: ServiceHere, caller: Annotated[Caller, Depends(need("label"))]
) -> dict[str, Any]:
    """Keeps the caller's answer; an earlier one on the same run is replaced. Labels of models never open the gate."""
    rater = caller.name
    if body.rater is not None and body.rater != caller.name:
        if caller.role != "admin":
            raise Problem(403, "forbidden", "Only an admin may label under another name.")
        rater = rater_name(body.rater)
    if "\x00" in body.note or "\x00" in body.trajectory_id:
        raise Problem(422, "invalid_request", "A note and an id may not hold a NUL.")
    entry = Entry(
        trajectory_id=body.trajectory_id,
        rater=rater,
        rater_kind=body.rater_kind,
        skipped=body.skipped,
        value=body.value,
        step=body.step,
        note=body.note,
    )
    service.queues.save(body.queue, entry)
    service.counters.add("judge_labels_total")
    return {"saved": entry.to_json()}


@router.get(
    "/v1/labels",
    summary="Labels, a page at a time",
    operation_id="list_labels",
    responses={404: {}, **of_list("list_labels", queue="$request.query.queue")},
)
def list_labels(
    queue: Annotated[Name, Query()],
    service: ServiceHere,
    caller: Annotated[Caller, Depends(need())],
    limit: Limit = 100,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """Labels in the order of time; `next` is the cursor of the following page, or null.

    A label that is replaced moves to the end of that order.
    """
    service.queues.settings(queue)
    key = read_cursor(cursor, str, str, str)
    after = None if key is None else Answered(*map(str, key))
    found = service.queues.labels(queue, after=after, limit=limit + 1)
    page, last = found[:limit], found[limit - 1] if len(found) > limit else None
    more = None if last is None else write_cursor(last.labelled_at or "", last.trajectory_id, last.rater)
    return {"labels": [label.to_json() for label in page], "next": more}


@router.get(
    "/v1/labels/export",
    summary="labels.jsonl",
    operation_id="export_labels",
    response_class=Response,
    responses={404: {}},
)
def export_labels(
    queue: Annotated[Name, Query()], service: ServiceHere, caller: Annotated[Caller, Depends(need())]
) -> Response:
    """Every label of a queue as JSON Lines, as `judge calibrate --labels` and a calibration set read them."""
    service.queues.settings(queue)

    def lines() -> Iterator[str]:
        for label in service.queues.labels(queue):
            yield json.dumps(label.to_json(), ensure_ascii=True) + "\n"

    name = f'attachment; filename="{queue}.labels.jsonl"'
    return StreamingResponse(lines(), media_type="application/jsonl", headers={"Content-Disposition": name})
