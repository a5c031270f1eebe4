"""Policy checks in a process of their own: a schema of a request may keep a processor busy for ever.

A regular expression is matched without ever letting another thread run: one request would stop the whole service.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from starlette.concurrency import run_in_threadpool

from judge.engine.facade import check
from judge.errors import JudgeError, UnknownName
from judge.policy.library import load_policy
from judge.server.problems import SOON, Problem, of_error
from judge.types.trajectory import Trajectory

SECONDS, START_S = 5.0, 120.0
"""That one request may take, and that the process may take to start."""
COSTLY = frozenset({
    "pattern", "patternProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas",
    "uniqueItems", "contains",
})  # fmt: skip
"""Keys of a JSON Schema that can make little text much work."""


def is_costly(value: Any) -> bool:
    """Whether a policy or a tool's schema has a part whose work is not bounded by its size."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            if not COSTLY.isdisjoint(one):
                return True
            left.extend(one.values())
        elif isinstance(one, list | tuple):
            left.extend(one)
    return False


def checked(runs: Sequence[Trajectory], policy: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every check of the policy on each run.

    Raises:
        Problem: 422 for a policy that does not load.
    """
    try:
        loaded = load_policy(policy)
        return [check(run, loaded).to_json() for run in runs]
    except UnknownName as error:
        raise Problem(422, error.kind, error.message, hint=error.hint) from None
    except JudgeError as error:
        raise of_error(error) from None


class Apart:
    """One process that checks one request after another; it is ended when a request takes too long, and made again."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._turn = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    async def checked(self, runs: Sequence[Trajectory], policy: Mapping[str, Any]) -> list[dict[str, Any]]:
        """As the function `checked`.

        Raises:
            Problem: 422 for a policy that does not load or takes too long, 503 when others are before this one.
        """
        given = {"runs": [run.to_json() for run in runs], "policy": policy}
        line = json.dumps(given, ensure_ascii=True).encode() + b"\n"
        try:
            await asyncio.wait_for(self._turn.acquire(), 3 * self._seconds)
        except TimeoutError:
            raise Problem(503, "checks_busy", "Checks of other requests run.", retry_after=SOON) from None
        try:
            text = await run_in_threadpool(self._ask, line)
        finally:
            self._turn.release()
        if text is None:
            words = f"The checks were not done after {self._seconds:g} s."
            raise Problem(422, "policy_too_slow", words, hint="Make the patterns and schemas of the policy simpler.")
        said = json.loads(text)
        if "results" not in said:
            raise Problem(said["status"], said["kind"], said["detail"], hint=said["hint"])
        results: list[dict[str, Any]] = said["results"]
        return results

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _ask(self, line: bytes) -> bytes | None:
        if self._process is None:
            command = [sys.executable, "-m", "judge.server.apart"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._said(b"", START_S)
        found = self._said(line, self._seconds)
        if found is None:
            self.close()
        return found

    def _said(self, line: bytes, seconds: float) -> bytes | None:
        """The next line of the process, or None when it does not come in time."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            found = process.stdout.readline()
        except OSError:
            return None
        finally:
            timer.cancel()
        return found if found.endswith(b"\n") else None


def _answer(line: bytes) -> dict[str, Any]:
    given = json.loads(line)
    try:
        return {"results": checked([Trajectory.from_json(run) for run in given["runs"]], given["policy"])}
    except Problem as problem:
        return {"status": problem.status, "kind": problem.kind, "detail": problem.detail, "hint": problem.hint}
    except Exception as error:
        told = f"{type(error).__name__} inside the checks."
        return {"status": 500, "kind": "internal_error", "detail": told, "hint": ""}


def _serve() -> None:
    """Says that it is ready, and then answers line by line."""
    import_module("jsonschema")  # part of the start, and not of what the first request may take
    out = sys.stdout.buffer
    out.write(b"\n")
    out.flush()
    for line in sys.stdin.buffer:
        out.write(json.dumps(_answer(line), ensure_ascii=True).encode() + b"\n")
        out.flush()


if __name__ == "__main__":
    _serve()
