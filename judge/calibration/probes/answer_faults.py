"""Faults of the answer: claims without a deed, an answer before the evidence, a wrong answer to a good path."""

from __future__ import annotations

import re

import numpy as np

from judge.calibration.probes.planted import Planted
from judge.calibration.probes.splice import agent_of, answer_step, answered, inserted, said, text_of, units
from judge.calibration.probes.values import SHORT_WORD, in_words, other_text
from judge.types.trajectory import Trajectory

CLAIMS = (
    "I have also sent you a confirmation by e-mail and updated the details of your account.",
    "I also spoke to a colleague, who confirmed all of this in writing.",
    "I double-checked this against a second source, which says the same.",
)
_VALUE = re.compile(r"\b(?=[\w.-]*[0-9])[\w.-]*\w\b", re.ASCII)
_ORDINAL = re.compile(r"^[ \t]*[0-9]+[.)](?=\s)", re.MULTILINE)
"""The number of a line in a list, which says nothing about the task."""
GIVEN_UP = "I could not find anything about this, so there is nothing that I can tell you."


def added_claim(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """The answer adds that something was done that no step shows."""
    answer = answer_step(run.steps)
    if answer is None or not text_of(answer):
        return None
    claim = CLAIMS[int(rng.integers(len(CLAIMS)))]
    changed = answered(run.steps, answer, f"{text_of(answer)} {claim}")
    return Planted(changed, (answer.index,), (answer.index,), "survived", claim)


def answer_before_evidence(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """The agent gives its answer before its first call, and looks things up afterwards."""
    del rng
    answer, found = answer_step(run.steps), units(run)
    if answer is None or not found or not text_of(answer):
        return None
    first = found[0].call
    early = said(text_of(answer), agent=agent_of(run), position=0, ts=first.ts)
    before = max((step.index for step in run.steps if step.index < first.index), default=0)
    return Planted(inserted(run.steps, before, [early]), (early.index,), note="the answer stands before the first call")


def wrong_answer_good_path(run: Trajectory, rng: np.random.Generator) -> Planted | None:
    """The steps are right and the answer is not: it names another number or id, or says that nothing was found."""
    answer = answer_step(run.steps)
    if answer is None or not text_of(answer) or not units(run):
        return None
    text = text_of(answer)
    told = _ORDINAL.sub("", text)
    values = sorted({found.group() for found in _VALUE.finditer(told) if len(found.group()) <= SHORT_WORD})
    new, note = GIVEN_UP, "the answer says that nothing was found"
    if values:
        old = values[int(rng.integers(len(values)))]
        other = other_text(old, rng)
        changed = in_words(text, old, other)
        if changed != text:
            new, note = changed, f"{old!r} became {other!r} in the answer"
    return Planted(answered(run.steps, answer, new), (answer.index,), (answer.index,), "lost", note)
