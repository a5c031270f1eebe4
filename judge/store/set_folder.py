"""A calibration set as the folder that it is read from."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from judge.errors import UsageError
from judge.store.manifest import write_whole
from judge.types.calibration_set import CalibrationSet

ELSEWHERE = "Name another folder with --out."


def write_set(folder: Path, whole: CalibrationSet) -> None:
    """Writes card.md, set.yaml, trajectories.jsonl and labels.jsonl; those of an earlier writing are replaced.

    Raises:
        UsageError: The folder holds something else, or a label that `whole` lacks: it is not overwritten.
    """
    refuse_loss(folder, whole)
    folder.mkdir(parents=True, exist_ok=True)
    settings = whole.settings.to_json()
    write_whole(folder / "card.md", whole.card.rstrip() + "\n")
    write_whole(folder / "set.yaml", yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=110))
    write_whole(folder / "trajectories.jsonl", _lines(whole.trajectories))
    write_whole(folder / "labels.jsonl", _lines(whole.labels))


def refuse_other(folder: Path) -> None:
    """Refuses a folder that holds something else than a calibration set.

    Raises:
        UsageError: It does.
    """
    empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if not empty and not (folder / "set.yaml").is_file():
        raise UsageError(f"{str(folder)!r} is there and is no calibration set.", hint=ELSEWHERE)


def refuse_loss(folder: Path, whole: CalibrationSet) -> None:
    """Refuses a folder in which writing `whole` would lose something.

    Raises:
        UsageError: Saying what.
    """
    refuse_other(folder)
    labels = folder / "labels.jsonl"
    rows = labels.read_text(encoding="utf-8").splitlines() if labels.is_file() else []
    mine = {(label.trajectory_id, label.criterion, label.rater) for label in whole.labels}
    for row in rows:
        if not row.strip():
            continue
        found = json.loads(row)
        key = (found.get("trajectory_id"), found.get("criterion"), found.get("rater"))
        if key not in mine:
            raise UsageError(
                f"{str(labels)!r} holds a label of {key[2]!r} on {key[0]!r} that would be lost.", hint=ELSEWHERE
            )


def _lines(records: object) -> str:
    assert isinstance(records, tuple)
    return "".join(json.dumps(record.to_json(), ensure_ascii=False) + "\n" for record in records)
