"""Queues of trajectories that people label: what is drawn, who said what, and the labels as records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field
from sqlalchemy import Engine, and_, delete, func, insert, literal, select, tuple_
from sqlalchemy.exc import IntegrityError

from judge.errors import LabelError, UnknownName, UsageError
from judge.store.access_keys import ADJUDICATED
from judge.store.database import stamp
from judge.store.label_draw import Drawn, Known, Order, draw
from judge.store.tables import ITEMS, LABELS, QUEUES
from judge.types.calibration_set import SamplingDesign
from judge.types.label import Label, RaterKind
from judge.types.record import Record
from judge.types.rubric import Criterion, normalise
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict

CHANGED = "(changed after the verdict was shown)"
"""Stands in front of the note of a label that is blind no longer."""


class QueueSettings(Record):
    """What is asked of the raters of a queue.

    Attributes:
        rubric, rubric_version: The rubric that `criterion` belongs to.
        pass_mark: Lowest value that counts as passed on a scale that is not binary, or None.
        order: How the draw was made; with `n` of the trajectories and the `seed`.
    """

    id: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")
    title: str = ""
    rubric: str
    rubric_version: str
    criterion: Criterion
    pass_mark: float | None = None
    order: Order = "random"
    n: int | None = Field(default=None, ge=1)
    seed: int = 0

    @property
    def design(self) -> SamplingDesign:
        """The sampling design as a calibration set names it: unequal chances depend on the verdict."""
        return "random" if self.order == "random" else "by_verdict"

    def passes(self, value: float) -> bool | None:
        """Whether `value` counts as passed; None where the scale has no pass mark."""
        mark = self.criterion.scale.high if self.criterion.scale.type == "binary" else self.pass_mark
        return None if mark is None else value >= mark


class Item(Record):
    """A drawn trajectory. `verdict` is the judge's, hidden from a rater who has not labelled it."""

    trajectory: Trajectory
    position: int
    probability: float
    verdict: Verdict | None = None


class Entry(Record):
    """One rater's answer: a value, None for not applicable, or `skipped`. `step` is the one that decided."""

    trajectory_id: str
    rater: str
    rater_kind: RaterKind = "human"
    skipped: bool = False
    value: float | None = None
    step: int | None = None
    note: str = ""
    labelled_at: str = ""


class Answered(NamedTuple):
    """The place of an answer in the order of time."""

    at: str
    trajectory_id: str
    rater: str


class LabelQueues:
    """The queues of a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def create(
        self, settings: QueueSettings, trajectories: Sequence[Trajectory], verdicts: Mapping[str, Verdict] | None = None
    ) -> int:
        """Stores a queue, draws from it, and returns how many are to be labelled.

        Args:
            verdicts: The judge's, by trajectory id; an order by uncertainty or verdict needs them.

        Raises:
            UsageError: The queue exists, ids stand twice, nothing was given, or verdicts are missing.
        """
        given = verdicts or {}
        ids = [run.id for run in trajectories]
        if len(set(ids)) < len(ids):
            twice = sorted({id for id in ids if ids.count(id) > 1})[:5]
            raise UsageError(f"Ids stand for several trajectories: {', '.join(map(repr, twice))}.")
        if settings.order != "random" and not given:
            raise UsageError(
                f"The order {settings.order!r} needs a judge's verdicts.", hint="Name a judge, or use the order random."
            )
        known = {run.id: _known(given.get(run.id), settings.criterion) for run in trajectories}
        drawn = draw(known, settings.n, settings.order, np.random.default_rng(settings.seed))
        places = {one.id: (position, one) for position, one in enumerate(drawn, start=1)}
        rows = [_row(settings, place, run, given.get(run.id), places) for place, run in enumerate(trajectories)]
        try:
            with self._engine.begin() as connection:
                text = json.dumps(settings.to_json(), ensure_ascii=False)
                connection.execute(insert(QUEUES).values(id=settings.id, settings=text, created_at=stamp()))
                connection.execute(insert(ITEMS), rows)
        except IntegrityError:
            raise UsageError(f"There is a queue {settings.id!r} already.", hint="Choose another id.") from None
        return len(drawn)

    def names(self) -> list[str]:
        """Ids of the queues, oldest first."""
        with self._engine.connect() as connection:
            return list(connection.execute(select(QUEUES.c.id).order_by(QUEUES.c.created_at)).scalars())

    def settings(self, queue: str) -> QueueSettings:
        """What a queue asks.

        Raises:
            UnknownName: There is no such queue.
        """
        with self._engine.connect() as connection:
            text = connection.execute(select(QUEUES.c.settings).where(QUEUES.c.id == queue)).scalar()
        if text is None:
            raise UnknownName(f"There is no queue {queue[:80]!r}.", hint="GET /v1/queues lists them.")
        return QueueSettings.from_json(json.loads(text))

    def remove(self, queue: str) -> None:
        """Takes a queue away with its labels."""
        self.settings(queue)
        with self._engine.begin() as connection:
            for table in (LABELS, ITEMS):
                connection.execute(delete(table).where(table.c.queue == queue))
            connection.execute(delete(QUEUES).where(QUEUES.c.id == queue))

    # -- items ---------------------------------------------------------------------------------------------------

    def item(self, queue: str, trajectory_id: str) -> Item:
        """One drawn trajectory.

        Raises:
            UnknownName: It is not in the draw of this queue.
        """
        wanted = and_(ITEMS.c.queue == queue, ITEMS.c.trajectory_id == trajectory_id, ITEMS.c.position.is_not(None))
        with self._engine.connect() as connection:
            row = connection.execute(select(ITEMS).where(wanted)).mappings().first()
        if row is None:
            raise UnknownName(f"{trajectory_id[:80]!r} is not to be labelled in the queue {queue!r}.")
        return _item(row)

    def at(self, queue: str, position: int) -> str:
        """Id of the drawn trajectory at a position of the draw, from 1: a name for it that tells nothing.

        Raises:
            UnknownName: The draw has no such position.
        """
        wanted = select(ITEMS.c.trajectory_id).where(ITEMS.c.queue == queue, ITEMS.c.position == position)
        with self._engine.connect() as connection:
            found = connection.execute(wanted).scalar()
        if found is None:
            self.settings(queue)  # says where the queue itself is gone
            raise UnknownName(f"There is no run {position} in the queue {queue[:80]!r}.")
        return str(found)

    def items(self, queue: str) -> Iterator[Item]:
        """The draw in its order."""
        wanted = select(ITEMS).where(ITEMS.c.queue == queue, ITEMS.c.position.is_not(None)).order_by(ITEMS.c.position)
        with self._engine.connect() as connection:
            rows = connection.execute(wanted).mappings().all()
        return (_item(row) for row in rows)

    def scores(self, queue: str) -> dict[str, float | None]:
        """The judge's score on the criterion for every drawn trajectory, in the order of the draw."""
        wanted = select(ITEMS.c.trajectory_id, ITEMS.c.score).where(
            ITEMS.c.queue == queue, ITEMS.c.position.is_not(None)
        )
        with self._engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(wanted.order_by(ITEMS.c.position))}

    def chances(self, queue: str) -> dict[str, float]:
        """The chance in (0, 1] that each drawn trajectory had of being drawn, by id."""
        wanted = select(ITEMS.c.trajectory_id, ITEMS.c.probability)
        with self._engine.connect() as connection:
            drawn = connection.execute(wanted.where(ITEMS.c.queue == queue, ITEMS.c.position.is_not(None)))
            return {row[0]: row[1] for row in drawn}

    def next_for(self, queue: str, rater: str) -> str | None:
        """Id of the first trajectory without an answer of this rater; else the first skipped one; else None."""
        mine = and_(LABELS.c.queue == ITEMS.c.queue, LABELS.c.trajectory_id == ITEMS.c.trajectory_id)
        wanted = (
            select(ITEMS.c.trajectory_id)
            .outerjoin(LABELS, and_(mine, LABELS.c.rater == rater))
            .where(ITEMS.c.queue == queue, ITEMS.c.position.is_not(None))
        )
        with self._engine.connect() as connection:
            new = wanted.where(LABELS.c.rater.is_(None)).order_by(ITEMS.c.position).limit(1)
            skipped = wanted.where(LABELS.c.skipped.is_(True)).order_by(LABELS.c.labelled_at).limit(1)
            return connection.execute(new).scalar() or connection.execute(skipped).scalar()

    # -- labels --------------------------------------------------------------------------------------------------

    def save(self, queue: str, entry: Entry, *, now: str | None = None) -> None:
        """Keeps a rater's answer; an earlier one of the same rater on the same trajectory is replaced.

        Raises:
            LabelError: The value is not on the scale, not applicable is not an answer here, the step does not exist, or
                the rater has a label of another kind on it: a model's never takes the place of a person's.
            UnknownName: No such queue or trajectory.
        """
        settings = self.settings(queue)
        item = self.item(queue, entry.trajectory_id)
        run = item.trajectory
        scale = settings.criterion.scale
        if not entry.skipped and entry.value is None and settings.criterion.applies_when is None:
            raise LabelError(f"The criterion {settings.criterion.id!r} always applies: a value is needed.")
        if entry.value is not None and not scale.contains(entry.value):
            raise LabelError(f"{entry.value!r} is outside the scale ({scale.low:g} to {scale.high:g}).")
        if entry.step is not None and all(step.index != entry.step for step in run.steps):
            raise LabelError(f"There is no step [S{entry.step}] in {run.id!r}.")
        row = entry.model_dump() | {"queue": queue, "labelled_at": now or stamp()}
        if entry.skipped:
            row |= {"value": None, "step": None}
        key = and_(
            LABELS.c.queue == queue, LABELS.c.trajectory_id == entry.trajectory_id, LABELS.c.rater == entry.rater
        )
        with self._engine.begin() as connection:
            known = select(LABELS.c.skipped, LABELS.c.note, LABELS.c.rater_kind).where(key)
            earlier = connection.execute(known).first()
            if earlier is not None and not earlier.skipped and earlier.rater_kind != entry.rater_kind:
                raise LabelError(
                    f"{entry.rater!r} has a label of the kind {earlier.rater_kind} on this run, and this one is of the "
                    f"kind {entry.rater_kind}.",
                    hint="Give labels of another kind under a rater of their own.",
                )
            # Skipping in between hides nothing: who has seen the verdict has seen it.
            seen = earlier is not None and (not earlier.skipped or earlier.note.startswith(CHANGED))
            if seen and item.verdict is not None and entry.rater != ADJUDICATED:
                row["note"] = f"{CHANGED} {entry.note.removeprefix(CHANGED).strip()}".strip()
            connection.execute(delete(LABELS).where(key))
            connection.execute(insert(LABELS).values(**row))

    def entries(
        self,
        queue: str,
        *,
        rater: str | None = None,
        after: Answered | None = None,
        limit: int | None = None,
        skipped: bool = True,
    ) -> list[Entry]:
        """Answers, of one rater or of all, in the order of time; see `labels`. `skipped`: those without a label too."""
        order = (LABELS.c.labelled_at, LABELS.c.trajectory_id, LABELS.c.rater)
        wanted = select(LABELS).where(LABELS.c.queue == queue).order_by(*order).limit(limit)
        if rater is not None:
            wanted = wanted.where(LABELS.c.rater == rater)
        if not skipped:
            wanted = wanted.where(LABELS.c.skipped.is_(False))
        if after is not None:
            wanted = wanted.where(tuple_(*order) > tuple_(*map(literal, after)))
        with self._engine.connect() as connection:
            rows = connection.execute(wanted).mappings().all()
        return [Entry.from_json({name: row[name] for name in Entry.model_fields}) for row in rows]

    def counts(self, queue: str) -> dict[str, int]:
        """Labels given, by rater; skipped ones do not count."""
        wanted = select(LABELS.c.rater, func.count()).where(LABELS.c.queue == queue, LABELS.c.skipped.is_(False))
        with self._engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(wanted.group_by(LABELS.c.rater))}

    def disputes(self, queue: str) -> dict[str, list[Entry]]:
        """Trajectories that two people or more labelled differently and nobody adjudicated, with their answers."""
        by_id: dict[str, list[Entry]] = {}
        for entry in self.entries(queue):
            if not entry.skipped and entry.rater_kind == "human":
                by_id.setdefault(entry.trajectory_id, []).append(entry)
        return {
            id: entries
            for id, entries in by_id.items()
            if len({entry.value for entry in entries}) > 1 and all(e.rater != ADJUDICATED for e in entries)
        }

    def labels(self, queue: str, *, after: Answered | None = None, limit: int | None = None) -> list[Label]:
        """The answers as labels of the form of labels.jsonl; the deciding step stands in front of the note.

        Args:
            after: Only answers after this one in the order of time. limit: Most of them; None for all.
        """
        settings = self.settings(queue)
        chances = self.chances(queue)
        return [
            Label(
                trajectory_id=entry.trajectory_id,
                criterion=settings.criterion.id,
                value=entry.value,
                rater=entry.rater,
                rater_kind=entry.rater_kind,
                labelled_at=entry.labelled_at,
                note=(f"[S{entry.step}] decides. " if entry.step else "") + entry.note,
                rubric_version=settings.rubric_version,
                inclusion_probability=chances.get(entry.trajectory_id),
            )
            for entry in self.entries(queue, after=after, limit=limit, skipped=False)
        ]


def score_of(verdict: Verdict | None, criterion: str) -> float | None:
    """The judge's score on one criterion, or None where there is none."""
    results = verdict.criteria if verdict is not None else ()
    return next((result.score for result in results if result.id == criterion and result.status == "ok"), None)


def _known(verdict: Verdict | None, criterion: Criterion) -> Known:
    score = score_of(verdict, criterion.id)
    if verdict is None or score is None:
        return Known()
    spread = next((result.spread for result in verdict.criteria if result.id == criterion.id), None)
    width = criterion.scale.high - criterion.scale.low
    return Known(score=normalise(score, criterion.scale), spread=None if spread is None else spread / width)


def _row(
    settings: QueueSettings,
    place: int,
    run: Trajectory,
    verdict: Verdict | None,
    places: Mapping[str, tuple[int, Drawn]],
) -> dict[str, Any]:
    position, drawn = places.get(run.id, (None, None))
    return {
        "queue": settings.id,
        "trajectory_id": run.id,
        "place": place,
        "position": position,
        "probability": drawn.probability if drawn else None,
        "score": score_of(verdict, settings.criterion.id),
        "verdict": None if verdict is None else json.dumps(verdict.to_json(), ensure_ascii=False),
        "trajectory": json.dumps(run.to_json(), ensure_ascii=False),
    }


def _item(row: Any) -> Item:
    return Item(
        trajectory=Trajectory.from_json(json.loads(row["trajectory"])),
        position=row["position"],
        probability=row["probability"],
        verdict=None if row["verdict"] is None else Verdict.from_json(json.loads(row["verdict"])),
    )
