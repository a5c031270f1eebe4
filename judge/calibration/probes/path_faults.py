"""Faults of the path: what was done, how often and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from judge.calibration.probes.planted import Planted
from judge.calibration.probes.splice import (
    Unit,
    agent_of,
    answer_step,
    fresh,
    inserted,
    said,
    text_of,
    units,
    without,
)
from judge.calibration.probes.values import with_arguments
from judge.types.json_equality import call_key
from judge.types.trajectory import Step, Text, Tool, ToolCall, ToolResult, Trajectory

COPIES = 2
FILLERS = (
    "Let me think about this for a moment before I go on.",
    "I am making good progress with this.",
    "Everything is in order so far, so I will continue.",
)
CLOCK = "get_current_time"


def pick(rng: np.random.Generator, found: Sequence[Unit]) -> Unit | None:
    """One of them at random, or None."""
    return found[int(rng.integers(len(found)))] if found else None


def skipped_step(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """A needed look-up is left out: a reading call that worked and was made once goes, with its result."""
    found = units(run)
    keys = [call_key(unit.call) for unit in found]
    needed = [
        unit for unit, key in zip(found, keys, strict=True) if unit.reading and unit.worked and keys.count(key) == 1
    ]
    chosen = pick(rng, needed)
    if chosen is None:
        return None
    rest = without(run, chosen.members)
    after = _next_deed(rest, chosen.call.index)
    if after is None:
        return None
    return Planted(rest, (after,), chosen.members, note=f"{chosen.call.name} was not called")


def repeated_call(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """A reading call is made again and again, nearly word for word, with the same result."""
    chosen = pick(rng, [unit for unit in units(run) if unit.reading and unit.result is not None])
    if chosen is None or chosen.result is None:
        return None
    copies: list[Step] = []
    for number in range(COPIES):
        call = with_arguments(chosen.call, _nearly(chosen.call.arguments, number))
        copies += again(chosen, call, chosen.result, 2 * number)
    return Planted(
        inserted(list(run.steps), chosen.after, copies),
        tuple(step.index for step in copies),
        (),
        note=f"{chosen.call.name} was called {COPIES} times more",
    )


def again(unit: Unit, call: ToolCall, result: ToolResult, position: int) -> list[Step]:
    """A further call with its result, linked to each other, at the end of a unit; of a model call of its own."""
    name = f"{call.call_id or 'call'}_{position + 2}"
    turn = unit.call.turn if unit.call.turn is None or unit.goes_on else f"{unit.call.turn}_{position + 2}"
    new = fresh(call.model_copy(update={"call_id": name, "ts": unit.until, "turn": turn}), position)
    linked = {"call_index": new.index, "call_id": name, "ts": unit.until, "turn": turn and result.turn and turn}
    return [new, fresh(result.model_copy(update=linked), position + 1)]


def padding(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """Harmless steps that serve nothing: filler messages and looks at the clock after each of a few calls."""
    found = units(run)
    if not found:
        return None
    agent = agent_of(run)
    steps: list[Step] = list(run.steps)
    marks: list[int] = []
    ends: dict[int, int] = {}  # where steps were put in already: the last of them
    chosen = sorted(int(place) for place in rng.integers(len(found), size=len(FILLERS)))
    for number, place in enumerate(chosen):
        unit = found[place]
        base = 10 * number
        by = {"agent": unit.call.agent or agent, "parent": unit.call.parent}
        call = ToolCall(index=1, name=CLOCK, arguments={}, call_id=f"clock_{number}", **by)
        result = ToolResult(
            index=1,
            pairing="id",
            status="ok",
            parent=unit.call.parent,
            content=(Text(text=f'{{"time": "{9 + number:02d}:{7 * number + 12:02d}"}}'),),
        )
        new = [said(FILLERS[number], agent=agent, position=base + 5, ts=unit.until, near=unit.call)]
        new += again(unit, call, result, base)
        steps = inserted(steps, ends.get(unit.after, unit.after), new)
        ends[unit.after] = new[-1].index
        marks += [step.index for step in new]
    tools = (Tool(name=CLOCK, description="The time of day."),)
    return Planted(steps, tuple(marks), note="three filler messages and three looks at the clock", tools=tools)


def swapped_order(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """An action comes before the look-up that should have come first: two neighbouring calls change places."""
    found = units(run)
    pairs = [(a, b) for a, b in pairwise(found) if a.reading and b.acting and _in_turn(a, b)]
    if not pairs:
        return None
    first, second = pairs[int(rng.integers(len(pairs)))]
    by_index = {step.index: step for step in run.steps}
    filled = (*second.members, *first.members)
    slots = sorted(filled)
    moved = {
        slot: _in_place(by_index[index], by_index[slot], first, second)
        for slot, index in zip(slots, filled, strict=True)
    }
    steps = [moved.get(step.index, step) for step in run.steps]
    note = f"{second.call.name} came before {first.call.name}"
    return Planted(steps, (*first.members, *second.members), (*first.members, *second.members), note=note)


def _in_turn(first: Unit, second: Unit) -> bool:
    """Whether the second call was made after the first had come back: calls side by side have no order to swap."""
    same = first.call.turn is not None and first.call.turn == second.call.turn
    return first.members[-1] < second.members[0] and not same


def _in_place(step: Step, there: Step, first: Unit, second: Unit) -> Step:
    """A step at the time of the one that stood there, with the model calls of the two units exchanged."""
    update: dict[str, object] = {"ts": there.ts}
    calls = {first.call.turn: second.call.turn, second.call.turn: first.call.turn}
    if step.turn is not None and None not in calls and step.turn in calls:
        update["turn"] = calls[step.turn]
    if step is first.call or step is second.call:
        update["usage"] = (second if step is first.call else first).call.usage
    return step.model_copy(update=update)


def right_answer_bad_path(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """The same actions and the same answer, and not one look-up before them."""
    del rng
    reading = [unit for unit in units(run) if unit.reading]
    gone = list(dict.fromkeys(member for unit in reading for member in unit.members))
    answer = answer_step(run.steps)
    if not gone or answer is None or not text_of(answer):
        return None
    rest = without(run, gone)
    marks = [step.index for step in rest if isinstance(step, ToolCall)]
    return Planted(rest, (*marks, answer.index), tuple(gone), note=f"{len(reading)} look-ups were left out")


def truncated_run(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """The run breaks off after one of its calls and gives no answer."""
    found = units(run)
    if not found or answer_step(run.steps) is None:
        return None
    last = found[int(rng.integers(len(found)))].after
    kept = [step for step in run.steps if step.index <= last]
    gone = tuple(step.index for step in run.steps if step.index > last)
    return Planted(kept, (last,), gone, "lost", "the run ends without an answer")


def _next_deed(steps: Sequence[Step], after: int) -> int | None:
    """The first call or answer behind a gap: there the missing step shows."""
    answer = answer_step(steps)
    for step in steps:
        if step.index > after and (isinstance(step, ToolCall) or step is answer):
            return step.index
    return None


def _nearly(arguments: object, number: int) -> object:
    """The arguments with one text in slightly other words; the same where no text has two words."""
    if not isinstance(arguments, dict):
        return arguments
    for key, value in arguments.items():
        if isinstance(value, str) and len(value.split()) > 1:
            words = value.split()
            turned = words[number + 1 :] + words[: number + 1] if len(words) > 2 else words[::-1]
            return {**arguments, key: " ".join(turned)}
    return arguments
