"""What a run with batches at a provider was started with, kept in its folder, so that it can be taken up by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationError

from judge.errors import UsageError
from judge.store.batch_ledger import FOLDER
from judge.store.manifest import write_whole
from judge.types.record import Record
from judge.types.reference import Reference
from judge.types.rubric import Rubric

if TYPE_CHECKING:
    from judge.engine.batch_engine import BatchJob

CALL = "call.json"


class BatchCall(Record):
    """Arguments of a run.

    Attributes:
        inputs: Absolute paths.
        reading: format, mapping and limit.
        references: One for all, or by trajectory or group, or None.
        settings: Without secrets.
    """

    omit_none: ClassVar[bool] = False

    inputs: tuple[str, ...]
    reading: dict[str, Any]
    judge: str
    rubric: Rubric
    policy: str | None = None
    references: Reference | dict[str, Reference] | None = None
    settings: dict[str, Any]


def save_call(job: BatchJob) -> None:
    """Writes the arguments of a run into its folder, where they differ from what is there."""
    given = job.references
    call = BatchCall(
        inputs=tuple(str(Path(path).absolute()) for path in job.inputs),
        reading=dict(job.reading),
        judge=job.connection.name,
        rubric=job.rubric,
        policy=job.policy,
        references=given if given is None or isinstance(given, Reference) else dict(given),
        settings=job.settings.model_dump(mode="json", exclude={"keys"}),
    )
    path = job.folder / FOLDER / CALL
    text = json.dumps(call.to_json(), ensure_ascii=False, indent=1) + "\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_whole(path, text)


def read_call(folder: Path) -> BatchCall:
    """The arguments that a run was started with.

    Raises:
        UsageError: The folder holds no run with batches at a provider, or one that cannot be read.
    """
    path = folder / FOLDER / CALL
    try:
        return BatchCall.from_json(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(
            f"There is no run with batches at a provider in {str(folder)!r}.",
            hint="`judge batch IN --out DIR --engine provider-batch` makes one.",
        ) from None
    except (OSError, ValueError, ValidationError) as error:
        raise UsageError(f"{str(path)!r} cannot be read: {' '.join(str(error).split())[:200]}.") from None
