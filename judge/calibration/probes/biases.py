"""Pairs that differ in something that should not count, and how far a judge may differ on them.

Each probe makes two sides from a run: "other", and "plain" where the run itself is not the fair comparison. What is
compared is other minus plain; the bands are argued in `docs/probes.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judge.calibration.probes.language import ENGLISH, LANGUAGES, framed, in_turn
from judge.calibration.probes.path_faults import FILLERS
from judge.calibration.probes.planted import Planted, mutant
from judge.calibration.probes.splice import (
    agent_of,
    answer_step,
    inserted,
    replaced,
    said,
    text_of,
    units,
    with_answer,
)
from judge.types.probe import Mutant
from judge.types.trajectory import Trajectory

BAND = 0.10
"""Innocent mean change, as a share of the scale, in either direction."""

WORDY = (
    "I hope that this is clear and that it covers what you wanted to know. If anything about it should be unclear, or "
    "if you would like me to put it in another way, please do not hesitate to say so at any time. Thank you very much "
    "for your patience, and for giving me the opportunity to look at this for you today."
)
SIGNED = "Answered by {name}."
STRANGER = "agent seven"
WELL_KNOWN = ("GPT-5", "Claude", "Gemini")
"""Names that a judge has read about; runs take them in turns, without that of the judge's own family."""


@dataclass(frozen=True)
class BiasProbe:
    """One thing that should not count.

    Attributes:
        other, plain: Text or form of an answer on each side, from the answer, the judge's name and the number of the
            run; `plain` None where the run itself is the comparison.
        note: What the difference is, in words.
    """

    note: str
    other: Callable[[str, str, int], str] | None
    plain: Callable[[str, str, int], str] | None = None


def _formatted(answer: str, judge: str, turn: int) -> str:
    del judge, turn
    points = "\n".join(f"- **{line.strip()}**" for line in answer.replace(". ", ".\n").splitlines() if line.strip())
    return f"## Answer\n\n{points}"


def well_known(judge: str, turn: int) -> str:
    """A well-known name that is not the judge's own."""
    own = judge.lower()
    names = [name for name in WELL_KNOWN if name.split("-")[0].lower() not in own]
    return names[turn % len(names)]


BIASES: dict[str, BiasProbe] = {
    "length": BiasProbe("a wordy, empty closing", lambda answer, *_: f"{answer} {WORDY}"),
    "filler_messages": BiasProbe("filler messages between the steps", None),
    "formatting": BiasProbe("the answer as a list with a heading", _formatted),
    "language": BiasProbe(
        f"phrases around the answer not in English but in another language ({', '.join(LANGUAGES)})",
        lambda answer, _, turn: framed(answer, in_turn(turn)),
        lambda answer, *_: framed(answer, ENGLISH),
    ),
    "agent_name": BiasProbe(
        "signed with a well-known name rather than with another",
        lambda answer, judge, turn: f"{answer} {SIGNED.format(name=well_known(judge, turn))}",
        lambda answer, *_: f"{answer} {SIGNED.format(name=STRANGER)}",
    ),
    "self_preference": BiasProbe(
        "signed with the judge's own name rather than with another",
        lambda answer, judge, _: f"{answer} {SIGNED.format(name=judge)}",
        lambda answer, *_: f"{answer} {SIGNED.format(name=STRANGER)}",
    ),
}


def bias_pairs(
    runs: Sequence[Trajectory], *, judge: str, seed: int = 0, names: Sequence[str] | None = None
) -> tuple[list[Mutant], list[Mutant]]:
    """(other sides, plain sides that are not the run itself).

    An other side's `parent` is the id of the run that it is compared with. Runs without an answer are left out.

    Args:
        judge: Name of the judge, for the probe of self-preference.
    """
    others: list[Mutant] = []
    plains: list[Mutant] = []
    model = judge.rsplit("/", 1)[-1]
    for turn, run in enumerate(runs):
        answer = answer_step(run.steps)
        if answer is None or not text_of(answer):
            continue
        for name in names if names is not None else BIASES:
            probe = BIASES[name]
            if probe.other is None:
                planted = _with_fillers(run)
                if planted is not None:
                    others.append(mutant(run, "bias", name, planted, seed=seed, variant="other"))
                continue
            base = run
            if probe.plain is not None:
                side = with_answer(answer, probe.plain(text_of(answer), model, turn))
                made = mutant(
                    run,
                    "bias",
                    name,
                    Planted(replaced(run.steps, side), (answer.index,), note=probe.note),
                    seed=seed,
                    variant="plain",
                )
                plains.append(made)
                base = made.trajectory
            changed = with_answer(answer, probe.other(text_of(answer), model, turn))
            planted = Planted(replaced(run.steps, changed), (answer.index,), (answer.index,), note=probe.note)
            one = mutant(run, "bias", name, planted, seed=seed, variant="other")
            others.append(one.model_copy(update={"mutation": one.mutation.model_copy(update={"parent": base.id})}))
    return others, plains


def _with_fillers(run: Trajectory) -> Planted | None:
    found = units(run)
    if not found:
        return None
    steps = list(run.steps)
    marks = []
    for number, text in enumerate(FILLERS):
        unit = found[min(number, len(found) - 1)]
        new = said(text, agent=agent_of(run), position=number, ts=unit.until, near=unit.call)
        steps = inserted(steps, unit.after, [new])
        marks.append(new.index)
    return Planted(steps, tuple(marks), note=BIASES["filler_messages"].note)
