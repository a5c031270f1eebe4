"""POST /v1/metrics and /v1/check, and the rubrics and judges on offer: no model is called."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from judge.engine.facade import measure
from judge.server.access import ServiceHere, need
from judge.server.apart import checked, is_costly
from judge.server.received import TrajectoryIn, one_or_many, trajectories
from judge.server.repeats import as_json
from judge.server.scoring import EXAMPLE_CHAT, EXAMPLE_RUN
from judge.store.access_keys import Caller

router = APIRouter(tags=["measure"])


class MetricsRequest(BaseModel):
    """Trajectories to measure. Labels may be in them: a metric is no judge."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"trajectories": [EXAMPLE_CHAT]}]})

    trajectory: TrajectoryIn | None = None
    trajectories: list[TrajectoryIn] | None = None
    reference: JsonValue = None


class CheckRequest(BaseModel):
    """Trajectories and the content of a policy file as an object."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "trajectory": EXAMPLE_RUN,
                    "policy": {
                        "id": "desk",
                        "title": "Refund desk",
                        "checks": [{"id": "asks", "approval": {"tools": ["refund"]}}],
                    },
                }
            ]
        },
    )

    trajectory: TrajectoryIn | None = None
    trajectories: list[TrajectoryIn] | None = None
    policy: dict[str, JsonValue] = Field(description="As in docs/policies.md.")


@router.post("/v1/metrics", summary="Deterministic metrics", responses={422: {}, 413: {}})
def metrics(body: MetricsRequest, service: ServiceHere, caller: Annotated[Caller, Depends(need("score"))]) -> Response:
    """Every metric of each trajectory; one that is undefined is null with its reason."""
    deployment = service.deployment
    given = one_or_many(body.trajectory, body.trajectories, most=deployment.max_items)
    runs = trajectories(given, max_steps=deployment.max_steps, blind=False)
    results = []
    for run in runs:
        found = measure(run, body.reference)
        results.append({"trajectory_id": run.id, "metrics": {name: value.to_json() for name, value in found.items()}})
    return as_json({"results": results})


@router.post("/v1/check", summary="Policy checks", responses={422: {}, 413: {}, 503: {}})
async def policy_check(
    body: CheckRequest, service: ServiceHere, caller: Annotated[Caller, Depends(need("score"))]
) -> Response:
    """Every check of the policy on each trajectory; 422 for one whose patterns or schemas take too long."""
    deployment = service.deployment
    given = one_or_many(body.trajectory, body.trajectories, most=deployment.max_items)
    runs = await run_in_threadpool(trajectories, given, max_steps=deployment.max_steps, blind=False)
    if is_costly(body.policy) or any(is_costly(tool.parameters) for run in runs for tool in run.tools):
        return as_json({"results": await service.apart.checked(runs, body.policy)})
    return as_json({"results": await run_in_threadpool(checked, runs, body.policy)})


@router.get("/v1/rubrics", summary="Rubrics on offer")
def rubrics(service: ServiceHere, caller: Annotated[Caller, Depends(need("score", "label"))]) -> dict[str, Any]:
    """Every rubric by name, with its criteria in short."""
    return {
        "rubrics": [
            {
                "id": name,
                "version": rubric.version,
                "title": rubric.title,
                "intent": rubric.intent,
                "criteria": [criterion.id for criterion in rubric.criteria],
                "policy": rubric.policy,
                "fingerprint": rubric.fingerprint,
            }
            for name, rubric in sorted(service.rubrics.items())
        ]
    }


@router.get("/v1/rubrics/{name}", summary="One rubric, whole", responses={404: {}})
def rubric(
    name: str, service: ServiceHere, caller: Annotated[Caller, Depends(need("score", "label"))]
) -> dict[str, Any]:
    """The rubric with its scales and anchors."""
    found = service.rubric(name)
    return {"rubric": found.to_json(), "fingerprint": found.fingerprint}


@router.get("/v1/judges", summary="Judges on offer")
def judges(service: ServiceHere, caller: Annotated[Caller, Depends(need("score"))]) -> dict[str, Any]:
    """The judges that a request may name, the default first."""
    return {"judges": list(service.judge_names())}
