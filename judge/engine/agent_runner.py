"""Runs the user's agent once: a process of its own, its own copy of the fixture, and a time limit that holds."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from judge.engine.intake import as_trajectory
from judge.errors import TraceError, UsageError
from judge.types.trajectory import Trajectory

_TAIL = 2000


@dataclass(frozen=True)
class AgentRun:
    """How one attempt of the agent ended.

    Attributes:
        status: "done" with a trajectory; else why there is none.
        left: Folder that the run left behind.
        reason: What the agent's process said, when it failed.
    """

    status: Literal["done", "timeout", "crashed", "no_trajectory"]
    left: Path
    seconds: float
    trajectory: Trajectory | None = None
    reason: str = ""


def run_agent(
    agent: str, *, case: str, task: str, attempt: int, fixture: Path | None, left: Path, seconds: float
) -> AgentRun:
    """One attempt. What the agent does wrong is a status and never an exception.

    Args:
        agent: "module:function"; it takes an `AgentTask` and returns a `Trajectory`, its JSON, or the JSON of any
            trace format, for instance chat messages.
        fixture: Copied to `left`, which must not exist yet.
        seconds: After so long the process and all its children are ended.

    Raises:
        UsageError: There is no such agent. A name that is wrong is no agent that failed.
    """
    left.parent.mkdir(parents=True, exist_ok=True)
    if fixture is None:
        left.mkdir()
    else:
        shutil.copytree(fixture, left, symlinks=True)
    with tempfile.TemporaryDirectory(prefix="judge-attempt-") as place:
        answer, log = Path(place) / "answer.json", Path(place) / "log.txt"
        given = {
            "agent": agent,
            "task": {"case": case, "task": task, "attempt": attempt, "folder": str(left.resolve())},
            "paths": [str(Path.cwd()), *sys.path],
            "answer": str(answer),
        }
        started = time.monotonic()
        # The output goes to a file: a pipe that a grandchild holds open would outlive the time limit.
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "judge.engine.agent_process"],
                cwd=left,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                process.communicate(json.dumps(given).encode(), timeout=seconds)
                in_time = True
            except subprocess.TimeoutExpired:
                in_time = False
            finally:
                _end(process)
        took = time.monotonic() - started
        said = log.read_bytes()[-_TAIL:].decode("utf-8", errors="replace").strip()
        if not in_time:
            return AgentRun("timeout", left, took, reason=f"ended after its {seconds:g} s")
        return _read(answer, case, attempt, left, took, process.returncode, said)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and what it started; waits for it."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()


def _recorded(value: Any) -> Trajectory:
    """Our own form has `steps`; anything else is read as `judge.score` reads it."""
    if isinstance(value, list) or (isinstance(value, Mapping) and "steps" not in value):
        return as_trajectory(value)
    return Trajectory.from_json(value)


def _read(answer: Path, case: str, attempt: int, left: Path, took: float, code: int, said: str) -> AgentRun:
    try:
        made: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        last = said.splitlines()[-1] if said else "nothing"
        return AgentRun("crashed", left, took, reason=f"its process ended with {code} and said {last!r}")
    if "no_agent" in made:
        raise UsageError(made["no_agent"][0], hint=made["no_agent"][1])
    if "error" in made:
        return AgentRun("crashed", left, took, reason=str(made["error"])[:_TAIL])
    try:
        recorded = _recorded(made["trajectory"])
    except TraceError as error:
        return AgentRun("no_trajectory", left, took, reason=f"it returned no trajectory: {error.message}")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        return AgentRun("no_trajectory", left, took, reason=f"it returned no trajectory: {where}: {first['msg']}")
    if not recorded.steps:
        return AgentRun("no_trajectory", left, took, reason="it returned a trajectory without a step")
    named = recorded.model_copy(update={"id": f"{case}-{attempt}", "group": case})
    return AgentRun("done", left, took, trajectory=named)
