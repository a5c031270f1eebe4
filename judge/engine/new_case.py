"""A production trace as a case: what it must not do again is for a person to write, where it stands is written here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from judge.engine.suite_file import load_suite
from judge.errors import UsageError
from judge.policy.history import history
from judge.policy.order import finish_of
from judge.types.trajectory import Trajectory


def case_text(trajectory: Trajectory, *, id: str, tags: Iterable[str] = ()) -> str:
    """The case as lines of YAML, to stand under `cases:`.

    It holds what the trace shows: the task, the tools that worked as `must_call`, the number of steps and how it
    finished. These describe one run, and a person has to say which of them a right run needs.

    Raises:
        UsageError: The trace has no task.
    """
    if not (trajectory.task or "").strip():
        raise UsageError(f"The trace {trajectory.id!r} has no task, so nobody could try it again.")
    run = history(trajectory)
    tools = dict.fromkeys(attempt.call.name for attempt in run.attempts if attempt.succeeded)
    finish = finish_of(run)
    lines = [
        f"  - id: {id}",
        f"    task: {_quoted(trajectory.task or '')}",
        f"    note: {_quoted(f'from the trace {trajectory.id}; review the limits below, they describe one run')}",
        "    trajectory:",
        f"      max_steps: {len(trajectory.steps)}",
    ]
    if tools:
        lines.append(f"      must_call: [{', '.join(_quoted(tool) for tool in tools)}]")
    if finish is not None:
        lines.append(f"      finish_status: {_quoted(finish[0])}")
    if tags := list(tags):
        lines.append(f"    tags: [{', '.join(_quoted(tag) for tag in tags)}]")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A JSON string is a YAML string."""
    return json.dumps(text, ensure_ascii=False)


def case_id(trajectory: Trajectory) -> str:
    """An id for the case, from the trajectory's."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", trajectory.id).strip("-._") or "case"


def add_case(path: Path, text: str, *, suite: str = "cases") -> None:
    """Appends a case to a suite file, or begins one; the file is as it was if the result would not load.

    Raises:
        UsageError: The file's list of cases does not end the file, or the result does not load (e.g. an id twice).
    """
    before = path.read_text(encoding="utf-8") if path.exists() else f"suite: {_quoted(suite)}\ncases:\n"
    after = before + ("" if before.endswith("\n") else "\n") + text
    trial = path.with_name(f".{path.name}.new")
    trial.write_text(after, encoding="utf-8", newline="\n")
    try:
        load_suite(trial)
    except UsageError as error:
        trial.unlink()
        raise UsageError(
            error.message.replace(str(trial), str(path)),
            hint="The file was not changed. A case is added at its end, so `cases:` must be its last key, "
            "with each case two spaces in.",
        ) from None
    trial.replace(path)
