"""Rubric edit: one clause of a criterion, said otherwise."""

from __future__ import annotations

from judge.types.record import Record


class RubricEdit(Record):
    """A proposed change; nothing is changed by it.

    Attributes:
        place: Which clause, e.g. "question", "counts 2", "not_counts 1", "anchor 3".
        old, new: Its text before and after.
        reason: Why, in the words of whoever proposed it.
    """

    criterion: str
    place: str
    old: str
    new: str
    reason: str
