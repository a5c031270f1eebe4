"""A run's verdicts in the order of the input as JSON Lines, CSV or Parquet."""

from __future__ import annotations

import csv
import importlib.util
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from judge.errors import MissingExtra, UsageError
from judge.store.manifest import beside
from judge.store.run_folder import OWN, PEOPLE, RunFolder
from judge.types.verdict import Verdict

ExportFormat = Literal["jsonl", "csv", "parquet"]
ROWS = 4096
"""Rows of a Parquet row group at most, so that memory stays flat."""
COLUMNS: tuple[tuple[str, str], ...] = (
    ("trajectory_id", "text"),
    ("group", "text"),
    ("rubric", "text"),
    ("judge", "text"),
    ("status", "text"),
    ("score", "number"),
    ("passed", "boolean"),
    ("reason", "text"),
    ("trust", "text"),
    ("samples", "integer"),
    ("failed_votes", "integer"),
    ("error_kind", "text"),
    ("error_message", "text"),
    ("calls", "integer"),
    ("cached", "integer"),
    ("input_tokens", "integer"),
    ("output_tokens", "integer"),
    ("cost_usd", "number"),
    ("seconds", "number"),
    ("truncated", "boolean"),
    ("reference", "text"),
    ("trajectory_fingerprint", "text"),
    ("rubric_fingerprint", "text"),
    ("judge_fingerprint", "text"),
    ("decided_by", "text"),
)
"""Name and kind of every column, before "status:ID" and "score:ID" for each criterion of the rubric. `decided_by` is
the judge whose score it is, or "person", where the verdict of `judge` was sent on."""


def export_run(folder: RunFolder, target: Path, format: ExportFormat | None = None) -> int:
    """Writes every verdict that counts to one file and gives their number; readers see the whole file or none.

    Args:
        format: By the ending of `target` when None.

    Raises:
        UsageError: The format is not known, the file cannot be written, or it is one of the run itself.
        MissingExtra: Parquet needs the extra [export].
    """
    chosen = format or target.suffix.lstrip(".").lower()
    if chosen not in get_args(ExportFormat):
        raise UsageError(
            f"{str(target)!r} names no format of an export.", hint=f"Known: {', '.join(get_args(ExportFormat))}."
        )
    _check_not_of(folder, target)
    if chosen == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra("Parquet needs pyarrow, which is not installed.", hint='pip install "trajudge[export]"')
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = beside(target)
        temporary.open("xb").close()
        count = _WRITERS[chosen](folder, temporary)
        temporary.replace(target)
    except OSError as error:
        raise UsageError(
            f"{str(target)!r} cannot be written: {error.strerror or error}.",
            hint="The run is as it was: make room, or name another file.",
        ) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return count


def _check_not_of(folder: RunFolder, target: Path) -> None:
    """Refuses a target that the run is made of: a file of its folder, or its input."""
    own = [folder.path / name for name in (*OWN, PEOPLE)]
    if any(
        target.resolve() == path.resolve() for path in (*own, *(Path(file.path) for file in folder.manifest.inputs))
    ):
        raise UsageError(
            f"{str(target)!r} belongs to the run that is to be exported.", hint="Name another file with --out."
        )


def row(verdict: Verdict) -> dict[str, Any]:
    """One flat row; what is not known is None."""
    first = verdict.errors[0] if verdict.errors else None
    prints = verdict.fingerprints
    votes = sum(len(result.votes) for result in verdict.criteria[:1])
    out: dict[str, Any] = {
        "trajectory_id": verdict.trajectory_id,
        "group": verdict.group,
        "rubric": verdict.rubric,
        "judge": verdict.judge,
        "status": verdict.status,
        "score": verdict.score,
        "passed": verdict.passed,
        "reason": verdict.reason,
        "trust": verdict.trust.state,
        "samples": votes,
        "failed_votes": sum(result.n_failed for result in verdict.criteria),
        "error_kind": first.kind if first else None,
        "error_message": first.message if first else None,
        "calls": verdict.calls,
        "cached": verdict.cached,
        "input_tokens": verdict.usage.input_tokens,
        "output_tokens": verdict.usage.output_tokens,
        "cost_usd": verdict.cost_usd,
        "seconds": verdict.seconds,
        "truncated": verdict.truncated,
        "reference": verdict.reference,
        **{f"{name}_fingerprint": prints.get(name) for name in ("trajectory", "rubric", "judge")},
        "decided_by": verdict.escalation.to if verdict.escalation is not None else None,
    }
    for result in verdict.criteria:
        out[f"status:{result.id}"] = result.status
        out[f"score:{result.id}"] = result.score
    return out


def columns(verdict: Verdict | None) -> tuple[tuple[str, str], ...]:
    """Name and kind of every column of a run, by one of its verdicts."""
    criteria = verdict.criteria if verdict is not None else ()
    own = [(f"{what}:{c.id}", kind) for c in criteria for what, kind in (("status", "text"), ("score", "number"))]
    return (*COLUMNS, *own)


def csv_text(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """CSV line by line, header first; a cell that a spreadsheet would run as a formula is quoted with an apostrophe."""
    writer_to = io.StringIO(newline="")
    writer = csv.writer(writer_to, lineterminator="\n")
    names: Sequence[str] = ()
    for verdict in verdicts:
        if not names:
            names = [name for name, _ in columns(verdict)]
            writer.writerow(names)
        cells = row(verdict)
        writer.writerow([_cell(cells.get(name)) for name in names])
        yield writer_to.getvalue()
        writer_to.seek(0)
        writer_to.truncate()
    if not names:
        writer.writerow([name for name, _ in COLUMNS])
        yield writer_to.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value


def _write_jsonl(folder: RunFolder, target: Path) -> int:
    count = 0
    with target.open("wb") as file:
        for line in folder.lines():
            file.write(line)
            count += 1
    return count


def _write_csv(folder: RunFolder, target: Path) -> int:
    count = 0

    def counted() -> Iterator[Verdict]:
        nonlocal count
        for verdict in folder.verdicts():
            count += 1
            yield verdict

    with target.open("w", encoding="utf-8", newline="") as file:
        file.writelines(csv_text(counted()))
    return count


def _write_parquet(folder: RunFolder, target: Path) -> int:
    import pyarrow as arrow
    from pyarrow import parquet

    kinds = {"text": arrow.string(), "number": arrow.float64(), "integer": arrow.int64(), "boolean": arrow.bool_()}
    verdicts = folder.verdicts()
    first = next(verdicts, None)
    schema = arrow.schema([(name, kinds[kind]) for name, kind in columns(first)])
    count = 0
    with parquet.ParquetWriter(target, schema) as writer:
        rows = [row(first)] if first is not None else []
        while rows := [*rows, *(row(verdict) for verdict in islice(verdicts, ROWS - len(rows)))]:
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
            rows = []
    return count


_WRITERS = {"jsonl": _write_jsonl, "csv": _write_csv, "parquet": _write_parquet}
