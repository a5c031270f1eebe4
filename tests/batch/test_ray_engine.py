"""A batch on a local Ray of two processors: the same folder as a local run, through kills, caps and interrupts."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from batch_items import (
    GOOD,
    PATIENCE_S,
    RUBRIC,
    JudgeServer,
    heard_on_stderr,
    name_of,
    recorded,
    settings_of,
    until,
    write_items,
)
from faults_ray import ray_worker_killed
from loopback import Scripted, chat
from ray_items import DIFFERS, bare, hearing, verdicts
from redis_server import RedisServer

from judge.cli.logs import logging_to
from judge.cli.main import run as command
from judge.config import load_settings
from judge.engine.batch import BatchOutcome, judge_batch
from judge.engine.control import Control
from judge.engine.ray_cluster import connect
from judge.engine.ray_engine import _Crew
from judge.errors import BudgetReached, ConfigError, TerminalError
from judge.types.jury import Jury

ROOT = Path(__file__).resolve().parents[2]
REFUNDS = ROOT / "calibration_sets" / "refunds" / "trajectories.jsonl"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("cluster"),
    pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"),  # Ray's own
]


def offspring() -> set[int]:
    """Process ids of everything that descends from this process and is no zombie; empty where there is no /proc."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(stat.parent.name)] = int(parent)
    found, ring = set[int](), {os.getpid()}
    while ring:
        ring = {child for child, parent in parents.items() if parent in ring} - found
        found |= ring
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a local Ray that all tests here use; nothing of it is left running."""
    try:
        import ray
    except ImportError as error:
        pytest.skip(f"Ray cannot be imported here: {error}")
    before = offspring()
    connect(ray, None, cpus=2)
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        started = offspring() - before
        ray.shutdown()
        until(lambda: not started & offspring())  # no process is left of Ray


def on(engine: str, source: Path, folder: Path, **options: Any) -> BatchOutcome:
    """A batch that comes to its end."""
    outcome = judge_batch([source], out=folder, engine=engine, **options)
    assert outcome.error is None
    return outcome


def manifest(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return {name: part for name, part in read.items() if name != "created"}


def test_the_rules_give_the_same_verdicts_here_and_on_ray(tmp_path: Path) -> None:
    settings = load_settings({"judge": "rules/process", "cache_dir": tmp_path / "cache"}, environment={})
    local = on("local", REFUNDS, tmp_path / "local", settings=settings)
    spread = on("ray", REFUNDS, tmp_path / "ray", settings=settings)
    assert verdicts(tmp_path / "ray") == verdicts(tmp_path / "local")
    assert len(verdicts(tmp_path / "ray")) == 40
    assert bare(spread.result.summary.to_json()) == bare(local.result.summary.to_json())
    assert manifest(tmp_path / "ray") == manifest(tmp_path / "local")
    assert {path.name for path in (tmp_path / "ray").iterdir()} == {
        path.name for path in (tmp_path / "local").iterdir()
    }


def test_a_model_behind_a_server_is_asked_the_same_here_and_on_ray(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_items(tmp_path / "in.jsonl", 40)

    def answer(item: str, before: int) -> Scripted:
        number = int(item[5:])
        if number == 7:
            return Scripted(400, {"error": {"message": "no"}})
        return chat(json.dumps({"reason": f"r{number}", "score": 1 + number % 5}), tokens=(100 + number, 20))

    came: dict[str, Any] = {}
    with JudgeServer(answer) as server:
        for engine in ("local", "ray"):
            work, before = tmp_path / engine, server.requests
            work.mkdir()
            settings = settings_of(work, server.url, concurrency=8)
            result = on(engine, source, work / "run", rubric=RUBRIC, settings=settings).result
            assert command(["runs", "export", str(work / "run"), "--format", "csv"]) == 0
            table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
            assert command(["runs", "show", str(work / "run"), "--json"]) == 0
            shown = json.loads(capsys.readouterr().out)
            came[engine] = {
                "verdicts": verdicts(work / "run"),
                "summary": bare(result.summary.to_json()),
                "usd": [
                    pytest.approx(usd)
                    for usd in (result.spend.known_usd, result.usd_per_verdict, result.summary.known_usd)
                ],
                "requests": server.requests - before,
                "table": [{name: text for name, text in row.items() if name not in DIFFERS} for row in table],
                "shown": (shown["counts"], shown["spend"]["calls"], shown["spend"]["unpriced"]),
            }
    assert came["ray"] == came["local"]
    assert came["ray"]["requests"] == 40
    summary = came["ray"]["summary"]
    assert (summary["scored"], summary["errors"]) == (39, {"request_refused": 1})


def test_samples_are_drawn_and_voted_on_the_same_here_and_on_ray(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 20)
    with JudgeServer(lambda item, before: chat(json.dumps({"reason": "r", "score": 1 + int(item[5:]) % 5}))) as server:
        for engine in ("local", "ray"):
            (tmp_path / engine).mkdir()
            settings = settings_of(tmp_path / engine, server.url, samples=3)
            on(engine, source, tmp_path / engine / "run", rubric=RUBRIC, settings=settings)
    here, there = (verdicts(tmp_path / engine / "run") for engine in ("local", "ray"))
    wanted = ("trajectory_id", "status", "score", "criteria", "fingerprints", "trust")
    assert [[verdict[name] for name in wanted] for verdict in there] == [
        [verdict[name] for name in wanted] for verdict in here
    ]
    assert [len(verdict["criteria"][0]["votes"]) for verdict in there] == [3] * 20


def test_files_named_from_the_working_folder_are_found_by_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.yaml").write_text(f"default: {{text: '{GOOD}'}}\n", encoding="utf-8")
    source = write_items(tmp_path / "in.jsonl", 9)
    settings = load_settings({"judge": "fake/script.yaml", "cache_dir": Path("cache"), "samples": 1}, environment={})
    for engine in ("local", "ray"):
        on(engine, source, tmp_path / engine, rubric=RUBRIC, settings=settings)
    assert verdicts(tmp_path / "ray") == verdicts(tmp_path / "local")
    assert [verdict["score"] for verdict in verdicts(tmp_path / "ray")] == [4] * 9


def test_what_a_killed_worker_left_is_done_again(tmp_path: Path) -> None:
    fault = ray_worker_killed(tmp_path)
    print(fault.counts)
    assert fault.held, f"{fault.what}: {fault.counts}"


def test_workers_that_only_die_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judge.engine.ray_engine.MOST_LOSSES", 2)
    source = write_items(tmp_path / "in.jsonl", 1)

    def deadly(item: str, before: int) -> Scripted:
        os.kill(heard.of("worker begins")[-1]["pid"], signal.SIGKILL)
        return chat(GOOD)

    with JudgeServer(deadly) as server, hearing() as heard:
        settings = settings_of(tmp_path, server.url)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, engine="ray")
        requests = server.requests
    assert outcome.error is not None
    assert f"2 Ray workers died one after another without giving a verdict. The last was at {name_of(0)!r}" in str(
        outcome.error
    )
    assert (requests, outcome.result.pending, len(heard.of("worker lost"))) == (2, 1, 2)


def test_the_cap_holds_over_all_workers(tmp_path: Path) -> None:
    draw, numbers, cap = random.Random(7), count(), 30.0
    source = write_items(tmp_path / "in.jsonl", 200)
    bills: list[float] = []

    def answer(item: str, before: int) -> Scripted:
        tokens = (1, 0) if next(numbers) < 40 else (draw.randrange(1, 900), draw.choice([0, 100, 300]))
        bills.append(sum(tokens) * 1000.0 / 1e6)
        until(lambda: len(heard.of("worker begins")) == 2)  # or one of them may have spent all
        reply = chat(GOOD, tokens=tokens, delay=0.3)
        if draw.random() < 0.1:
            reply.body["usage"] = None  # a bill that is not told counts as the whole estimate
        return reply

    with JudgeServer(answer) as server, hearing() as heard:
        settings = settings_of(tmp_path, server.url, concurrency=32, max_usd=cap)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, engine="ray")
        most = server.server.most_under_way
    result = outcome.result
    assert isinstance(outcome.error, BudgetReached)
    assert 0 < sum(bills) <= cap
    assert f"{result.judged} judged, {result.pending} left" in str(outcome.error)
    assert 0 < result.judged < 200
    assert most > 8
    assert len({facts["pid"] for facts in heard.of("worker begins")}) == 2


def test_workers_draw_no_vote_that_can_be_done_without_in_the_last_fifth_of_the_money(tmp_path: Path) -> None:
    """4, then 2, then 4 for each item, 50 cents a call: a third vote is wanted while less than $28.80 are spent."""
    source = write_items(tmp_path / "in.jsonl", 60)

    def answer(item: str, before: int) -> Scripted:
        said = json.dumps({"reason": "fine", "score": 2 if before == 1 else 4})
        return chat(said, tokens=(400, 100), delay=0.05)

    with JudgeServer(answer) as server:
        flags: dict[str, Any] = {"concurrency": 2, "samples": None, "max_usd": 36.0, "max_output_tokens": 200}
        settings = settings_of(tmp_path, server.url, **flags)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, engine="ray")
        calls = server.calls.copy()
    assert isinstance(outcome.error, BudgetReached)
    found = {verdict["trajectory_id"]: verdict["score"] for verdict in verdicts(tmp_path / "run")}
    assert found == {item: 4.0 if calls[item] == 3 else 3.0 for item in found}
    assert set(calls.values()) == {2, 3}
    assert outcome.result.summary.wrapped_up == list(calls.values()).count(2)


def test_the_log_holds_the_calls_of_workers_and_the_summary_what_their_caches_failed_to_do(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 12)
    bad = Scripted(400, {"error": {"message": "no"}})

    def answer(item: str, before: int) -> Scripted:
        until(lambda: len(heard.of("worker begins")) == 2)  # or one of them may have done all
        return bad if item == name_of(3) else chat(GOOD, tokens=(100, 20))

    with JudgeServer(answer) as server, hearing() as heard:
        settings = settings_of(tmp_path, server.url, concurrency=4)
        with logging_to(str(tmp_path / "log.jsonl")):
            result = on("ray", source, tmp_path / "run", rubric=RUBRIC, settings=settings).result
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    calls = [line for line in lines if line["logger"] == "judge.call"]
    assert {call["trajectory_id"]: call["event"] for call in calls} == {
        name_of(number): "call failed" if number == 3 else "call" for number in range(12)
    }
    assert len(calls) == 12
    hired = {line["worker"] for line in lines if line["event"] == "worker begins"}
    assert {call["worker"] for call in calls} <= hired
    assert len(hired) == 2
    assert {(c["level"], c["cost_usd"]) for c in calls if c["event"] == "call"} == {("info", 0.12)}
    assert result.summary.cache_failures == 0


def test_a_cache_that_dies_under_the_workers_is_told_once_and_counted(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 40)
    said: list[str] = []
    numbers = count(1)
    with RedisServer() as redis:

        def answer(item: str, before: int) -> Scripted:
            if next(numbers) == 10:
                redis.kill()
            return chat(GOOD, delay=0.02)

        with JudgeServer(answer) as server:
            settings = settings_of(tmp_path, server.url, concurrency=4, cache=redis.url)
            options: dict[str, Any] = {"rubric": RUBRIC, "settings": settings, "notice": said.append}
            result = on("ray", source, tmp_path / "run", **options).result
    assert (result.summary.scored, server.requests) == (40, 40)
    assert result.summary.cache_failures
    told = [line for line in said if line.startswith(f"warning of a worker: The cache {redis.address} failed")]
    assert len(told) == len(set(told)) == len(said)
    assert told


def test_without_the_actor_that_holds_the_budget_nothing_more_is_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    items = 4000  # far more than are judged before the loss is seen
    source, keepers = write_items(tmp_path / "in.jsonl", items), []
    keep_budget = _Crew._keep_budget
    monkeypatch.setattr(_Crew, "_keep_budget", lambda crew: keepers.append(keep_budget(crew)) or keepers[0])

    def lose(progress: Any) -> None:
        if progress.done == 10:
            ray.kill(keepers[0])

    with JudgeServer(lambda item, before: chat(GOOD, delay=0.05)) as server:
        settings = settings_of(tmp_path, server.url, concurrency=4, max_usd=1000.0)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, engine="ray", progress=lose)
        requests = server.requests
    assert "The actor that holds the budget was lost" in str(outcome.error)
    assert 10 <= outcome.result.judged == requests < items


def test_an_interrupt_drains_and_a_resume_ends_it(tmp_path: Path) -> None:
    source, control = write_items(tmp_path / "in.jsonl", 60), Control()

    def interrupt(progress: Any) -> None:
        if progress.done == 10:
            control.drain("interrupt")

    options: dict[str, Any] = {"rubric": RUBRIC, "out": tmp_path / "run", "engine": "ray"}
    with JudgeServer(lambda item, before: chat(GOOD, delay=0.05)) as server:
        settings = settings_of(tmp_path, server.url, concurrency=4)
        first = judge_batch([source], settings=settings, control=control, progress=interrupt, **options)
        asked = server.requests
        second = judge_batch([source], settings=settings, resume=True, **options)
        requests, most = server.requests, max(server.calls.values())
    assert first.error is None
    assert first.result.stopped == "interrupt"
    assert 10 <= first.result.judged == asked < 60
    assert (second.result.kept, second.result.judged, second.result.pending) == (asked, 60 - asked, 0)
    assert (requests, most) == (60, 1)


def test_ray_goes_on_with_a_local_run_redoing_its_errors(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 12)
    broken = Scripted(400, {"error": {"message": "no"}})
    with JudgeServer(lambda item, before: broken if item < name_of(4) and before == 0 else chat(GOOD)) as server:
        settings = settings_of(tmp_path, server.url)
        on("local", source, tmp_path / "run", rubric=RUBRIC, settings=settings)
        again = on("ray", source, tmp_path / "run", rubric=RUBRIC, settings=settings, resume=True).result
        last = on("local", source, tmp_path / "run", rubric=RUBRIC, settings=settings, resume=True).result
        requests = server.requests
    assert (again.kept, again.judged, again.summary.scored, requests) == (8, 4, 12, 16)
    assert (last.kept, last.judged, last.summary.scored) == (12, 0, 12)


def test_a_judge_that_a_worker_cannot_open_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("default: 4\n", encoding="utf-8")
    crew = _Crew.__init__

    def without_script(self: _Crew, *given: Any, **options: Any) -> None:
        script.unlink()  # as on a machine that does not have it
        crew(self, *given, **options)

    monkeypatch.setattr(_Crew, "__init__", without_script)
    settings = load_settings({"judge": f"fake/{script}", "cache_dir": tmp_path / "cache"}, environment={})
    source = write_items(tmp_path / "in.jsonl", 4)
    outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, engine="ray")
    assert isinstance(outcome.error, ConfigError)
    assert "script.yaml" in str(outcome.error)
    assert outcome.result.pending == 4


def test_a_cluster_that_starts_nobody_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judge.engine.ray_engine.START_S", 0.0)  # over before any process can be up
    source = write_items(tmp_path / "in.jsonl", 4)
    settings = load_settings({"judge": "fake/always-4", "cache_dir": tmp_path / "cache"}, environment={})
    outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, engine="ray")
    assert isinstance(outcome.error, ConfigError)
    assert "has started no worker" in str(outcome.error)
    assert "ray status" in str(outcome.error)


def test_a_jury_sits_on_ray_as_it_does_here(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 10)
    for name, score in (("kind", 5), ("stern", 2), ("middling", 4)):
        (tmp_path / f"{name}.yaml").write_text(f"default: {score}\n", encoding="utf-8")
    jury = Jury(
        name="jury/three",
        rule="median",
        members=tuple(f"fake/{tmp_path / name}.yaml" for name in ("kind", "stern", "middling")),
    )
    settings = load_settings({"cache_dir": tmp_path / "cache", "samples": 1}, environment={})
    for engine in ("local", "ray"):
        on(engine, source, tmp_path / engine, rubric=RUBRIC, settings=settings, judge=jury)
    assert verdicts(tmp_path / "ray") == verdicts(tmp_path / "local")
    assert [verdict["status"] for verdict in verdicts(tmp_path / "ray")] == ["ok"] * 10


def test_a_judge_that_takes_no_calls_ends_the_run(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 100)
    refused = Scripted(401, {"error": {"message": "no such key"}})
    with JudgeServer(lambda item, before: refused) as server:
        settings = settings_of(tmp_path, server.url, concurrency=4)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, engine="ray")
        requests = server.requests
    assert isinstance(outcome.error, TerminalError)
    assert (outcome.error.status_code, outcome.error.exit_code) == (401, 4)
    assert "0 judged, 100 left" in str(outcome.error)
    assert requests <= 4


def test_ctrl_c_at_the_command_line_saves_what_is_under_way(cluster: str, tmp_path: Path) -> None:
    source, run = write_items(tmp_path / "in.jsonl", 60), tmp_path / "run"
    numbers, interrupted = count(), threading.Event()

    def answer(item: str, before: int) -> Scripted:
        if next(numbers) >= 16:
            interrupted.wait(PATIENCE_S)
        return chat(GOOD)

    with JudgeServer(answer) as server:
        rubric = tmp_path / "own.yaml"
        rubric.write_text(json.dumps(RUBRIC.to_json()), encoding="utf-8")  # JSON is YAML
        program = [sys.executable, "-m", "judge.cli.main", "batch", str(source), "-o", str(run), "-j", "openai/m1"]
        options = [
            "--base-url",
            f"{server.url}/v1",
            "-r",
            str(rubric),
            "-n",
            "1",
            "-c",
            "4",
            "--engine",
            "ray",
            "--address",
            cluster,
        ]
        environment = {**os.environ, "JUDGE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(
            [*program, *options, "--json", "-q"],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            until(lambda: len(recorded(run)) >= 8 or process.poll() is not None)
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
            said = heard_on_stderr(process, "Ctrl-C again")
            interrupted.set()
            out, err = process.communicate(timeout=PATIENCE_S)
            err = said + err
        asked = server.requests
    result = json.loads(out)
    assert (process.returncode, result["stopped"]) == (130, "interrupt"), err
    assert 8 <= result["judged"] == asked == len(recorded(run)) < 60
    assert "Traceback" not in err
    assert [bare(verdict)["status"] for verdict in verdicts(run)] == ["ok"] * asked
