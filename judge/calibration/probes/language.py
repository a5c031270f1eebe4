"""The same words in another language: phrases of our own around an answer, and translations that the user gives.

A translation changes the language and, where it is not faithful, the content too. Our phrases are short and say nothing
about the task, so that they are faithful by their smallness; whole answers are compared only in translations that the
user vouches for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeGuard

from pydantic import Field, ValidationError

from judge.calibration.probes.planted import Planted, mutant
from judge.calibration.probes.splice import answer_step, replaced, text_of, with_answer
from judge.errors import UsageError
from judge.types.probe import Mutant
from judge.types.record import Record
from judge.types.trajectory import Final, Message, Step, Trajectory

TRANSLATED = "translated_answer"
"""Name of the probe that compares a run with the user's translation of what it says."""


class Phrase(NamedTuple):
    """What stands before and after an answer, in one language."""

    language: str
    opening: str
    closing: str


ENGLISH = Phrase("en", "Here is the result for you.", "With kind regards and many thanks for asking.")
PARALLEL = (
    Phrase("de", "Hier ist das Ergebnis für Sie.", "Mit freundlichen Grüßen und vielen Dank für Ihre Anfrage."),
    Phrase("fr", "Voici le résultat pour vous.", "Cordialement, et merci beaucoup pour votre demande."),
    Phrase("es", "Aquí tiene el resultado.", "Un cordial saludo y muchas gracias por su consulta."),
    Phrase("zh", "以下是给您的结果。", "谨致问候，非常感谢您的提问。"),
    Phrase("ar", "إليك النتيجة.", "مع أطيب التحيات وشكرًا جزيلًا على سؤالك."),
)
"""The English phrase in other languages and scripts; runs take them in turns."""
LANGUAGES = tuple(phrase.language for phrase in PARALLEL)


def framed(answer: str, phrase: Phrase) -> str:
    """The answer between the two halves of a phrase."""
    return f"{phrase.opening} {answer} {phrase.closing}"


def in_turn(turn: int) -> Phrase:
    """The phrase of the run with this number."""
    return PARALLEL[turn % len(PARALLEL)]


class Translation(Record):
    """What a run says, in another language, as the user vouches for it.

    Attributes:
        language: Any name for it, e.g. "de".
        answer: The final answer in that language; None leaves it.
        steps: Step number to text, for messages of the agent and the answer.
    """

    trajectory_id: str
    language: str = Field(min_length=1)
    answer: str | None = None
    steps: dict[int, str] = {}


def read_translations(path: str | Path) -> tuple[Translation, ...]:
    """Translations of a JSON Lines file, one a run.

    Raises:
        UsageError: The file cannot be read, or a line is no translation, translates nothing, or names a run again.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The translations in {str(path)!r} cannot be read: {error}.") from None
    out: dict[str, Translation] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            found = Translation.model_validate(json.loads(line))
        except (ValueError, ValidationError) as error:
            first = str(error).splitlines()[0]
            raise UsageError(
                f"{where} is no translation: {first}.",
                hint='Needed: {"trajectory_id": ID, "language": "de", "answer": TEXT} or "steps": {"4": TEXT}.',
            ) from None
        if not [text for text in (found.answer, *found.steps.values()) if text and text.strip()]:
            raise UsageError(f"{where} translates nothing of {found.trajectory_id!r}.")
        if found.trajectory_id in out:
            raise UsageError(f"{where} translates {found.trajectory_id!r} again.", hint="Give one translation a run.")
        out[found.trajectory_id] = found
    if not out:
        raise UsageError(f"{str(path)!r} holds no translation.")
    return tuple(out.values())


def translated_pairs(
    runs: Sequence[Trajectory], translations: Sequence[Translation], *, seed: int = 0
) -> tuple[Mutant, ...]:
    """Each run that has a translation, saying the same in the other language; its own form is the comparison.

    Raises:
        UsageError: No translation is of one of the runs, or one translates a step that says nothing.
    """
    by_id: Mapping[str, Translation] = {one.trajectory_id: one for one in translations}
    made = [translated(run, by_id[run.id], seed=seed) for run in runs if run.id in by_id]
    if not made:
        raise UsageError(
            f"None of the {len(translations)} translations is of one of the {len(runs)} runs that are probed.",
            hint="Name runs by their ids in `trajectory_id`.",
        )
    return tuple(made)


def translated(run: Trajectory, translation: Translation, *, seed: int = 0) -> Mutant:
    """The run with what it says in the words of its translation.

    Raises:
        UsageError: The translation is of a step that the agent does not say, or of an answer that is not there.
    """
    texts = dict(translation.steps)
    if translation.answer is not None:
        answer = answer_step(run.steps)
        if answer is None:
            raise UsageError(f"Run {run.id!r} gives no answer, and a translation of one was given.")
        texts[answer.index] = translation.answer
    steps: Sequence[Step] = run.steps
    by_index = {step.index: step for step in run.steps}
    for index, text in texts.items():
        step = by_index.get(index)
        if not _says(step):
            raise UsageError(
                f"Step {index} of run {run.id!r} is {step.kind if step else 'not there'}; only what the agent says "
                "can be given in another language.",
                hint="Tool calls and results stay as they are: they are what the answer rests on.",
            )
        steps = replaced(steps, with_answer(step, text))
    marks = tuple(sorted(texts))
    note = "what the agent says in the user's own translation"
    planted = Planted(list(steps), marks, marks, note=note)
    return mutant(run, "bias", TRANSLATED, planted, seed=seed, variant=translation.language)


def _says(step: Step | None) -> TypeGuard[Final | Message]:
    return isinstance(step, Final) or (
        isinstance(step, Message) and step.role == "assistant" and bool(text_of(step).strip())
    )
