"""One criterion of one set as a queue for people, and the set again with their labels in place of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from judge.calibration.sets import load_set, read_settings
from judge.errors import LabelError, UsageError
from judge.importers import load
from judge.prompt import load_rubric
from judge.registry import unknown
from judge.server.label_set import set_of_queue
from judge.store.label_draw import Order
from judge.store.label_queue import LabelQueues, QueueSettings
from judge.types.calibration_set import CalibrationSet, SamplingDesign, SetCriterion, SetSettings
from judge.types.label import Label, Split
from judge.types.record import Record
from judge.types.rubric import Criterion, Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict


class LabelTask(Record):
    """What is to be labelled.

    Attributes:
        name: Of the set, or of the file of runs.
        criterion: What raters are asked; of `rubric`.
        pass_mark: Lowest value that counts as passed, or None.
        settings: Of the set, None for a file of runs. `splits`: of the runs that have one.
    """

    name: str
    runs: tuple[Trajectory, ...]
    rubric: Rubric
    criterion: Criterion
    pass_mark: float | None = None
    settings: SetSettings | None = None
    splits: dict[str, Split] = {}
    card: str = ""

    @property
    def queue(self) -> str:
        """Id of the queue."""
        return _slug(f"{self.name}-{self.criterion.id}")


def read_task(
    given: str | Path, *, criterion: str | None = None, rubric: str | Path | None = None, pass_mark: float | None = None
) -> LabelTask:
    """The task that a set, a set without labels yet, or a file of runs makes.

    Args:
        given: Name of a shipped set, folder of one (labels.jsonl may be missing), or a file of traces of any format.
        criterion: Of the set or the rubric; None for the first that a judge is asked.
        rubric: For a file of runs, its rubric ("process" by default); for a set, the file of the rubric it names.
        pass_mark: For a file of runs; a set has its own.

    Raises:
        UsageError: Nothing of that name, no such criterion, or a rubric of another version than the set's labels have.
    """
    path = Path(given)
    if path.is_file():
        used = load_rubric(rubric or "process")
        asked = _criterion(used, criterion)
        runs = tuple(load(path))
        if pass_mark is not None and not asked.scale.contains(pass_mark):
            raise UsageError(f"The pass mark {pass_mark!r} is not on the scale of {asked.id!r}.")
        return LabelTask(name=_slug(path.stem), runs=runs, rubric=used, criterion=asked, pass_mark=pass_mark)
    if pass_mark is not None:
        raise UsageError("A set has its own pass mark.", hint="Leave out --pass-mark, or edit set.yaml.")
    if (path / "set.yaml").is_file() and not (path / "labels.jsonl").is_file():
        settings, card = read_settings(path / "set.yaml"), ""
        runs, splits, name = tuple(load(path / "trajectories.jsonl", format="native")), {}, path.resolve().name
    else:
        whole = load_set(given)
        settings, runs, name, card = whole.settings, whole.trajectories, whole.name, whole.card
        splits = dict(whole.splits())
    row = _row(settings, criterion)
    used = load_rubric(rubric or row.rubric)
    if row.rubric_version is not None and used.version != row.rubric_version:
        raise LabelError(
            f"The set names version {row.rubric_version!r} of {row.rubric!r}, and this rubric is {used.version!r}.",
            hint="Name the file of that version with --rubric, or change rubric_version in set.yaml.",
        )
    asked = _criterion(used, row.judged_by or row.id)
    cut = next((one.pass_mark for one in settings.criteria if one.judged_by == asked.id), None)
    return LabelTask(
        name=name, runs=runs, rubric=used, criterion=asked, pass_mark=cut, settings=settings, splits=splits, card=card
    )


def open_queue(
    queues: LabelQueues,
    task: LabelTask,
    verdicts: Mapping[str, Verdict],
    *,
    order: Order | None = None,
    n: int | None = None,
    seed: int = 0,
) -> QueueSettings:
    """Makes the queue, or goes on with the one that an earlier session made.

    Raises:
        UsageError: The earlier one asks another question, holds other runs, or was drawn in another way.
    """
    wanted = QueueSettings(
        id=task.queue,
        title=task.settings.title if task.settings is not None else task.name,
        rubric=task.rubric.id,
        rubric_version=task.rubric.version,
        criterion=task.criterion,
        pass_mark=task.pass_mark,
        order=order or "random",
        n=n,
        seed=seed,
    )
    if task.queue not in queues.names():
        queues.create(wanted, task.runs, verdicts)
        return wanted
    before = queues.settings(task.queue)
    same = wanted.model_copy(update={"order": before.order, "n": before.n, "seed": before.seed})
    changed = order not in (None, before.order) or n not in (None, before.n)
    ids = {run.id for run in task.runs}
    gone = [item.trajectory.id for item in queues.items(task.queue) if item.trajectory.id not in ids]
    if before != same or changed or gone:
        what = "runs that are not there any more" if gone else "another draw" if changed else "another question"
        raise UsageError(
            f"Labelling {task.name!r} was begun with {what}.",
            hint="Name a new folder with --data; the old one keeps its labels.",
        )
    return before


def labelled_set(queues: LabelQueues, task: LabelTask, folder_name: str) -> CalibrationSet:
    """The set with the labels that people gave, of the form of the set that was given.

    Labels of criteria that the set cuts out of the one asked are made from it; each label stands in the split that
    its run had.

    Raises:
        TooFewLabels: There is no label yet.
    """
    made = set_of_queue(queues, task.queue)
    settings, labels = made.settings, list(made.labels)
    if task.settings is not None:
        criteria = [c for c in task.settings.criteria if task.criterion.id in (c.id, c.judged_by)]
        kept = {c.id for c in criteria}
        given = queues.labels(task.queue)
        labels = [label for c in criteria for label in _as(given, c, task)]
        settings = task.settings.model_copy(
            update={
                "criteria": tuple(criteria),
                "claims": tuple(claim for claim in task.settings.claims if claim.criterion in kept | {None}),
                "sampling_design": _design(task.settings.sampling_design, made.settings.sampling_design),
            }
        )
    settings = settings.model_copy(update={"name": _slug(folder_name), "label_kinds_allowed": ("human",)})
    raters = sorted({label.rater for label in labels})
    card = (
        f"# {settings.title}, labelled by people\n\n"
        f"Labels of {', '.join(raters)} on {len({x.trajectory_id for x in labels})} runs of {task.name}, made on the "
        f"labelling page, blind to the judge. Asked: {task.criterion.question}\n"
    )
    if task.card:
        card += f"\nWhat follows is the card of {task.name}; what it says of labels is about those it came with.\n\n"
        card += task.card
    splits = task.splits
    return made.model_copy(
        update={
            "name": settings.name,
            "card": card,
            "settings": settings,
            "labels": tuple(x.model_copy(update={"split": splits.get(x.trajectory_id, x.split)}) for x in labels),
        }
    )


def _as(given: list[Label], row: SetCriterion, task: LabelTask) -> list[Label]:
    if row.pass_mark is None:
        return [label.model_copy(update={"criterion": row.id}) for label in given]
    mark = row.pass_mark
    return [
        label.model_copy(update={"criterion": row.id, "value": float(float(label.value) >= mark)})
        for label in given
        if label.value is not None
    ]


def _design(own: SamplingDesign, drawn: SamplingDesign) -> SamplingDesign:
    """How the runs came to be labelled, of how they came into the set and how they were drawn from it.

    A draw changes nothing about runs that stand for no population; two unequal draws one after the other are neither.
    """
    if drawn == "random" or own in ("constructed", "unknown"):
        return own
    return drawn if own == "random" else "unknown"


def _row(settings: SetSettings, name: str | None) -> SetCriterion:
    if name is None:
        return next((row for row in settings.criteria if row.judged_by is None), settings.criteria[0])
    found = settings.criterion(name)
    if found is None:
        raise unknown("criterion of this set", name, [row.id for row in settings.criteria])
    return found


def _criterion(rubric: Rubric, name: str | None) -> Criterion:
    by_id = {criterion.id: criterion for criterion in rubric.criteria}
    if name is None:
        return rubric.criteria[0]
    if name not in by_id:
        raise unknown(f"criterion of the rubric {rubric.id}", name, list(by_id))
    return by_id[name]


def _slug(text: str) -> str:
    slug = re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-_")
    return (slug if slug[:1].isalpha() else f"set-{slug}")[:63].rstrip("-")
