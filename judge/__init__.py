"""Score the trajectories of AI agents with an LLM judge, and prove whether that judge can be trusted.

>>> import judge
>>> runs = judge.load("runs.jsonl")            # doctest: +SKIP
>>> judge.score(runs[0], rubric="process")     # doctest: +SKIP

Everything below is loaded on first use, so that ``import judge`` stays quick.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # what is logged goes where the program sends it

_HOME = {
    "load": "judge.engine.facade",
    "measure": "judge.engine.facade",
    "check": "judge.engine.facade",
    "score": "judge.engine.facade",
    "ascore": "judge.engine.facade",
    "score_many": "judge.engine.facade",
    "ascore_many": "judge.engine.facade",
    "calibrate": "judge.engine.calibrating",
    "compare": "judge.engine.comparing",
    "load_rubric": "judge.prompt.library",
    "Trajectory": "judge.types",
    "Rubric": "judge.types",
    "Reference": "judge.types",
    "Verdict": "judge.types",
    "Vote": "judge.types",
    "Label": "judge.types",
    "JudgeError": "judge.errors",
}

# Written out: type checkers read no other form.
__all__ = [
    "JudgeError",
    "Label",
    "Reference",
    "Rubric",
    "Trajectory",
    "Verdict",
    "Vote",
    "__version__",
    "ascore",
    "ascore_many",
    "calibrate",
    "check",
    "compare",
    "load",
    "load_rubric",
    "measure",
    "score",
    "score_many",
]

if TYPE_CHECKING:
    from judge.engine.calibrating import calibrate
    from judge.engine.comparing import compare
    from judge.engine.facade import ascore, ascore_many, check, load, measure, score, score_many
    from judge.errors import JudgeError
    from judge.prompt.library import load_rubric
    from judge.types import Label, Reference, Rubric, Trajectory, Verdict, Vote


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'judge' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
