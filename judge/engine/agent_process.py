"""The process that one attempt runs in: reads a task on stdin, calls the agent, writes the trajectory to a file.

Run as ``python -m judge.engine.agent_process``. The parent gives it a folder of its own and ends it when its time is
up; nothing that the agent does to its memory, its folder or its output reaches another attempt.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

from judge.engine.user_code import find_attribute
from judge.errors import UsageError
from judge.types.suite import AgentTask
from judge.types.trajectory import Trajectory


def main() -> int:
    """Runs the attempt described on stdin; the exit status is 0 where a trajectory was written."""
    given = json.loads(sys.stdin.read())
    sys.path[:0] = [path for path in given["paths"] if path not in sys.path]
    answer = Path(given["answer"])
    try:
        try:
            agent = find_attribute(given["agent"], what="agent")
        except UsageError as error:
            answer.write_text(json.dumps({"no_agent": [error.message, error.hint]}), encoding="utf-8")
            return 2
        made = agent(AgentTask.from_json(given["task"]))
        body: Any = made.to_json() if isinstance(made, Trajectory) else made
        answer.write_text(json.dumps({"trajectory": body}), encoding="utf-8")
    except Exception as error:
        traceback.print_exc()
        answer.write_text(json.dumps({"error": f"{type(error).__name__}: {error}"}), encoding="utf-8")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
