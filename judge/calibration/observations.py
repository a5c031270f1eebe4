"""Somebody's file of verdicts or labels → observations: one value of one source for one item.

The one normalisation of values: text is trimmed and case is ignored; text that is a number is
that number ("1" and 1 are equal, "Pass " and "pass" too). What cannot be read on the scale is
an error that lists it; what failed stays visible as failed; every row left out is counted by reason.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judge.calibration.fields import FieldMap, identity, lookup
from judge.errors import LabelError
from judge.types.rubric import BinaryScale, LevelScale, RangeScale

Scales = BinaryScale | LevelScale | RangeScale
CAUSES = ("sampling", "prompt", "criteria_order", "model_change")
PASS_WORDS = {"pass": 1.0, "passed": 1.0, "true": 1.0, "yes": 1.0, "fail": 0.0, "failed": 0.0, "false": 0.0, "no": 0.0}
NOT_APPLICABLE = frozenset({"n/a", "na", "not_applicable", "not applicable"})


@dataclass(frozen=True, slots=True)
class Observation:
    """One value of one source (a judge or a rater) for one item.

    Attributes:
        value: On the scale; None when `failed` says why there is none, or when not applicable.
        failed: Why the judgement has no value, or None.
        sample: Index of the repeat, from 0.
        cause: Why it is a repeat; see `FieldMap.cause`.
        order: "ab", "ba" for pairwise verdicts, else None.
    """

    item: str
    criterion: str
    source: str
    value: float | None
    failed: str | None = None
    sample: int = 0
    cause: str = "sampling"
    order: str | None = None
    group: str | None = None
    split: str | None = None
    rater_kind: str | None = None
    rubric_version: str | None = None
    probability: float | None = None
    slices: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """Observations of one file, and what was left out of it by reason."""

    observations: tuple[Observation, ...]
    rows: int
    left_out: Mapping[str, int]


def read_rows(path: Path, records: str | None = None) -> Iterator[Mapping[str, Any]]:
    """Rows of a CSV, JSON Lines or JSON file, as they come.

    Raises:
        LabelError: The file is not there, is empty, or a line does not parse; file and line are named.
    """
    if not path.is_file():
        raise LabelError(f"No file {str(path)!r}.", hint="Give a CSV, JSON Lines or JSON file.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise LabelError(f"{path} is not UTF-8: byte {error.start}.", hint="Save it as UTF-8.") from None
    if not text.strip():
        raise LabelError(f"{path} is empty; rows were expected.")
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    if path.suffix.lower() in (".csv", ".tsv"):
        yield from csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
        return
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        yield from _lines(text, path)
        return
    rows = lookup(whole, records) if records and isinstance(whole, dict) else whole
    rows = [rows] if isinstance(rows, dict) else rows
    if not isinstance(rows, list):
        raise LabelError(f"{path} holds {type(rows).__name__}; a list of rows was expected.")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise LabelError(f"{path}: row {number} is {type(row).__name__}; an object was expected.")
        yield row


def _lines(text: str, path: Path) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise LabelError(f"{path}:{number}: not JSON: {error.msg}.") from None
        if not isinstance(row, dict):
            raise LabelError(f"{path}:{number}: {type(row).__name__}; an object was expected.")
        yield row


def observe(
    rows: Iterable[Mapping[str, Any]], fields: FieldMap, scale: Scales, *, what: str, only: str | None = None
) -> Reading:
    """Observations from rows, by a field mapping.

    Args:
        what: Name of the file, for errors.
        only: The criterion to read, where rows name theirs; those of others, on scales of their own, are counted.

    Raises:
        LabelError: A value lies outside the scale, or an item has two values (each is listed); or one source bears
            several fingerprints.
    """
    left_out: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    seen: dict[tuple[str, str, str, int, str | None, str], tuple[str, Observation]] = {}
    prints: dict[str, set[str]] = {}
    total = 0
    for row in rows:
        total += 1
        if any(_plain(lookup(row, path)) != _plain(value) for path, value in fields.where.items()):
            left_out["left out by `where`"] += 1
            continue
        if only is not None and (named := criterion_of(row, fields)) != only:
            left_out[f"of another criterion ({named})"] += 1
            continue
        item = identity(row, fields.id)
        if item is None:
            left_out[f"no {' or '.join(fields.id)}"] += 1
            continue
        stamp = str(lookup(row, fields.latest) or "") if fields.latest else ""
        for observation in _observations(row, item, fields, scale, bad, left_out):
            if mark := _text(row, fields.judge_fingerprint):
                prints.setdefault(observation.source, set()).add(mark)
            key = (
                observation.item,
                observation.criterion,
                observation.source,
                observation.sample,
                observation.order,
                observation.cause,
            )
            earlier = seen.get(key)
            if earlier is None:
                seen[key] = (stamp, observation)
            elif fields.latest:
                left_out["superseded by a later record"] += 1
                if stamp >= earlier[0]:
                    seen[key] = (stamp, observation)
            else:
                bad[f"duplicate of {observation.source} for {observation.item}"] += 1
    if bad:
        shown = "; ".join(f"{text} (×{n})" if n > 1 else text for text, n in list(bad.items())[:10])
        more = f"; and {len(bad) - 10} more" if len(bad) > 10 else ""
        hint = "Map them with `values`, or correct the file."
        if scale.type == "binary" and any(text.startswith("outside") for text in bad):
            hint = "The scale is taken as passed or failed: name another, e.g. --scale 1-5. " + hint
        if any(text.startswith("duplicate") for text in bad):
            hint += " Rows of several criteria or samples are none: map criterion_path=COLUMN or sample=COLUMN."
        raise LabelError(f"{what}: {shown}{more}.", hint=hint)
    for source, marks in prints.items():
        if len(marks) > 1:
            raise LabelError(
                f"{what} mixes {len(marks)} different judges under the name {source!r}: their fingerprints differ.",
                hint="Keep the verdicts of one model, prompt, sampling and rubric; or map `source` to the fingerprint.",
            )
    return Reading(tuple(observation for _, observation in seen.values()), total, dict(left_out))


def criterion_of(row: Mapping[str, Any], fields: FieldMap) -> str:
    """The criterion that a row is of."""
    return _text(row, fields.criterion_path) or fields.criterion


def _observations(
    row: Mapping[str, Any], item: str, fields: FieldMap, scale: Scales, bad: Counter[str], left_out: Counter[str]
) -> Iterator[Observation]:
    source = str(lookup(row, fields.source) or "").strip() if fields.source else ""
    source = source or fields.source_name or "unnamed"
    criterion = criterion_of(row, fields)
    sample = _numeric(row, fields.sample, item, bad)
    group = identity(row, fields.group) if fields.group else None
    failed = "failed: marked as failed" if fields.failed and fields.failed.holds(row) else None
    cause = _text(row, fields.cause) or "sampling"
    if cause not in CAUSES:
        bad[f"the cause of a repeat is {cause!r}, not one of {', '.join(CAUSES)} ({item})"] += 1
    base = {
        "criterion": criterion,
        "cause": cause,
        "group": group,
        "split": _text(row, fields.split),
        "rater_kind": _text(row, fields.rater_kind) or fields.rater_kind_name,
        "rubric_version": _text(row, fields.rubric_version),
        "probability": _numeric(row, fields.probability, item, bad),
        "slices": {name: str(lookup(row, path)) for name, path in fields.slices.items()},
        "reason": _text(row, fields.reason) or "",
    }

    def one(value: Any, *, name: str = source, at: str = item, k: int = 0, order: str | None = None) -> Observation:
        number, why = (None, failed) if failed else decode(value, fields, scale)
        if why and why.startswith("outside"):
            bad[f"{why} ({name}, {at})"] += 1
        return Observation(item=at, source=name, value=number, failed=why, sample=k, order=order, **base)  # type: ignore[arg-type]

    if fields.raters:
        for name, path in fields.raters.items():
            yield one(lookup(row, path), name=name)
    elif fields.orders:
        for order, path in fields.orders.items():
            yield one(lookup(row, path), order=order)
    elif fields.explode:
        parts = lookup(row, fields.explode)
        if parts is None:
            left_out[f"no {fields.explode} to explode"] += 1
        elif not isinstance(parts, Mapping | list):
            bad[f"{fields.explode} is no object and no list ({item})"] += 1
        else:
            for key, value in parts.items() if isinstance(parts, Mapping) else enumerate(parts):
                yield one(value, at=f"{item}/{key}")
    else:
        value = lookup(row, fields.value or "value")
        if isinstance(value, list):
            for k, each in enumerate(value):
                yield one(each, k=k)
        else:
            yield one(value, k=int(sample or 0))


def decode(value: Any, fields: FieldMap, scale: Scales) -> tuple[float | None, str | None]:
    """(value on the scale or None, why there is none). "outside …" is an error, "failed: …" a failed judgement."""
    if fields.contains is not None and isinstance(value, str):
        value = (
            fields.contains.then if fields.contains.text.casefold() in value.casefold() else fields.contains.otherwise
        )
    elif fields.find is not None and isinstance(value, str):
        found = fields.find.apply(value)
        if found is None:
            return None, "failed: no value found in the text"
        value = found
    if value is None or value == "":
        return None, "failed: no value"
    mapped = {_plain(key): meaning for key, meaning in fields.values.items()}
    plain = _plain(value)
    if plain in mapped:
        value = mapped[plain]
        if value is None:
            return None, None
        if isinstance(value, str) and value.startswith("failed:"):
            return None, f"failed: {value.removeprefix('failed:').strip() or repr(plain)}"
        plain = _plain(value)
    if isinstance(plain, str) and plain in NOT_APPLICABLE:
        return None, None
    number = _number(plain, scale)
    if number is None or not scale.contains(number):
        return None, f"outside the scale: {value!r}"
    return number, None


def _plain(value: Any) -> Any:
    """The documented normalisation: trimmed, case ignored, texts of numbers are numbers."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        text = value.strip().casefold()
        try:
            return float(text)
        except ValueError:
            return text
    return value


def _number(plain: Any, scale: Scales) -> float | None:
    if isinstance(plain, float):
        return plain
    if isinstance(plain, str):
        if isinstance(scale, LevelScale):
            return next((float(level.value) for level in scale.levels if level.name.strip().casefold() == plain), None)
        if isinstance(scale, BinaryScale):
            return PASS_WORDS.get(plain)
    return None


def _numeric(row: Mapping[str, Any], path: str | None, item: str, bad: Counter[str]) -> float | None:
    value = _plain(lookup(row, path)) if path else None
    if value is None or value == "":
        return None
    if isinstance(value, float) and math.isfinite(value):
        return value
    bad[f"{path} is no number: {value!r} ({item})"] += 1
    return None


def _text(row: Mapping[str, Any], path: str | None) -> str | None:
    value = lookup(row, path) if path else None
    return None if value in (None, "") else str(value)
