"""Ratings: labels and scores as integer codes over a declared domain, and groups as cluster codes.

One normalisation is applied to every label before it is compared, and it is this: text is stripped and
case-folded, and text that reads as a number is that number, so that "1", " 1 " and 1 are one label and
"Pass " is "pass". `True` and `False` are 1 and 0. Nothing else is changed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judge.errors import LabelError, StatisticsError

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]
LabelValue: TypeAlias = str | float | int | bool | None

MISSING = -1
"""Code of a missing rating."""


def normalise_label(value: LabelValue) -> str | float | None:
    """The form in which labels are compared; None and NaN are missing.

    Raises:
        LabelError: An infinite number.
    """
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip().casefold()
        if not text:
            return None
        try:
            number = float(text)
        except ValueError:
            return text
        if math.isnan(number):
            return None
        return number if math.isfinite(number) else text
    number = float(value)
    if math.isnan(number):
        return None
    if math.isinf(number):
        raise LabelError(f"A label is {value!r}.", hint="Labels are finite numbers, words or missing.")
    return number


def encode(values: Iterable[LabelValue], domain: Sequence[LabelValue], *, what: str = "labels") -> Codes:
    """Positions of `values` in `domain` (worst to best for an ordered scale), -1 where missing. Shape (n,).

    Raises:
        LabelError: The domain is empty or repeats a label, or a value lies outside it (all such are listed).
    """
    places: dict[str | float, int] = {}
    for place, label in enumerate(domain):
        key = normalise_label(label)
        if key is None or key in places:
            raise LabelError(f"The domain {list(domain)!r} repeats a label or holds an empty one.")
        places[key] = place
    if not places:
        raise LabelError("The domain is empty.", hint="Declare the labels of the scale, worst to best.")
    codes: list[int] = []
    outside: set[str] = set()
    for value in values:
        key = normalise_label(value)
        if key is None:
            codes.append(MISSING)
        elif key in places:
            codes.append(places[key])
        else:
            outside.add(repr(value))
    if outside:
        raise LabelError(
            f"{what} outside the declared scale {list(domain)!r}: {', '.join(sorted(outside))}.",
            hint="Correct them, or declare the full scale.",
        )
    return np.asarray(codes, dtype=np.int64)


def observed_domain(*columns: Iterable[LabelValue]) -> tuple[str | float, ...]:
    """Every label seen, numbers first in order and then words: for nominal statistics only.

    The order of words carries no meaning; statistics that use order refuse a domain that was not declared.
    """
    seen = {key for column in columns for value in column if (key := normalise_label(value)) is not None}
    numbers = sorted(key for key in seen if isinstance(key, float))
    words = sorted(key for key in seen if isinstance(key, str))
    return (*numbers, *words)


def ordered_domain(*columns: Iterable[LabelValue]) -> tuple[float, ...]:
    """Every number seen, ascending.

    Raises:
        LabelError: A label is a word: its order is not known and must be declared.
    """
    seen = observed_domain(*columns)
    words = [key for key in seen if isinstance(key, str)]
    if words:
        raise LabelError(
            f"The labels {words!r} are words without a declared order.",
            hint="Give the domain, worst to best, as the rubric's scale does.",
        )
    return tuple(key for key in seen if isinstance(key, float))


def numbers(values: ArrayLike, *, what: str) -> Floats:
    """A flat float array; NaN marks a missing value.

    Raises:
        StatisticsError: Not one-dimensional, or an infinity is in it.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise StatisticsError(f"{what} has shape {array.shape}, needed (n,).")
    if np.isinf(array).any():
        raise StatisticsError(f"{what} holds an infinity.", hint="Mark a missing value as NaN or None.")
    return array


def cluster_codes(groups: Sequence[Hashable] | None, n: int) -> Codes:
    """Cluster number of each of `n` items; every item its own cluster where `groups` is None.

    Raises:
        StatisticsError: `groups` has another length, or a group is missing.
    """
    if groups is None:
        return np.arange(n, dtype=np.int64)
    if len(groups) != n:
        raise StatisticsError(f"{len(groups)} groups for {n} items.", hint="Give one group for each item.")
    if any(group is None for group in groups):
        raise StatisticsError("An item has no group.", hint="Give every item its task, or no groups at all.")
    places: dict[Hashable, int] = {}
    return np.asarray([places.setdefault(group, len(places)) for group in groups], dtype=np.int64)


def paired_codes(
    a: Sequence[LabelValue], b: Sequence[LabelValue], groups: Sequence[Hashable] | None, domain: Sequence[LabelValue]
) -> tuple[Codes, Codes, Codes]:
    """Codes of two raters on the items that both rated, and the cluster of each; three arrays of one length.

    Raises:
        StatisticsError: The raters differ in length.
        LabelError: A label lies outside the domain.
    """
    if len(a) != len(b):
        raise StatisticsError(f"{len(a)} ratings against {len(b)}.", hint="Join the two on the trajectory first.")
    left, right = encode(a, domain), encode(b, domain)
    both = (left != MISSING) & (right != MISSING)
    cluster = cluster_codes(groups, len(a))[both]
    return left[both], right[both], np.unique(cluster, return_inverse=True)[1].astype(np.int64)
