"""`judge label`: one command from a set to a set with labels of people, that a judge can be calibrated on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest
import yaml
from held_judge import PATIENCE_S
from service_runs import runs

import judge
from judge.calibration.sets import load_set
from judge.cli.main import run as judge_command
from judge.errors import LabelError, UnknownName, UsageError
from judge.server.label_task import LabelTask, labelled_set, open_queue, read_task
from judge.store.database import open_database, sqlite_url
from judge.store.label_queue import Entry, LabelQueues
from judge.store.set_folder import write_set

SHIPPED = "docs_search"


class Labelling:
    """The command, running; and a browser of which only forms are known."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "judge.cli.main", "label", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=self._environment()
        )
        assert self.process.stderr is not None
        self.said = ""
        while "http://" not in self.said:
            line = self.process.stderr.readline()
            assert line, self.said
            self.said += line
        self.url = re.findall(r"http://\S+", self.said)[0]
        self.site = self.url.partition("/enter")[0]
        self._browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    @staticmethod
    def _environment() -> dict[str, str]:
        import os

        root = str(Path(judge.__file__).parents[1])
        return {**os.environ, "PYTHONPATH": root}

    def page(self, url: str, **form: str) -> str:
        data = urllib.parse.urlencode(form).encode() if form else None
        with self._browser.open(urllib.request.Request(url, data=data), timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())

    def label(self, page: str, value: float) -> str:
        """Answers the run on a page; returns the next page."""
        form = {name: re.search(rf'name="{name}" value="([^"]*)"', page) for name in ("csrf", "item")}
        given = {name: found[1] for name, found in form.items() if found}
        action = re.search(r'action="(/label/[^"]*)"', page)
        assert action is not None
        return self.page(self.site + action[1], value=str(value), **given)

    def end(self) -> str:
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, err
        return out


def test_from_a_set_to_a_set_with_labels_of_people(tmp_path: Path) -> None:
    session = Labelling(tmp_path, SHIPPED, "--rater", "ana", "-n", "6", "--seed", "3", "--json")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{session.site}/v1/rubrics", timeout=PATIENCE_S)
    assert "API key of the role label" in session.page(f"{session.site}/label")
    page = session.page(session.url)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(session.url, timeout=PATIENCE_S)  # a ticket opens one session
    ids = {run.id for run in load_set(SHIPPED).trajectories}
    for k in range(3):
        body = page.partition("<section")[2].partition("</section")[0]
        assert f"Run {k + 1} of 6" in body
        assert not [id for id in ids if id in body]  # ids of this set tell the fault
        page = session.label(page, 5 if k else 2)
    assert json.loads(session.end()) == {
        "out": "docs_search-labelled",
        "queue": "docs_search-process",
        "labels": {"ana": 3},
    }

    made = load_set(tmp_path / "docs_search-labelled")
    assert made.settings.label_kinds_allowed == ("human",)
    assert made.settings.sampling_design == "constructed"
    assert {(label.criterion, label.rater, label.rater_kind) for label in made.labels} == {
        ("process", "ana", "human"), ("passed_path", "ana", "human"),
    }  # fmt: skip
    # Pass mark 4: 2 fails, 5 and 5 pass.
    assert sorted(x.value for x in made.labels if x.criterion == "passed_path") == [0.0, 1.0, 1.0]
    assert {x.inclusion_probability for x in made.labels} == {6 / len(ids)}

    again = Labelling(tmp_path, SHIPPED, "--rater", "ana")
    assert "6 runs in random order, 3 labelled by ana" in again.said
    again.label(again.page(again.url), 4)
    assert "4 by ana" in again.end()
    assert len(load_set(tmp_path / "docs_search-labelled").labels) == 8


def labelled(task: LabelTask, folder: Path, values: dict[str, float], rater: str = "ana") -> LabelQueues:
    folder.mkdir(exist_ok=True)
    queues = LabelQueues(open_database(sqlite_url(folder / "d.sqlite")))
    open_queue(queues, task, {})
    for id, value in values.items():
        queues.save(task.queue, Entry(trajectory_id=id, rater=rater, value=value))
    return queues


def test_a_judge_is_calibrated_on_the_written_set_and_splits_stay(tmp_path: Path) -> None:
    task = read_task(SHIPPED)
    shipped = load_set(SHIPPED)
    truth = {label.trajectory_id: float(label.value or 0) for label in shipped.labels if label.criterion == "process"}
    queues = labelled(task, tmp_path / "data", truth)
    made = labelled_set(queues, task, "mine")
    assert made.splits() == shipped.splits()
    passed = {x.trajectory_id: x.value for x in shipped.labels if x.criterion == "passed_path"}
    assert {x.trajectory_id: x.value for x in made.labels if x.criterion == "passed_path"} == passed
    write_set(tmp_path / "mine", made)
    found = judge.calibrate(tmp_path / "mine", judge="rules/process", cache=False)
    assert found.report.label_set == "mine"
    assert found.certificate.scope.label_kinds == ("human",)


@pytest.mark.parametrize(
    ("own", "order", "design"),
    [
        ("constructed", "random", "constructed"),
        ("constructed", "uncertainty", "constructed"),
        ("unknown", "stratified", "unknown"),
        ("random", "random", "random"),
        ("random", "uncertainty", "by_verdict"),
        ("class_balanced", "uncertainty", "unknown"),
    ],
)
def test_a_draw_never_makes_a_set_stand_for_more_than_it_did(tmp_path: Path, own: str, order: str, design: str) -> None:
    task = read_task(SHIPPED)
    assert task.settings is not None
    task = task.model_copy(update={"settings": task.settings.model_copy(update={"sampling_design": own})})
    (tmp_path / "data").mkdir()
    queues = LabelQueues(open_database(sqlite_url(tmp_path / "data" / "d.sqlite")))
    verdict = judge.score(task.runs[0], judge="rules/process", cache=False)
    verdicts = {} if order == "random" else {run.id: verdict for run in task.runs}
    open_queue(queues, task, verdicts, order=order, n=20)  # type: ignore[arg-type]
    first = next(queues.items(task.queue)).trajectory.id
    queues.save(task.queue, Entry(trajectory_id=first, rater="ana", value=4))
    assert labelled_set(queues, task, "mine").settings.sampling_design == design


def test_traces_become_a_set(tmp_path: Path) -> None:
    traces = tmp_path / "My runs.jsonl"
    traces.write_text("".join(json.dumps(run) + "\n" for run in runs(4)), encoding="utf-8")
    task = read_task(traces, pass_mark=4)
    assert (task.name, task.queue) == ("my-runs", "my-runs-process")
    queues = labelled(task, tmp_path / "data", {"run-1": 5, "run-2": 1})
    write_set(tmp_path / "my-set", labelled_set(queues, task, "my-set"))
    made = load_set(tmp_path / "my-set")
    assert [criterion.id for criterion in made.settings.criteria] == ["process", "passed_process"]
    assert {label.trajectory_id for label in made.labels} == {"run-1", "run-2"}
    with pytest.raises(UsageError, match="not on the scale"):
        read_task(traces, pass_mark=9)


def test_a_set_without_labels_yet_is_where_a_newcomer_begins(tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    (folder / "trajectories.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs(3)), encoding="utf-8")
    settings: dict[str, Any] = {
        "name": "fresh", "title": "Refunds", "sampling_design": "random", "licence": "none",
        "criteria": [{"id": "passed", "rubric": "process", "scale": "binary", "judged_by": "process", "pass_mark": 4}],
    }  # fmt: skip
    (folder / "set.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    task = read_task(folder)
    assert (task.criterion.id, task.pass_mark, len(task.runs)) == ("process", 4, 3)
    made = labelled_set(labelled(task, tmp_path / "data", {"run-1": 4, "run-3": 3}), task, "out")
    assert [(x.trajectory_id, x.criterion, x.value) for x in made.labels] == [
        ("run-1", "passed", 1.0), ("run-3", "passed", 0.0),
    ]  # fmt: skip
    with pytest.raises(UnknownName):
        read_task(folder, criterion="process")


def test_labels_are_not_overwritten_and_a_changed_question_is_another_task(tmp_path: Path) -> None:
    task = read_task(SHIPPED)
    first, second = task.runs[0].id, task.runs[1].id
    write_set(tmp_path / "mine", labelled_set(labelled(task, tmp_path / "a", {first: 4}), task, "mine"))
    others = labelled_set(labelled(task, tmp_path / "b", {second: 4}, "ben"), task, "mine")
    with pytest.raises(UsageError, match=r"label of 'ana' on .* would be lost"):
        write_set(tmp_path / "mine", others)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "diary.txt").write_text("x")
    with pytest.raises(UsageError, match="no calibration set"):
        write_set(tmp_path / "other", others)

    queues = labelled(task, tmp_path / "a", {})
    with pytest.raises(UsageError, match="another draw"):
        open_queue(queues, task, {}, n=5)
    with pytest.raises(UsageError, match="runs that are not there"):
        open_queue(queues, task.model_copy(update={"runs": task.runs[1:]}), {})
    with pytest.raises(UsageError, match="another question"):
        open_queue(queues, task.model_copy(update={"pass_mark": 3.0}), {})
    older = task.rubric.model_copy(update={"version": "0"})
    path = tmp_path / "older.yaml"
    path.write_text(yaml.safe_dump(older.to_json(), sort_keys=False), encoding="utf-8")
    with pytest.raises(LabelError, match="version '1'"):
        read_task(SHIPPED, rubric=path)


def test_what_the_command_refuses(tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert judge_command(["label", SHIPPED, "--rater", "ana", "--export"]) == 2
    assert "There is no label" in capsys.readouterr().err
    assert judge_command(["label", SHIPPED, "--rater", "ana", "--order", "uncertainty"]) == 2
    assert "needs a judge's verdicts" in capsys.readouterr().err
    assert judge_command(["label", "no-such-set", "--rater", "ana"]) == 2
    assert judge_command(["label", SHIPPED, "--rater", "a name"]) == 2
    assert "cannot be a name" in capsys.readouterr().err
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("x")
    assert judge_command(["label", SHIPPED, "--rater", "ana", "--out", "docs"]) == 2
    assert "no calibration set" in capsys.readouterr().err
