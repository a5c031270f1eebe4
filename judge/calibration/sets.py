"""Reads a calibration set from its folder and refuses one that is inconsistent or leaks across splits.

A folder holds card.md, set.yaml, trajectories.jsonl (native trajectories) and labels.jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml
from pydantic import ValidationError

from judge.errors import LabelError
from judge.registry import shipped, unknown
from judge.types.calibration_set import CalibrationSet, SetCriterion, SetSettings, cluster
from judge.types.label import Label, Split
from judge.types.record import fingerprint
from judge.types.rubric import BinaryScale, LevelScale
from judge.types.trajectory import Trajectory

FILES = ("card.md", "set.yaml", "trajectories.jsonl", "labels.jsonl")
TIMING = frozenset({"ts", "seconds", "usage"})


def set_names() -> tuple[str, ...]:
    """Names of the shipped sets, in alphabetical order."""
    return tuple(sorted(path.parent.name for path in shipped("calibration_sets").glob("*/set.yaml")))


def load_set(name_or_path: str | Path) -> CalibrationSet:
    """A set by the name of a shipped one, or by the path of a folder.

    Raises:
        UnknownName: Neither a shipped set nor a folder.
        LabelError: A file is missing or malformed (the message names file and line), ids repeat, a label is for an
            unknown trajectory or criterion or outside its scale or under another rubric version, or a group or the
            content of a run stands in both splits.
    """
    folder = Path(name_or_path)
    if not folder.is_dir():
        folder = shipped("calibration_sets") / str(name_or_path)
        if str(name_or_path) not in set_names():
            raise unknown("calibration set", str(name_or_path), set_names())
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise LabelError(
            f"{folder} is not a calibration set: {', '.join(missing)} missing.",
            hint=f"A set has {', '.join(FILES)}.",
        )
    card = _text(folder / "card.md")
    if not card.strip():
        raise LabelError(f"{folder / 'card.md'} is empty.", hint="Say who labelled, when, how drawn, licence, splits.")
    settings = read_settings(folder / "set.yaml")
    trajectories = _trajectories(folder / "trajectories.jsonl")
    labels = _labels(folder / "labels.jsonl", settings, {run.id for run in trajectories})
    refuse_leaks(trajectories, labels)
    return CalibrationSet(
        name=folder.resolve().name, card=card, settings=settings, trajectories=trajectories, labels=labels
    )


def refuse_leaks(trajectories: Sequence[Trajectory], labels: Sequence[Label]) -> None:
    """Refuses a set in which a group, or the content of a run, stands in both splits.

    Times and token counts are no content: a copy with another clock is a leak as well.

    Raises:
        LabelError: Naming the trajectories that leak.
    """
    splits: dict[str, set[Split]] = {}
    for label in labels:
        splits.setdefault(label.trajectory_id, set()).add(label.split)
    for what, key in (("group", cluster), ("content", content_key)):
        seen: dict[str, dict[Split, str]] = {}
        for run in trajectories:
            for split in splits.get(run.id, ()):
                seen.setdefault(key(run), {}).setdefault(split, run.id)
        for value, ids in seen.items():
            if len(ids) > 1:
                named = f"group {value!r}" if what == "group" else "the same content"
                raise LabelError(
                    f"Leak across splits: {named} is in dev ({ids['dev']!r}) and in test ({ids['test']!r}).",
                    hint="Put every run of a group, and every copy of a run, on one side.",
                )


def only_faults(whole: CalibrationSet, faults: Sequence[str]) -> CalibrationSet:
    """The sound runs of a constructed set and those with one of `faults`: for a claim about these faults alone.

    The name of the result says which faults are in it, so that a certificate on it does too.

    Raises:
        LabelError: A note is neither "fault: NAME" nor "no fault…", or no run has one of `faults`.
    """
    built = {label.trajectory_id: _fault(label) for label in whole.labels}
    there = sorted({fault for fault in built.values() if fault is not None})
    for fault in faults:
        if fault not in there:
            raise LabelError(f"{whole.name}: no run with the fault {fault!r}.", hint=f"There: {', '.join(there)}.")
    kept = {id for id, fault in built.items() if fault is None or fault in faults}
    return whole.model_copy(
        update={
            "name": f"{whole.name}[{','.join(sorted(set(faults)))}]",
            "trajectories": tuple(run for run in whole.trajectories if run.id in kept),
            "labels": tuple(label for label in whole.labels if label.trajectory_id in kept),
        }
    )


def _fault(label: Label) -> str | None:
    """The fault that a constructed run was given, or None for a sound one."""
    if label.note.startswith("fault: "):
        return label.note.removeprefix("fault: ")
    if label.note.startswith("no fault"):
        return None
    raise LabelError(f"{label.trajectory_id!r}: the note {label.note!r} names no fault, and does not say 'no fault'.")


def content_key(trajectory: Trajectory) -> str:
    """sha256 of task, steps and final answer without times and token counts: equal for copies of a run.

    Equal `content_fingerprint`s give equal keys.
    """
    steps = [{key: value for key, value in step.to_json().items() if key not in TIMING} for step in trajectory.steps]
    return fingerprint({"task": trajectory.task, "steps": steps, "final": trajectory.final})


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LabelError(f"{path} is not UTF-8: byte {error.start}.", hint="Save it as UTF-8.") from error


def read_settings(path: Path) -> SetSettings:
    try:
        value = yaml.safe_load(_text(path))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        raise LabelError(f"{where}: not YAML: {getattr(error, 'problem', None) or error}.") from error
    if not isinstance(value, Mapping):
        raise LabelError(f"{path}: expected keys and values, found {type(value).__name__}.")
    try:
        return SetSettings.from_json(value)
    except ValidationError as error:
        _refuse(str(path), error)


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """(file:line, decoded object) of each line that is not blank."""
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(line, parse_constant=_no_constant)
        except ValueError as error:
            raise LabelError(f"{where}: not JSON: {error}.", hint="One JSON object a line.") from error
        if not isinstance(row, dict):
            raise LabelError(f"{where}: expected a JSON object, found {type(row).__name__}.")
        yield where, row


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _refuse(where: str, error: ValidationError) -> NoReturn:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"]) or "(whole)"
    hint = "YAML reads yes, no, on and off as true and false: quote it." if isinstance(first["input"], bool) else ""
    raise LabelError(f"{where}: {key}: {first['msg']}, found {str(first['input'])[:80]!r}.", hint=hint) from error


def _trajectories(path: Path) -> tuple[Trajectory, ...]:
    runs: dict[str, Trajectory] = {}
    lines: dict[str, str] = {}
    for where, row in _rows(path):
        try:
            run = Trajectory.from_json(row)
        except ValidationError as error:
            _refuse(where, error)
        if run.id in runs:
            raise LabelError(f"{where}: trajectory {run.id!r} is there already, at {lines[run.id]}.")
        runs[run.id], lines[run.id] = run, where
    if not runs:
        raise LabelError(f"{path} holds no trajectory.")
    return tuple(runs.values())


def _labels(path: Path, settings: SetSettings, known: set[str]) -> tuple[Label, ...]:
    labels: list[Label] = []
    lines: dict[tuple[str, str, str], str] = {}
    for where, row in _rows(path):
        try:
            label = Label.from_json(row)
        except ValidationError as error:
            _refuse(where, error)
        if label.trajectory_id not in known:
            raise LabelError(f"{where}: label for trajectory {label.trajectory_id!r}, which is not in the set.")
        key = (label.trajectory_id, label.criterion, label.rater)
        if key in lines:
            raise LabelError(
                f"{where}: {label.rater!r} labelled {label.criterion!r} of {label.trajectory_id!r} already, "
                f"at {lines[key]}."
            )
        lines[key] = where
        criterion = settings.criterion(label.criterion)
        if criterion is None:
            ids = ", ".join(item.id for item in settings.criteria)
            raise LabelError(f"{where}: criterion {label.criterion!r} is not in set.yaml.", hint=f"There: {ids}.")
        labels.append(_on_scale(where, label, criterion))
    if not labels:
        raise LabelError(f"{path} holds no label.")
    return tuple(labels)


def _on_scale(where: str, label: Label, criterion: SetCriterion) -> Label:
    """The label with its value as a number of the scale; names of levels and pass/fail are turned into theirs."""
    if criterion.rubric_version is not None and label.rubric_version != criterion.rubric_version:
        raise LabelError(
            f"{where}: label made under version {label.rubric_version!r} of {criterion.rubric!r}, "
            f"set.yaml says {criterion.rubric_version!r}.",
            hint="Label again under the new version, or correct rubric_version.",
        )
    value, scale = label.value, criterion.scale
    if value is None or scale is None:
        return label
    if isinstance(value, str):
        names: dict[str, float] = {}
        if isinstance(scale, BinaryScale):
            names = {"fail": 0, "pass": 1}
        elif isinstance(scale, LevelScale):
            names = {level.name.strip().casefold(): level.value for level in scale.levels}
        number = names.get(value.strip().casefold())
        if number is None:
            known = f" Names: {', '.join(names)}." if names else ""
            raise LabelError(f"{where}: {value!r} is no value of the scale of {criterion.id!r}.{known}")
        return label.model_copy(update={"value": float(number)})
    if not scale.contains(value):
        raise LabelError(
            f"{where}: {value!r} is outside the scale of {criterion.id!r} ({scale.low:g} to {scale.high:g})."
        )
    return label
