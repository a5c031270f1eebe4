"""Position bias: a dialled preference for a place is recovered, the larger the more, and the innocent is spared."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from refund_runs import refund

from judge.calibration.pairwise import Contest, Winner
from judge.calibration.probes.position import PLACE_BAND, position_effect, position_row, pull_of_first
from judge.cli.main import run as command
from judge.config import Settings
from judge.engine.pairing import pairs_of
from judge.engine.pairwise import judge_pairs
from judge.types.trajectory import Trajectory

TASKS = 60
DIALS = (0.0, 0.1, 0.25, 0.5)


def runs(tasks: int) -> list[Trajectory]:
    """Two agents on each task."""
    out = []
    for task in range(tasks):
        for agent in "ab":
            steps = [
                {"index": 1, "kind": "message", "role": "user", "content": [{"type": "text", "text": f"Do {task}."}]},
                {"index": 2, "kind": "final", "text": f"Done by way {agent}."},
            ]
            body = {"id": f"{agent}{task}", "group": str(task), "source": {"format": "native"}, "steps": steps}
            out.append(Trajectory.from_json({**body, "agents": [{"name": agent}]}))
    return out


def judged(settings: Settings, folder: Path, bonus: float) -> list[Contest]:
    """Pairs whose leads are spread evenly over (-1, 1), by a live judge that adds `bonus` to the first place.

    A pair is decided by its place where its lead is smaller than the bonus: a share of `bonus` of all pairs.
    """
    strengths: dict[str, float] = {}
    for task in range(TASKS):
        lead = (task + 0.5) / TASKS * (1 if task % 2 else -1)
        strengths |= {f"a{task}": lead, f"b{task}": 0.0}
    path = folder / "judge.yaml"
    path.write_text(yaml.safe_dump({"strengths": strengths, "first_bonus": bonus}), encoding="utf-8")
    pairs = pairs_of(runs(TASKS)).pairs
    verdicts = judge_pairs(pairs, "process", judge=f"fake/{path}", settings=settings).verdicts
    number: dict[str, Winner] = {"a": 1, "b": 2, "tie": 0}
    return [Contest(v.a, v.b, ab=number[v.orders[0]], ba=number[v.orders[1]], group=v.task) for v in verdicts]


def test_a_dialled_preference_is_recovered_monotonically(settings: Settings, tmp_path: Path) -> None:
    rows = [position_row(judged(settings, tmp_path, dial), rng=np.random.default_rng(1)) for dial in DIALS]
    found = [row.effect.value for row in rows]
    assert found == pytest.approx(DIALS)
    assert all(a < b for a, b in pairwise(found) if a is not None and b is not None)
    assert rows[0].state == "clear"
    assert rows[-1].state == "flagged"


def test_a_preference_for_the_second_place_is_flagged_as_well(settings: Settings, tmp_path: Path) -> None:
    row = position_row(judged(settings, tmp_path, -0.5), rng=np.random.default_rng(1))
    assert row.effect.value == pytest.approx(-0.5)
    assert row.state == "flagged"


def simulated(rng: np.random.Generator, tasks: int, pull: float, split: float) -> list[Contest]:
    """Pairs of which a share `split` goes by place, so much more often by the first that the mean pull is `pull`."""
    out = []
    for task in range(tasks):
        draw = rng.random()
        ab: Winner
        ba: Winner
        if draw < (split + pull) / 2:
            ab, ba = 1, 2
        elif draw < split:
            ab, ba = 2, 1
        else:
            ab = ba = 1 if rng.random() < 0.5 else 2
        out.append(Contest("x", "y", ab=ab, ba=ba, group=task))
    return out


@pytest.mark.parametrize(("pull", "split"), [(0.0, 0.4), (PLACE_BAND, 0.4), (-PLACE_BAND, 0.3)])
def test_innocent_judges_are_flagged_no_more_often_than_the_nominal_rate(pull: float, split: float) -> None:
    """A judge that wobbles between places, without a pull or with one at the very edge of the band: 2.5 % at most."""
    rng = np.random.default_rng(20261130)
    flagged = sum(position_row(simulated(rng, 40, pull, split), rng=rng).state == "flagged" for _ in range(200))
    assert flagged <= 10  # of 200: 5 expected at most, 10 is the 98 % point of Binomial(200, .025)


def test_a_strong_pull_is_mostly_flagged() -> None:
    rng = np.random.default_rng(3)
    flagged = sum(position_row(simulated(rng, 40, 0.5, 0.6), rng=rng).state == "flagged" for _ in range(50))
    assert flagged >= 45


@pytest.mark.parametrize(
    ("ab", "ba", "pull"),
    [(1, 1, 0), (2, 2, 0), (0, 0, 0), (1, 2, 1), (2, 1, -1), (1, 0, 0.5), (0, 2, 0.5), (0, 1, -0.5), (2, 0, -0.5)],
)
def test_the_pull_of_one_pair(ab: Winner, ba: Winner, pull: float) -> None:
    assert pull_of_first(Contest("x", "y", ab=ab, ba=ba)) == pull


def test_failures_are_in_no_rate() -> None:
    contests = [Contest("x", "y", ab=1, ba=None), Contest("x", "y", ab=1, ba=2), Contest("x", "y", ab=2, ba=2)]
    row = position_row(contests, rng=np.random.default_rng(0))
    assert (row.effect.value, row.effect.n, row.no_score) == (0.5, 2, 1)
    none = position_effect(contests[:1], rng=np.random.default_rng(0))
    assert none.value is None
    assert position_row(contests[:1], rng=np.random.default_rng(0)).state == "not_tested"


def test_pairs_of_one_task_give_no_interval() -> None:
    contests = [Contest("x", "y", ab=1, ba=2, group="one") for _ in range(20)]
    row = position_row(contests, rng=np.random.default_rng(0))
    assert (row.effect.value, row.state) == (1.0, "not_tested")


@pytest.mark.parametrize(("bonus", "value"), [(0.0, 0.0), (0.5, 0.5)])
def test_the_command_that_probes_compares_pairs_as_well(
    bonus: float, value: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_CACHE_DIR", str(tmp_path / "cache"))
    given = [refund(f"{agent}{task}", f"task {task}") for task in range(8) for agent in "ab"]
    for one in given:  # no two runs say the same
        one["steps"][1]["content"][0]["text"] += f" This is {one['id']}."
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, given)), encoding="utf-8")
    leads = {f"a{task}": (task + 0.5) / 8 * (1 if task % 2 else -1) for task in range(8)}
    script = {"default": 3, "first_bonus": bonus, "strengths": leads | {f"b{task}": 0.0 for task in range(8)}}
    (tmp_path / "judge.yaml").write_text(yaml.safe_dump(script), encoding="utf-8")
    arguments = ["probe", "runs.jsonl", "-j", "fake/judge.yaml", "--kinds", "null", "--pairwise", "--json"]
    assert command(arguments) in (0, 1, 3)
    (row,) = json.loads(capsys.readouterr().out)["biases"]
    assert (row["type"], row["pairs"], row["effect"]["value"]) == ("position", 8, value)
