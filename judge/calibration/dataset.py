"""Verdicts joined with labels on (trajectory, criterion): what every calibration starts from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median, median_low
from typing import Any

from judge.calibration.observations import Observation, Scales
from judge.errors import LabelError, TooFewLabels, UsageError
from judge.types.rubric import BinaryScale

Vote = Callable[[Sequence[float]], float | None]
"""Turns the valid scores of one item's repeats into its verdict, None for a tie."""
Panel = Callable[[Sequence[float | None]], int]
"""How many of an item's samples (values in order, None where failed) make its verdict."""
ADJUDICATED = "adjudicated"
"""Rater whose value is the consensus where others differ: no further person."""
TIED = "raters tie and nobody adjudicated"


@dataclass(frozen=True, slots=True)
class Ties:
    """Judged items without a label because the raters tie: what people and judge said of each.

    They tell nothing of who is right, and how well people agree is untrue without them.
    """

    raters: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    verdicts: tuple[float | None, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """One judge, one criterion, joined with labels; all sequences have one entry an item, in the labels' order.

    Attributes:
        labels: Consensus of the raters; never None (an item without one is left out, and counted).
        raters: Each rater's own value, None where they gave none.
        verdicts: The judge's value after the vote; None where it has none, with the cause in `failures`.
        repeats: The judge's samples, outer index sample, inner index item; of pairs judged in both orders, those of the
            first order.
        orders: For pairs judged in both orders, the values by name of the order; else empty.
        repeats_by_cause: Repeats that differ by more than the draw, e.g. by a reworded prompt; each is held against
            the first sample.
        groups: Task of each item; the item itself where none is known.
        left_out: Why how many items or rows are not here.
        kinds: Kinds of rater that stand behind the labels.
        scores: The judge's own score behind a verdict that was cut at a pass mark, on `score_scale`; else empty.
        ties: Items left out because the raters tie; empty too where the data are a part of others.
    """

    judge: str
    criterion: str
    scale: Scales
    items: tuple[str, ...]
    labels: tuple[float, ...]
    raters: Mapping[str, tuple[float | None, ...]]
    verdicts: tuple[float | None, ...]
    failures: tuple[str | None, ...]
    repeats: tuple[tuple[float | None, ...], ...]
    groups: tuple[str, ...]
    slices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    probabilities: tuple[float | None, ...] = ()
    repeats_by_cause: Mapping[str, tuple[tuple[float | None, ...], ...]] = field(default_factory=dict)
    splits: tuple[str, ...] = ()
    scores: tuple[float | None, ...] = ()
    score_scale: Scales | None = None
    orders: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    ties: Ties = field(default_factory=Ties)

    @property
    def score_domain(self) -> tuple[float, ...] | None:
        """Every value of the scale that the judge itself answered on."""
        return levels(self.score_scale or self.scale)

    @property
    def domain(self) -> tuple[float, ...] | None:
        """Every value of the scale, worst to best; None for a scale without levels."""
        return levels(self.scale)

    def part(self, keep: Sequence[bool]) -> Dataset:
        """The items where `keep` is true."""

        def cut(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(value for value, kept in zip(values, keep, strict=True) if kept)

        per_item = ("items", "labels", "verdicts", "failures", "groups", "probabilities", "splits", "scores")
        kept: dict[str, Any] = {name: cut(values) for name in per_item if (values := getattr(self, name))}
        return replace(
            self,
            **kept,
            raters={name: cut(values) for name, values in self.raters.items()},
            repeats=tuple(cut(sample) for sample in self.repeats),
            repeats_by_cause={
                cause: tuple(cut(sample) for sample in repeats) for cause, repeats in self.repeats_by_cause.items()
            },
            orders={name: cut(values) for name, values in self.orders.items()},
            slices={name: cut(values) for name, values in self.slices.items()},
            ties=Ties(),
        )

    def chances(self) -> tuple[float, float] | None:
        """Lowest and highest chance by which labelled runs were drawn; None where it is one, or not known."""
        known = [chance for chance in self.probabilities if chance is not None]
        return (min(known), max(known)) if known and max(known) > min(known) * (1 + 1e-9) else None

    def weights(self) -> tuple[float, ...] | None:
        """The inverse of each item's chance to be drawn; None where each counts once: equal or unknown chances."""
        known = tuple(1 / chance for chance in self.probabilities if chance is not None)
        return known if self.chances() is not None and len(known) == len(self.items) else None

    def people(self) -> Mapping[str, tuple[float | None, ...]] | None:
        """Each person's value for every item, then for every tie; without who adjudicated.

        None where ties were left out and are not known: without them people seem to agree better than they do.
        """
        if len(self.ties.groups) < self.left_out.get(TIED, 0):
            return None
        none = (None,) * len(self.ties.groups)
        return {
            name: (*values, *self.ties.raters.get(name, none))
            for name, values in self.raters.items()
            if name != ADJUDICATED
        }


def levels(scale: Scales) -> tuple[float, ...] | None:
    """Every value of a scale, worst to best; None where any number between two bounds is legal."""
    if scale.type == "binary":
        return (0.0, 1.0)
    if scale.type == "levels":
        return tuple(float(level.value) for level in scale.levels)
    if scale.step is None:
        return None
    count = round((scale.max - scale.min) / scale.step)
    return tuple(scale.min + scale.step * i for i in range(count + 1))


def sources(observations: Sequence[Observation]) -> tuple[str, ...]:
    """Names of the judges (or raters) in order of appearance; names that differ only in case stay two."""
    return tuple(dict.fromkeys(observation.source for observation in observations))


def join(
    verdicts: Sequence[Observation],
    labels: Sequence[Observation],
    *,
    judge: str,
    criterion: str,
    scale: Scales,
    vote: Vote,
    judged_by: str | None = None,
    panel: Panel | None = None,
    split: str | None = None,
    left_out: Mapping[str, int] | None = None,
) -> Dataset:
    """Joins one judge's verdicts with the labels on the item.

    The consensus of several raters is the rater named "adjudicated" where there is one; else the majority on a binary
    scale (a tie leaves the item out, counted), the lower median on one with levels, the median on any other. A
    verdict that failed stays, as failed. A pair judged in both orders has a verdict only where the orders agree.

    Args:
        judged_by: Criterion of the verdicts, where it is not the labels' own; see `cut_at`.
        panel: Leaves samples out of the verdict that were drawn only to see the wobble; None takes all.

    Raises:
        LabelError: A rater labelled an item twice.
        TooFewLabels: Nothing is left to compare.
    """
    counts: Counter[str] = Counter(left_out or {})
    given: dict[str, dict[str, Observation]] = defaultdict(dict)
    labelled = {label.item for label in labels if label.criterion == criterion}
    for label in labels:
        if label.criterion != criterion:
            counts[f"label of another criterion ({label.criterion})"] += 1
        elif split is not None and label.split is not None and label.split != split:
            counts[f"label of the {label.split} split"] += 1
        elif label.source in given[label.item]:
            raise LabelError(f"{label.source} labelled {label.item!r} twice.", hint="Keep one, or map `latest`.")
        else:
            given[label.item][label.source] = label
    said: dict[str, dict[str | None, dict[int, Observation]]] = defaultdict(dict)
    others: dict[str, dict[int, dict[str, float | None]]] = defaultdict(lambda: defaultdict(dict))
    for verdict in verdicts:
        if verdict.source != judge or verdict.criterion != (judged_by or criterion):
            continue
        if verdict.cause != "sampling":
            others[verdict.cause][verdict.sample][verdict.item] = verdict.value
        else:
            said[verdict.item].setdefault(verdict.order, {})[verdict.sample] = verdict
    counts["verdict without a label"] += sum(item not in labelled for item in said)
    kept: list[tuple[str, float, Observation]] = []
    tied: list[str] = []
    for item, by_rater in given.items():
        if not by_rater:
            continue
        consensus, why = _consensus(by_rater, scale)
        if consensus is None:
            counts[why] += 1
            if why == TIED:
                tied.append(item)
        elif item not in said:
            counts["label without a verdict"] += 1
        else:
            kept.append((item, consensus, next(iter(by_rater.values()))))
    if not kept:
        raise TooFewLabels(
            f"No trajectory has both a verdict of {judge!r} and a label for {criterion!r}: {_reasons(counts)}.",
            hint="Check the id columns of the two files with --map and --label-map.",
        )
    names = sorted({rater for by_rater in given.values() for rater in by_rater})
    names_of_orders = tuple(dict.fromkeys(order for by_order in said.values() for order in by_order))
    first = {item: by_order.get(names_of_orders[0], {}) for item, by_order in said.items()}
    samples = sorted({index for by_sample in first.values() for index in by_sample})
    verdict_values, failures = [], []
    for item, _, _ in kept:
        value, failure = _over_orders([_voted(said[item].get(order, {}), vote, panel) for order in names_of_orders])
        verdict_values.append(value)
        failures.append(failure)
    slices = sorted({name for _, _, label in kept for name in label.slices})
    return Dataset(
        judge=judge,
        criterion=criterion,
        scale=scale,
        items=tuple(item for item, _, _ in kept),
        labels=tuple(value for _, value, _ in kept),
        raters={
            name: tuple(given[item][name].value if name in given[item] else None for item, _, _ in kept)
            for name in names
        },
        verdicts=tuple(verdict_values),
        failures=tuple(failures),
        repeats=tuple(
            tuple(first[item][index].value if index in first[item] else None for item, _, _ in kept)
            for index in samples
        ),
        groups=tuple(label.group or _group(said[item]) or item for item, _, label in kept),
        slices={name: tuple(label.slices.get(name, "") for _, _, label in kept) for name in slices},
        left_out={reason: n for reason, n in counts.items() if n},
        kinds=tuple(sorted({label.rater_kind or "unstated" for by in given.values() for label in by.values()})),
        probabilities=tuple(label.probability for _, _, label in kept),
        splits=tuple(label.split or "" for _, _, label in kept),
        orders={
            str(order): tuple(_voted(said[item].get(order, {}), vote, panel)[0] for item, _, _ in kept)
            for order in names_of_orders
        }
        if len(names_of_orders) > 1
        else {},
        repeats_by_cause={
            cause: tuple(tuple(by_item.get(item) for item, _, _ in kept) for _, by_item in sorted(by_sample.items()))
            for cause, by_sample in others.items()
        },
        ties=Ties(
            raters={
                name: tuple(given[item][name].value if name in given[item] else None for item in tied) for name in names
            },
            verdicts=tuple(
                _over_orders([_voted(said[item].get(order, {}), vote, panel) for order in names_of_orders])[0]
                if item in said
                else None
                for item in tied
            ),
            groups=tuple(next(iter(given[item].values())).group or _group(said.get(item, {})) or item for item in tied),
        ),
    )


def cut_at(data: Dataset, mark: float, score_scale: Scales) -> Dataset:
    """The data with each score of the judge turned into passed (1) or failed (0) at `mark`; the scores are kept."""

    def passed(score: float | None) -> float | None:
        return None if score is None else float(score >= mark)

    return replace(
        data,
        verdicts=tuple(passed(score) for score in data.verdicts),
        repeats=tuple(tuple(passed(score) for score in sample) for sample in data.repeats),
        repeats_by_cause={
            cause: tuple(tuple(passed(score) for score in sample) for sample in repeats)
            for cause, repeats in data.repeats_by_cause.items()
        },
        scores=data.verdicts,
        score_scale=score_scale,
        ties=replace(data.ties, verdicts=tuple(passed(score) for score in data.ties.verdicts)),
    )


def drawn_unequally(chances: tuple[float, float] | None, *, weighted: bool = False) -> str:
    """Of what the numbers over labelled runs are where these were drawn by different chances; else ""."""
    if chances is None:
        return ""
    if weighted:
        return (
            f"The labelled runs were drawn by chances from {chances[0]:.2g} to {chances[1]:.2g}. Agreement, the rates "
            "of caught and passed runs, precision, F1, the kappas and failed verdicts weigh each run by the inverse of "
            "its chance, and so speak of all runs; every other number is of the labelled runs alone."
        )
    return (
        f"The labelled runs were drawn by chances from {chances[0]:.2g} to {chances[1]:.2g}, and each counts once: "
        "these are numbers of the labelled runs and not of all. Label in random order for those."
    )


def refuse_mark(mark: float | None, scale: Scales) -> None:
    """Raises UsageError for a pass mark under which every value would pass, or none could."""
    if mark is None:
        return
    if scale.type == "binary":
        raise UsageError(
            f"The pass mark is {mark:g}, and the scale is binary: it says itself what passed.",
            hint="Leave the mark out, or declare the scale of the values, e.g. --scale 1-5.",
        )
    if not scale.low < mark <= scale.high:
        raise UsageError(
            f"The pass mark is {mark:g} on a scale from {scale.low:g} to {scale.high:g}: "
            f"{'every value passes' if mark <= scale.low else 'no value can pass'}.",
            hint=f"Give a mark above {scale.low:g}, and {scale.high:g} at most.",
        )


def cut_both(data: Dataset, mark: float) -> Dataset:
    """Labels and verdicts on one ordinal scale → passed and failed at one mark."""
    cut = cut_at(data, mark, data.scale)
    return replace(cut, scale=BinaryScale(), labels=tuple(float(label >= mark) for label in data.labels))


def _consensus(by_rater: Mapping[str, Observation], scale: Scales) -> tuple[float | None, str]:
    adjudicated = by_rater.get(ADJUDICATED)
    if adjudicated is not None and adjudicated.value is not None:
        return adjudicated.value, ""
    values = [label.value for label in by_rater.values() if label.value is not None]
    if not values:
        failed = any(label.failed for label in by_rater.values())
        return None, "label missing or unreadable" if failed else "label says not applicable"
    if scale.type == "binary" and 2 * sum(values) == len(values):
        return None, TIED
    return (median if levels(scale) is None else median_low)(values), ""


def _voted(by_sample: Mapping[int, Observation], vote: Vote, panel: Panel | None) -> tuple[float | None, str | None]:
    if panel is not None:
        size = panel([by_sample[k].value for k in sorted(by_sample)])
        by_sample = {k: by_sample[k] for k in sorted(by_sample)[:size]}
    if not by_sample:
        return None, "failed: this order was not judged"
    values = [o.value for o in by_sample.values() if o.value is not None]
    if not values:
        return None, next((o.failed for o in by_sample.values() if o.failed), "not applicable")
    if 2 * len(values) <= len(by_sample):
        return None, "failed: fewer than half of the samples are valid"
    value = vote(values)
    return value, None if value is not None else "tie"


def _over_orders(found: Sequence[tuple[float | None, str | None]]) -> tuple[float | None, str | None]:
    """The value that every order gave; a pair whose verdict turns with the order has none."""
    failed = next((entry for entry in found if entry[0] is None), None)
    if failed is not None:
        return failed
    return found[0] if len({value for value, _ in found}) == 1 else (None, "failed: the two orders disagree")


def _group(by_order: Mapping[str | None, Mapping[int, Observation]]) -> str | None:
    return next((o.group for by_sample in by_order.values() for o in by_sample.values() if o.group), None)


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} × {reason}" for reason, n in counts.items() if n) or "both files are empty"
