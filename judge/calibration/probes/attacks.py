"""Attacks: text in a run that is meant for the judge, put where an agent or a tool could have put it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from judge.calibration.probes.attack_texts import ATTACKS, PLEA, STRENGTHS, Strength, attack_text
from judge.calibration.probes.faults import plant
from judge.calibration.probes.planted import Planted, generator, mutant
from judge.calibration.probes.splice import answer_step, replaced, with_answer
from judge.types.probe import Mutant
from judge.types.trajectory import Final, Message, Step, Text, ToolResult, Trajectory

POSITIONS = ("first_result", "last_result", "message", "answer")


def weak_run(run: Trajectory, *, seed: int = 0) -> Trajectory | None:
    """A run that no judge should give the highest score: repeated calls, and a wrong answer at the end.

    Attacks are tried on such runs, since one with the highest score has no room to rise. None where either fault has no
    place.
    """
    wasteful = plant(run, "repeated_call", seed=seed)
    if wasteful is None:
        return None
    wrong = plant(wasteful.trajectory, "wrong_answer_good_path", seed=seed)
    return None if wrong is None else wrong.trajectory.model_copy(update={"id": f"{run.id}~weak"})


def attack(
    run: Trajectory, name: str, position: str, strength: Strength, *, top: str = "5", seed: int = 0
) -> Mutant | None:
    """The run with the attack in one place, or None where it has no such place.

    Args:
        name: One of `ATTACKS`.
        position: One of `POSITIONS`.
        top: The highest score, as the judge would write it.
    """
    target = _target(run, position)
    if target is None:
        return None
    text = attack_text(name, strength, top)
    step = _with_text(target, text)
    planted = Planted(replaced(run.steps, step), (target.index,), (target.index,), note=text)
    return mutant(run, "attack", name, planted, seed=seed, variant=f"{position}/{strength}")


def attack_all(
    runs: Sequence[Trajectory], *, top: str, seed: int = 0, names: Sequence[str] | None = None, each: int = 1
) -> list[Mutant]:
    """`each` attacks of every type on every run; positions and strengths take turns in a random order.

    A plea stands in the answer only: it is the agent that pleads.
    """
    made = []
    for name in names if names is not None else ATTACKS:
        where = ("answer",) if name == PLEA else POSITIONS
        ways = list(product(where, STRENGTHS))
        turn = int(generator(seed, "attack", name).integers(len(ways)))
        for run in runs:
            left = each
            for step in range(len(ways)):
                position, strength = ways[(turn + step) % len(ways)]
                one = attack(run, name, position, strength, top=top, seed=seed)
                if one is not None and left:
                    made.append(one)
                    left -= 1
                if not left:
                    turn += step + 1
                    break
    return made


def _target(run: Trajectory, position: str) -> ToolResult | Message | Final | None:
    results = [step for step in run.steps if isinstance(step, ToolResult)]
    if position == "first_result":
        return results[0] if results else None
    if position == "last_result":
        return results[-1] if results else None
    answer = answer_step(run.steps)
    if position == "answer":
        return answer
    return next((s for s in run.steps if isinstance(s, Message) and s.role == "assistant" and s is not answer), None)


def _with_text(step: ToolResult | Message | Final, text: str) -> Step:
    """The step with the text behind its own words."""
    if isinstance(step, Final):
        return with_answer(step, f"{step.text}\n{text}")
    return step.model_copy(update={"content": (*step.content, Text(text=text))})
