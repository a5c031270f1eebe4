"""Whether the run went the expected way, as a sequence of events.

The events of a run are "tool_call:NAME" for each call and "final" for the final answer; in formats that have no
final step, a final answer is the last event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from judge.metrics.calls import CALL_EVENT, FINAL_EVENT, Calls, expected_calls, turns
from judge.metrics.matching import match_strict
from judge.metrics.metric import Measured, absent, metric
from judge.metrics.overlap import counts

NO_PATH = "the reference names neither a sequence nor calls"
NO_REFERENCE = "no reference is given"


def events(calls: Calls) -> list[tuple[str, int | None]]:
    """(event, step index) in order; the index is None for a final answer that has no step."""
    made: list[tuple[str, int | None]] = [(CALL_EVENT + call.name, call.index) for call in calls.calls]
    if calls.finals:
        made += [(FINAL_EVENT, step.index) for step in calls.finals]
        made.sort(key=lambda event: event[1] or 0)
    elif calls.trajectory.final is not None:
        made.append((FINAL_EVENT, calls.answer_steps[0] if calls.answer_steps else None))
    return made


@metric(unit="boolean")
def matches_reference(calls: Calls) -> Measured:
    """Whether the run's events are exactly those of the reference's `sequence`, in order (inside one turn the order
    is free); where the reference gives `calls`, they must match too, as in `match_strict`.

    Range: true or false.
    Not applicable: the reference names neither a sequence nor calls.
    Steps: the first step that differs; `detail.difference` says how.
    """
    reference = calls.reference
    if reference is None or (reference.sequence is None and reference.calls is None):
        return absent(NO_REFERENCE if reference is None else NO_PATH)
    if reference.sequence is not None:
        found = _compare(_canonical(calls, reference.sequence), reference.sequence)
        if not found.value:
            return found
    return match_strict.compute(calls) if reference.calls is not None else Measured(True)


def _canonical(calls: Calls, sequence: Sequence[str]) -> list[tuple[str, int | None]]:
    """The run's events, those of one turn put into the order of the sequence at that place, as far as they occur."""
    made = events(calls)
    if all(len(group) == 1 for group in calls.once(turns)):
        return made
    group_of = {calls.calls[at].index: number for number, group in enumerate(calls.once(turns)) for at in group}
    out: list[tuple[str, int | None]] = []
    while len(out) < len(made):
        start = len(out)
        number = group_of.get(made[start][1] or 0)
        stop = start + 1
        while number is not None and stop < len(made) and group_of.get(made[stop][1] or 0) == number:
            stop += 1
        out += _arranged(made[start:stop], sequence[start:stop])
    return out


def _arranged(turn: list[tuple[str, int | None]], wanted: Sequence[str]) -> list[tuple[str, int | None]]:
    if Counter(event for event, _ in turn) != Counter(wanted):
        return turn
    by_name: dict[str, list[tuple[str, int | None]]] = {}
    for event in reversed(turn):
        by_name.setdefault(event[0], []).append(event)
    return [by_name[name].pop() for name in wanted]


def _compare(made: list[tuple[str, int | None]], sequence: Sequence[str]) -> Measured:
    for position in range(max(len(made), len(sequence))):
        found, step = made[position] if position < len(made) else (None, None)
        wanted = sequence[position] if position < len(sequence) else None
        if found == wanted:
            continue
        where = f"step {step}" if step is not None else f"event {position + 1}"
        said = repr(found) if found is not None else "the end of the run"
        text = f"{where}: found {said}, expected {wanted if wanted is None else repr(wanted)}"
        if wanted is None:
            text = f"{where}: found {said}, expected the end of the run"
        difference: dict[str, Any] = {"position": position + 1, "found": found, "expected": wanted, "text": text}
        if step is not None:
            difference["step"] = step
        detail = {"difference": difference, "events": len(made), "expected": len(sequence)}
        return Measured(False, () if step is None else (step,), detail)
    return Measured(True)


@metric(unit="ratio")
def reference_overlap(calls: Calls) -> Measured:
    """Jaccard overlap of the multisets of events, order apart: Σ min(run, reference) / Σ max(run, reference) over
    event names; where the reference gives calls and no sequence, over calls with their arguments.

    Range: 0 (nothing in common) to 1 (the same events); 1 when both are empty.
    Not applicable: the reference names neither a sequence nor calls.
    Steps: the events that the reference does not have.
    """
    reference = calls.reference
    if reference is None or expected_calls(reference) is None:
        return absent(NO_REFERENCE if reference is None else NO_PATH)
    if reference.sequence is None:
        joined, called, expected = counts(calls) or (0, 0, 0)
        union = called + expected - joined
        return Measured(joined / union if union else 1.0, (), {"matched": joined, "union": union})
    left = Counter(reference.sequence)
    extra: list[int] = []
    made = events(calls)
    shared = 0
    for event, step in made:
        if left[event] > 0:
            left[event] -= 1
            shared += 1
        elif step is not None:
            extra.append(step)
    union = len(made) + len(reference.sequence) - shared
    return Measured(shared / union if union else 1.0, tuple(extra), {"matched": shared, "union": union})
