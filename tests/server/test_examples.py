"""Every file of scripts/examples runs: offline, with the rules judge, a scripted one, or a model that this test is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from loopback import LoopbackServer, chat
from running_service import Listening
from service_runs import RATERS, SCORES, run, runs

from judge.server.service import Deployment
from judge.store.label_queue import Entry

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "scripts" / "examples"


@pytest.fixture
def service(deployment: Deployment) -> Iterator[Listening]:
    server = Listening(replace(deployment, judges=(*deployment.judges, "rules/process")))
    yield server
    server.close()


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in runs()), encoding="utf-8")
    return path


def example(name: str, *arguments: object, folder: Path, **environment: str) -> str:
    """What an example prints; it runs in `folder`."""
    process = begun(name, *arguments, folder=folder, **environment)
    out, err = process.communicate("", timeout=600)
    assert process.returncode == 0, f"{out}\n{err}"
    return out


def begun(name: str, *arguments: object, folder: Path, **environment: str) -> subprocess.Popen[str]:
    program = sys.executable if name.endswith(".py") else "bash"
    command = [program, str(EXAMPLES / name), *map(str, arguments)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    given = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **environment}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=folder, env=given)


def test_scoring_calibrating_and_comparing_from_a_script(traces: Path, tmp_path: Path) -> None:
    lines = example("score.py", traces, folder=tmp_path).splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("run-1 5 uncertified ")
    lines = example("calibrate.py", "refunds", folder=tmp_path).splitlines()
    assert lines[0].startswith("rules/process on refunds: refused (")
    assert any(line.startswith("  tnr: ") and "is needed at least" in line for line in lines)
    assert len(list((tmp_path / ".judge" / "certificates").glob("*.json"))) == 1
    said = example("compare.py", "refunds", "rules/process", "fake/always-4", folder=tmp_path)
    assert "of full credit on 25 runs; no score on 0" in said
    assert "certifies nobody" in said


def test_the_second_batch_calls_no_model(traces: Path, tmp_path: Path) -> None:
    reply = '{"reason": "Fine.", "evidence": [{"step": 2, "quote": "get_order"}], "score": 4}'
    with LoopbackServer(lambda _: chat(reply)) as server:
        (tmp_path / "judge.toml").write_text(
            f'samples = 1\ncache_dir = "cache"\n[providers.openai]\nbase_url = "{server.url}/v1"\n'
            '[models."openai/m1"]\ninput_usd_per_million = 1.0\noutput_usd_per_million = 1.0\n'
        )
        said = example("batch_with_cache.sh", traces, "openai/m1", folder=tmp_path, OPENAI_API_KEY="sk-test")
        asked = len(server.requests)
    first, second = said.splitlines()[-2:]
    assert first == "first {'scored': 10, 'total': 10, 'calls': 10, 'cached': 0, 'errors': {}}"
    assert second == "second {'scored': 10, 'total': 10, 'calls': 0, 'cached': 10, 'errors': {}}"
    assert asked == 10


def test_scoring_over_http(service: Listening, tmp_path: Path) -> None:
    trace = tmp_path / "run.json"
    trace.write_text(json.dumps(run("run-5")), encoding="utf-8")
    said = example("service/score.py", service.url, trace, folder=tmp_path)
    assert said.startswith("run-5 ok 1.0 uncertified\n")
    answer = json.loads(example("service/score.sh", trace, folder=tmp_path, URL=service.url))
    assert answer["results"][0]["score"] == 1.0


def test_a_run_that_tells_the_answer_ends_the_examples_with_the_reason(service: Listening, tmp_path: Path) -> None:
    trace = tmp_path / "run.json"
    trace.write_text(json.dumps(run("run-5") | {"labels": {"reward": 1}}), encoding="utf-8")
    with pytest.raises(AssertionError, match="422 answer in request"):
        example("service/score.py", service.url, trace, folder=tmp_path)
    with pytest.raises(AssertionError, match="answer_in_request"):
        example("service/score.sh", trace, folder=tmp_path, URL=service.url)


@pytest.mark.parametrize("name", ["batch.sh", "calibrate.sh", "compare.sh"])
def test_what_the_service_refuses_is_told_by_the_shell_examples(service: Listening, tmp_path: Path, name: str) -> None:
    told = {**runs()[0], "labels": {"reward": 1}}
    (tmp_path / "told.jsonl").write_text(json.dumps(told) + "\n", encoding="utf-8")
    arguments = ["set", "nobody", "rules/process", "fake/always-4"] if name == "compare.sh" else ["told.jsonl"]
    process = begun(f"service/{name}", *arguments, folder=tmp_path, URL=service.url)
    _, err = process.communicate("", timeout=600)
    assert process.returncode != 0
    assert ("'nobody'" if name == "compare.sh" else "tells the answer: labels") in err
    assert "Traceback" not in err


def test_a_batch_over_http(service: Listening, traces: Path, tmp_path: Path) -> None:
    found = [
        json.loads(line) for line in example("service/batch.py", service.url, traces, folder=tmp_path).splitlines()
    ]
    assert {line["trajectory_id"]: line["score"] for line in found} == SCORES
    said = example("service/batch.sh", traces, folder=tmp_path, URL=service.url)
    assert "event: progress\n" in said
    assert "event: end\n" in said
    last = json.loads(said.splitlines()[-1])
    assert {verdict["trajectory_id"]: verdict["score"] for verdict in last["results"]} == SCORES
    assert last["next"] is None


def test_labels_calibration_and_comparison_over_http(service: Listening, traces: Path, tmp_path: Path) -> None:
    queue = {"id": "desk", "rubric": "process", "pass_mark": 4, "trajectories": runs()}
    request = urllib.request.Request(
        f"{service.url}/v1/queues", json.dumps(queue).encode(), {"Content-Type": "application/json"}
    )
    assert urllib.request.urlopen(request).status == 201
    table = tmp_path / "labels.csv"
    rows = [f"{id},{value},{rater},seen" for rater, values in RATERS.items() for id, value in values.items()]
    table.write_text("\n".join(["trajectory_id,value,rater,note", *rows]) + "\n", encoding="utf-8")
    exported = [
        json.loads(line)
        for line in example("service/labels.py", service.url, "desk", table, folder=tmp_path).splitlines()
    ]
    assert {(x["rater"], x["trajectory_id"]): x["value"] for x in exported} == {
        (rater, id): value for rater, values in RATERS.items() for id, value in values.items()
    }

    judges = service.service.judge_names()
    said = example("service/compare.sh", "queue", "desk", *judges, folder=tmp_path, URL=service.url)
    assert "certifies nobody" in said


def test_from_runs_to_a_decision_with_curl(service: Listening, traces: Path, tmp_path: Path) -> None:
    process = begun("service/calibrate.sh", traces, "mine", folder=tmp_path, URL=service.url)
    assert process.stdout is not None
    assert process.stdout.readline() == f"10 runs to label. Label at {service.url}/label/mine, then press Enter here.\n"
    for id, value in RATERS["ana"].items():
        service.service.queues.save("mine", Entry(trajectory_id=id, rater="ana", value=value))
    out, err = process.communicate("\n", timeout=600)
    assert process.returncode == 0, err
    assert out.splitlines()[:2] == ["state: done", "decision: undecided"]  # ten labels prove nothing
    assert len((tmp_path / "labels.jsonl").read_text().splitlines()) == 10
    nobody = example("service/calibrate.sh", traces, "empty", folder=tmp_path, URL=service.url)
    assert "state: failed" in nobody
    assert "has no label" in nobody


def test_every_example_is_run_here() -> None:
    there = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*") if path.suffix in (".py", ".sh")}
    text = Path(__file__).read_text(encoding="utf-8")
    assert there == set(re.findall(r'(?:example|begun)\("([^"]+)"', text))
