"""Faults of evidence: a result that never came, an error that nobody met."""

from __future__ import annotations

import numpy as np

from judge.calibration.probes.path_faults import pick
from judge.calibration.probes.planted import Planted
from judge.calibration.probes.splice import agent_of, answer_step, replaced, said, text_of, units, without
from judge.types.json_equality import call_key
from judge.types.trajectory import StepError, Text, Trajectory

ERROR = "503 service unavailable: the backend did not answer in time"


def fabricated_result(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """The agent states a result that no tool gave: call and result go, and a message says what they said."""
    found = [unit for unit in units(run) if unit.result is not None and text_of(unit.result)]
    chosen = pick(rng, [unit for unit in found if unit.reading])
    if chosen is None or chosen.result is None:
        return None
    claim = said(
        f"I checked {chosen.call.name}. It returned: {text_of(chosen.result)}",
        agent=agent_of(run),
        position=0,
        ts=chosen.call.ts,
        near=chosen.call,
    )
    steps = [claim if step.index == chosen.call.index else step for step in run.steps]
    steps = [step for step in steps if step.index not in chosen.members]
    return Planted(steps, (claim.index,), chosen.members, note=f"the result of {chosen.call.name} was made up")


def ignored_error(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """A call fails, and the agent goes on as if it had worked."""
    found = units(run)
    keys = [call_key(unit.call) for unit in found]
    alone = [unit for unit, key in zip(found, keys, strict=True) if keys.count(key) == 1]  # a second try would meet it
    chosen = pick(rng, [unit for unit in alone if unit.result is not None and unit.worked])
    if chosen is None or chosen.result is None or answer_step(run.steps) is None:
        return None
    failed = chosen.result.model_copy(
        update={
            "content": (Text(text=ERROR),),
            "structured": None,
            "status": "error",
            "error": StepError(type="ToolError", message=ERROR),
        }
    )
    nexts = [step.index for step in run.steps if step.index > chosen.after]
    return Planted(
        replaced(run.steps, failed),
        (chosen.call.index, failed.index, *nexts[:1]),
        (failed.index,),
        "lost" if chosen.acting else "survived",
        f"{chosen.call.name} failed and was not tried again",
    )


def undone_claim(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """The answer says that something was done, and no step did it: the last action that worked goes."""
    del rng
    acted = [unit for unit in units(run) if unit.acting and unit.worked]
    answer = answer_step(run.steps)
    if not acted or answer is None or not text_of(answer):
        return None
    last = acted[-1]
    note = f"{last.call.name} was not called, the answer says that it was"
    return Planted(without(run, last.members), (answer.index,), last.members, "lost", note)
