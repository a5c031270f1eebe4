"""A fingerprint is the same in every process, for every order of keys, and covers what it should and no more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from judge.types import Trajectory, canonical_json, fingerprint

ROOT = Path(__file__).resolve().parents[1]
SMALL: dict[str, Any] = {"schema": "judge.trajectory/1", "id": "t", "source": {"format": "native"}, "steps": []}


def test_a_fingerprint_is_the_same_in_another_process() -> None:
    program = (
        "import json, sys; from judge.types import Trajectory;"
        " print(Trajectory.from_json(json.loads(sys.argv[1])).fingerprint)"
    )
    value = {**SMALL, "meta": {"b": 1, "a": ["ü", None, 0.1]}}
    prints = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program, json.dumps(value)],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        )
        prints.add(done.stdout.strip())
    assert prints == {Trajectory.from_json(value).fingerprint}


def test_a_fingerprint_is_the_sha256_of_sorted_compact_json() -> None:
    # printf '{"a":1,"b":"é"}' | sha256sum
    assert canonical_json({"b": "é", "a": 1}) == '{"a":1,"b":"é"}'.encode()
    assert fingerprint({"b": "é", "a": 1}) == "09ad9fd2fb648cb2f62141215828ea00a62c299db05d20aa9ade2f527a301cc6"


def test_a_number_that_json_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"score": float("nan")})


def test_what_no_judge_sees_does_not_change_the_content_fingerprint() -> None:
    run = Trajectory.from_json(SMALL)
    told = run.model_copy(update={"labels": {"reward": 1}, "meta": {"model": "x"}, "id": "other"})
    assert told.content_fingerprint == run.content_fingerprint
    assert told.fingerprint != run.fingerprint
    assert run.model_copy(update={"final": "done"}).content_fingerprint != run.content_fingerprint
