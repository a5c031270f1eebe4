"""A queue and its labels as a calibration set."""

from __future__ import annotations

from judge.errors import TooFewLabels
from judge.store.label_queue import LabelQueues
from judge.types.calibration_set import CalibrationSet, Population, SetCriterion, SetSettings
from judge.types.label import Label


def set_of_queue(queues: LabelQueues, queue: str) -> CalibrationSet:
    """The set that the labels of a queue make: only labels of people may open its gate.

    Where the queue has a pass mark on a scale that is not binary, each label also stands as passed or failed under
    the criterion `passed_CRITERION`, and that one decides.

    Raises:
        UnknownName: There is no such queue.
        TooFewLabels: It has no label.
    """
    settings = queues.settings(queue)
    labels = queues.labels(queue)
    if not labels:
        raise TooFewLabels(f"The queue {queue!r} has no label.", hint="Label some runs first.")
    asked = settings.criterion
    criteria = [
        SetCriterion(id=asked.id, rubric=settings.rubric, rubric_version=settings.rubric_version, scale=asked.scale)
    ]
    cut = asked.scale.type != "binary" and settings.pass_mark is not None
    if cut:
        deciding = SetCriterion.from_json({
            "id": f"passed_{asked.id}", "rubric": settings.rubric, "rubric_version": settings.rubric_version,
            "scale": "binary", "judged_by": asked.id, "pass_mark": settings.pass_mark,
        })  # fmt: skip
        criteria.append(deciding)
        labels = [*labels, *(_passed(label, deciding.id, settings.passes(float(label.value)))
                             for label in labels if label.value is not None)]  # fmt: skip
    return CalibrationSet(
        name=queue,
        card=f"Labels made on the pages of the service, queue {queue}: {settings.title or 'untitled'}.",
        settings=SetSettings(
            name=queue,
            title=settings.title or queue,
            criteria=tuple(criteria),
            sampling_design=settings.design,
            population=Population(),
            licence="not stated",
            label_kinds_allowed=("human",),
        ),
        trajectories=tuple(item.trajectory for item in queues.items(queue)),
        labels=tuple(labels),
    )


def _passed(label: Label, criterion: str, passed: bool | None) -> Label:
    return label.model_copy(update={"criterion": criterion, "value": float(bool(passed))})
