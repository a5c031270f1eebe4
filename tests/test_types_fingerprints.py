"""A fingerprint is the same in every process, for every order of keys, and covers what it should and no more."""

from __future__ import annotations

import json
import random
import struct
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


def random_value(rng: random.Random, depth: int = 0) -> Any:
    """JSON of any shape, rich in what two writers of JSON may write differently."""
    kind = rng.randrange(8) if depth < 4 else rng.randrange(5)
    if kind == 0:
        return struct.unpack("d", rng.randbytes(8))[0]  # any float there is, NaN and infinities included
    if kind == 1:
        return rng.choice([1, -1]) * rng.random() * 10 ** rng.randint(-8, 20)
    if kind == 2:
        return rng.choice([None, True, False, 0, 1.0, -0.0, 1e-5, 2**70, -7])
    if kind == 3:
        return "".join(rng.choice('ae0159.-:,[]"{}\\\x07\x7f\n \u2028é😀') for _ in range(rng.randint(0, 20)))
    if kind == 4:
        return rng.choice(["1e5", ":1e-5", "null", ",null", "0.00001", [], {}])
    if kind == 5:
        return [random_value(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    keys = ["a", "B", "é", "z1e3", "\ue000", "😀", "1"]
    return {rng.choice(keys) + str(rng.randint(0, 9)): random_value(rng, depth + 1) for _ in range(rng.randint(0, 5))}


def test_canonical_json_is_what_the_standard_library_writes_to_the_last_byte() -> None:
    rng = random.Random(5)
    refused = 0
    for _ in range(20_000):
        value = random_value(rng)
        try:
            text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        except ValueError:
            refused += 1
            with pytest.raises(ValueError, match="not JSON compliant"):
                canonical_json(value)
        else:
            assert canonical_json(value) == text.encode("utf-8"), value
    assert refused > 0  # numbers that JSON cannot say were among them


def test_what_json_has_not_is_refused() -> None:
    with pytest.raises(TypeError):
        canonical_json({"when": Path("x")})
    with pytest.raises(UnicodeEncodeError):
        canonical_json("\ud800")
    assert canonical_json({1: (True, "a")}) == b'{"1":[true,"a"]}'


def test_a_number_that_json_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"score": float("nan")})


def test_what_no_judge_sees_does_not_change_the_content_fingerprint() -> None:
    run = Trajectory.from_json(SMALL)
    told = run.model_copy(update={"labels": {"reward": 1}, "meta": {"model": "x"}, "id": "other"})
    assert told.content_fingerprint == run.content_fingerprint
    assert told.fingerprint != run.fingerprint
    assert run.model_copy(update={"final": "done"}).content_fingerprint != run.content_fingerprint
