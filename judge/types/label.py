"""Label: what a rater says of a trajectory, with who they are and under which guideline."""

from __future__ import annotations

from typing import ClassVar, Literal

from judge.types.record import Record

RaterKind = Literal["human", "policy", "metric", "model"]
Split = Literal["dev", "test"]


class Label(Record):
    """One rater's value for one criterion of one trajectory.

    Attributes:
        value: On the criterion's scale; a level's name or "pass"/"fail" is turned into its value when read.
            None where the rater answered "not applicable".
        rater_kind: Only "human" labels open the gate by default; "policy" by explicit choice; "model" never.
        labelled_at: ISO 8601.
        rubric_version: Version of the guideline that the label was made under.
        inclusion_probability: Chance in (0, 1] that this trajectory was drawn for labelling, where known.
    """

    omit_none: ClassVar[bool] = False

    trajectory_id: str
    criterion: str
    value: float | str | None
    rater: str
    rater_kind: RaterKind
    split: Split = "test"
    labelled_at: str | None = None
    note: str = ""
    rubric_version: str | None = None
    inclusion_probability: float | None = None
