"""The Python API: blocking and async, twice over, inside a running loop, from anything that holds a trajectory."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import judge
from judge.config import Settings, load_settings
from judge.engine.connection import OpenJury
from judge.errors import ConfigError, TraceError, TrustRequired, UnknownName, UsageError
from judge.types import Reference, Trajectory
from judge.types.jury import Jury

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the capital of France?"},
    {"role": "assistant", "content": "Paris."},
]


def run_of(name: str) -> Trajectory:
    return Trajectory.from_json(native(name))


def native(name: str) -> dict[str, Any]:
    return {
        "schema": "judge.trajectory/1",
        "id": name,
        "group": "g",
        "source": {"format": "native"},
        "steps": [{"index": 1, "kind": "final", "text": f"answer {name}"}],
    }


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    flags = {"judge": "fake/always-4", "cache_dir": tmp_path / "cache"}
    return load_settings(flags, environment={}, folder=tmp_path)


def test_g_d13_blocking_twice_then_async(case: Callable[[str], dict[str, Any]], settings: Settings) -> None:
    exact = case("G-D13")["right"]["exact"]
    done = 0
    for _ in range(2):
        done += all(verdict.score == 4 for verdict in judge.score_many([run_of("a"), run_of("b")], settings=settings))

    async def later() -> int:
        found = [verdict.score async for verdict in judge.ascore_many([run_of("a")], settings=settings)]
        return found.count(4)

    done += asyncio.run(later())
    assert done == exact["runs_ok"]


def test_one_open_connection_serves_several_event_loops(settings: Settings) -> None:
    from judge.providers.connection import connect

    connection = connect("fake/always-2", settings)
    assert [judge.score(run_of("a"), judge=connection, settings=settings).score for _ in range(2)] == [2, 2]
    for _ in range(2):
        assert asyncio.run(judge.ascore(run_of("a"), judge=connection, settings=settings)).score == 2
    asyncio.run(connection.aclose())


def test_the_blocking_call_works_inside_a_running_loop(settings: Settings) -> None:
    async def notebook() -> float | None:
        return judge.score(run_of("a"), settings=settings).score

    assert asyncio.run(notebook()) == 4


def test_threads_may_score_side_by_side(settings: Settings) -> None:
    found: list[float | None] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(judge.score(run_of(f"t{n}"), settings=settings).score))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert found == [4] * 8


def test_scoring_while_producing_what_is_scored_is_refused_instead_of_hanging(settings: Settings) -> None:
    def source() -> Any:
        yield run_of("a")
        judge.score(run_of("b"), settings=settings)
        yield run_of("b")

    with pytest.raises(UsageError, match="inside the judge's own event loop"):
        list(judge.score_many(source(), settings=settings))


def test_a_process_ends_without_warnings_after_both_kinds_of_calls(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio, json, sys, judge\n"
        "from judge.config import load_settings\n"
        "from pathlib import Path\n"
        "folder = Path(sys.argv[1])\n"
        "flags = {'judge': 'fake/always-4', 'cache_dir': folder / 'c'}\n"
        "settings = load_settings(flags, environment={}, folder=folder)\n"
        "run = judge.Trajectory.from_json(json.loads(sys.argv[2]))\n"
        "judge.score(run, settings=settings); judge.score(run, settings=settings)\n"
        "print(asyncio.run(judge.ascore(run, settings=settings)).score)\n",
        encoding="utf-8",
    )
    root = Path(judge.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), str(tmp_path), json.dumps(native("a"))],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=root,
        timeout=300,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "4.0", "")


def test_a_trajectory_may_come_as_record_json_messages_or_path(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(native("a")), encoding="utf-8")
    for given in (run_of("a"), native("a"), MESSAGES, path, str(path)):
        assert judge.score(given, settings=settings).score == 4


def test_what_is_no_trajectory_is_refused_with_a_reason(tmp_path: Path, settings: Settings) -> None:
    two = tmp_path / "two.jsonl"
    two.write_text(f"{json.dumps(native('a'))}\n{json.dumps(native('b'))}\n", encoding="utf-8")
    with pytest.raises(TraceError, match="holds more"):
        judge.score(two, settings=settings)
    with pytest.raises(TraceError, match="nothing in it is a trajectory"):
        judge.score({"weather": "fine"}, settings=settings)
    with pytest.raises(TraceError, match="steps"):
        judge.score({**native("a"), "steps": "none"}, settings=settings)
    with pytest.raises(UsageError, match="takes many"):
        list(judge.score_many(run_of("a"), settings=settings))  # type: ignore[arg-type]


def test_a_file_is_scored_by_its_path_and_loaded_as_a_list(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(f"{json.dumps(native(name))}\n" for name in "abc"), encoding="utf-8")
    assert [run.id for run in judge.load(path)] == ["a", "b", "c"]
    assert [run.id for run in judge.load(path, limit=2)] == ["a", "b"]
    assert [verdict.trajectory_id for verdict in judge.score_many(path, settings=settings)] == ["a", "b", "c"]


def test_measure_gives_metrics_by_name() -> None:
    got = judge.measure(run_of("a"), ["final"])
    assert (got["num_tool_calls"].value, got["matches_reference"].value) == (0, True)


def test_references_are_found_by_id_then_by_group(settings: Settings) -> None:
    runs = [run_of("a"), run_of("b")]
    by_id = {"a": Reference(answer="answer a", status="one_acceptable"), "g": Reference(answer="any")}
    got = list(judge.score_many(runs, settings=settings, reference=by_id))
    assert [verdict.reference for verdict in got] == ["one_acceptable", "authoritative"]
    assert got[0].fingerprints["reference"] != got[1].fingerprints["reference"]
    assert not any("No reference" in warning for warning in got[0].warnings)
    (without,) = judge.score_many([run_of("a")], settings=settings)
    assert without.reference == "none"
    assert any("No reference" in warning for warning in without.warnings)


def test_options_are_settings_of_the_call(settings: Settings) -> None:
    got = judge.score(run_of("a"), settings=settings, samples=3, vote="mean")
    assert (len(got.criteria[0].votes), got.criteria[0].rule) == (3, "mean")
    with pytest.raises(ConfigError, match="sampels"):
        judge.score(run_of("a"), settings=settings, sampels=3)
    with pytest.raises(ConfigError, match="samples"):
        judge.score(run_of("a"), settings=settings, samples=0)
    with pytest.raises(UnknownName):
        judge.score(run_of("a"), "proces", settings=settings)


def test_every_verdict_is_uncertified_and_required_trust_is_refused_before_any_call(settings: Settings) -> None:
    assert judge.score(run_of("a"), settings=settings).trust.state == "uncertified"
    with pytest.raises(TrustRequired, match="No certificate"):
        judge.score(run_of("a"), settings=settings, require_trust=True)


def test_every_judge_on_a_jury_is_closed_where_one_of_them_fails_to_close() -> None:
    closed: list[str] = []

    class Seat:
        def __init__(self, name: str) -> None:
            self.name = name

        async def aclose(self) -> None:
            closed.append(self.name)
            if self.name == "b":
                raise OSError("gone")

    jury = OpenJury(Jury(name="three", members=("a", "b", "c")), {name: cast(Any, Seat(name)) for name in "abc"})
    with pytest.raises(OSError, match="gone"):
        asyncio.run(jury.aclose())
    assert sorted(closed) == ["a", "b", "c"]
