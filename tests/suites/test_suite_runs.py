"""A suite over traces and over an agent: what counts, what does not, and what stops it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from suite_records import recorded

from judge.cli.main import run as judge
from judge.engine.path_drift import path_agreement, sequence_agreement
from judge.engine.suite import SuiteRun, run_agents, run_traces
from judge.errors import UsageError

SuiteOf = Callable[..., SuiteRun]
REWARDS = "suite: s\nattempts: 4\ncases:\n  - {id: one, outcome: reward}\n  - {id: two, outcome: reward}\n"


def attempts(case: str, rewards: list[float | None]) -> list[Any]:
    return [recorded([], id=f"{case}-{n}", group=case, labels={"reward": r}) for n, r in enumerate(rewards, 1)]


def test_pass_rates_are_the_unbiased_estimates_by_hand(suite_of: SuiteOf) -> None:
    result = run_traces(suite_of(REWARDS), [*attempts("one", [1, 1, 1, 0]), *attempts("two", [1, 0, 0, 0])])
    summary = result.summary
    # one: C(3,k)/C(4,k) = .75 .5 .25 0; two: .25 0 0 0
    assert summary.pass_hat_k == pytest.approx({"1": 0.5, "2": 0.25, "3": 0.125, "4": 0.0})
    # one: 1-C(1,k)/C(4,k) = .75 1 1 1; two: 1-C(3,k)/C(4,k) = .25 .5 .75 1
    assert summary.pass_at_k == pytest.approx({"1": 0.5, "2": 0.75, "3": 0.875, "4": 1.0})
    assert (summary.pass_rate.value, summary.pass_rate.clusters) == (0.5, 2)
    assert [case.status for case in result.cases] == ["flaky", "flaky"]
    # Wilson for 3 of 4: centre (0.75 + 3.8415/8) / (1 + 3.8415/4) = 0.62755, half-width 0.32691
    assert (result.cases[0].pass_rate.low, result.cases[0].pass_rate.high) == pytest.approx(
        (0.30064, 0.95446), abs=1e-4
    )


def test_an_attempt_without_a_reward_is_unmeasured_and_in_no_number(suite_of: SuiteOf) -> None:
    result = run_traces(suite_of(REWARDS), [*attempts("one", [1, None]), *attempts("two", [None])])
    one, two = result.cases
    assert (one.status, one.pass_hat_k) == ("passed", {"1": 1.0})
    assert (two.status, two.pass_rate.value, two.pass_rate.reason) == (
        "unmeasured",
        None,
        "not measured: labels.reward is None, a number was needed",
    )
    assert (result.summary.unmeasured, result.summary.pass_rate.n, result.summary.k_cases) == (2, 1, {"1": 1})


def test_a_case_without_a_trace_is_not_run_and_no_zero(suite_of: SuiteOf) -> None:
    result = run_traces(suite_of(REWARDS), attempts("one", [1, 1, 1, 1]))
    assert (result.cases[1].status, result.cases[1].pass_rate.value) == ("not_run", None)
    assert result.summary.pass_hat_k["4"] == 1.0
    assert result.summary.k_cases["4"] == 1


def test_traces_of_no_case_and_surplus_attempts_are_counted(suite_of: SuiteOf) -> None:
    runs = [*attempts("one", [1] * 5), *attempts("other", [1])]
    summary = run_traces(suite_of(REWARDS), runs).summary
    assert (summary.attempts, summary.unmatched) == (4, 1)
    assert any("more attempts than the cases want" in text for text in summary.warnings)


def test_the_same_trajectory_twice_is_refused(suite_of: SuiteOf) -> None:
    with pytest.raises(UsageError, match="would count twice"):
        run_traces(suite_of(REWARDS), [*attempts("one", [1]), *attempts("one", [1])])


PATH = """\
suite: s
cases:
  - id: one
    answer: {number: 288}
    trajectory: {must_call: [look], must_not_call: [refund], max_steps: 6, max_usd: 0.25, finish_status: blocked}
    invariants: [no_repeats]
"""


@pytest.mark.parametrize(
    ("calls", "options", "failed"),
    [
        ([("look", {}, 1)], {}, []),
        ([("look", {}, Exception("down"))], {}, ["path:must_call:look"]),
        ([("look", {}, 1), ("refund", {}, Exception("blocked"))], {}, ["path:must_not_call:refund"]),
        ([("look", {}, 1), ("look", {}, 1)], {}, ["path:no_repeats"]),
        ([("look", {"n": n}, 1) for n in range(3)], {}, ["path:max_steps"]),
        ([("look", {}, 1)], {"cost": 0.26}, ["path:max_usd"]),
        ([("look", {}, 1)], {"status": "refunded"}, ["path:finish_status"]),
        ([("look", {}, 1)], {"answer": "576 USD"}, ["answer"]),
    ],
)
def test_each_limit_fails_by_its_own_name(
    suite_of: SuiteOf, calls: list[Any], options: dict[str, Any], failed: list[str]
) -> None:
    trace = recorded(calls, **{"answer": "288 USD", "status": "blocked", "cost": 0.2, **options})
    (attempt,) = run_traces(suite_of(PATH), [trace]).cases[0].attempts
    assert [check.id for check in attempt.checks if check.status == "failed"] == failed
    assert attempt.status == ("failed" if failed else "passed")


def test_an_unknown_cost_leaves_its_limit_unmeasured(suite_of: SuiteOf) -> None:
    trace = recorded([("look", {}, 1)], "288 USD", status="blocked")
    (attempt,) = run_traces(suite_of(PATH), [trace]).cases[0].attempts
    assert (attempt.status, attempt.path) == ("unmeasured", None)


def test_right_outcome_on_a_wrong_path_is_counted_apart_from_the_reverse(suite_of: SuiteOf) -> None:
    text = "suite: s\nattempts: 2\ncases:\n  - {id: one, outcome: reward, trajectory: {must_call: [look]}}\n"
    lucky = recorded([], id="a", labels={"reward": 1})
    unlucky = recorded([("look", {}, 1)], id="b", labels={"reward": 0})
    summary = run_traces(suite_of(text), [lucky, unlucky]).summary
    assert (summary.outcome_right_path_wrong, summary.outcome_wrong_path_right, summary.attempts_passed) == (1, 1, 0)


def test_what_was_left_behind_is_read_from_the_runs_own_folder(suite_of: SuiteOf, tmp_path: Path) -> None:
    text = "suite: s\nattempts: 2\ncases:\n  - {id: one, outcome: [{file: {path: a.txt, contains: yes_it_is}}]}\n"
    (tmp_path / "left" / "a").mkdir(parents=True)
    (tmp_path / "left" / "a" / "a.txt").write_text("yes_it_is", encoding="utf-8")
    runs = [recorded([], id="a"), recorded([], id="b")]
    folders = {"a": tmp_path / "left" / "a"}
    first, second = run_traces(suite_of(text), runs, left=folders.get).cases[0].attempts
    assert (first.status, second.status) == ("passed", "unmeasured")


def test_cases_for_holdout_stay_out_unless_asked_for(suite_of: SuiteOf) -> None:
    text = "suite: s\ncases:\n  - {id: one, outcome: reward}\n  - {id: two, outcome: reward, split: holdout}\n"
    assert [case.id for case in suite_of(text).cases()] == ["one"]
    assert [case.id for case in suite_of(text, split="holdout").cases()] == ["two"]
    assert [case.id for case in suite_of(text, split="all").cases()] == ["one", "two"]


def test_a_suite_without_hostile_or_impossible_cases_is_warned_about(suite_of: SuiteOf) -> None:
    tagged = "suite: s\ncases:\n  - {id: one, outcome: reward, tags: [hostile, impossible, out-of-scope]}\n"
    assert not run_traces(suite_of(tagged), attempts("one", [1])).summary.warnings
    warned = run_traces(suite_of(REWARDS), attempts("one", [1])).summary.warnings[0]
    assert warned.startswith("No case is tagged impossible or out-of-scope or hostile")


def test_agreement_of_paths_is_by_hand_and_one_repeat_is_unmeasured() -> None:
    assert sequence_agreement("abcd", "abxd") == 0.75  # one of four replaced
    assert sequence_agreement("ab", "") == 0.0
    assert sequence_agreement("", "") == 1.0
    # pairs: ab/ab 1, ab/ax .5, ab/ax .5
    assert path_agreement(["ab", "ab", "ax"]).value == pytest.approx(2 / 3)
    assert path_agreement(["ab"]).value is None
    assert path_agreement(["ab"]).reason == "1 attempt: agreement over repeats needs two"


AGENTS = """
import json, os, subprocess, sys, time
from pathlib import Path

def run(task, cost=0.02):
    seen = sorted(os.listdir("."))
    Path("mark.txt").write_text(task.case)
    steps = [{"index": 1, "kind": "tool_call", "name": "look", "arguments": {"seen": seen}},
             {"index": 2, "kind": "final", "text": "done"}]
    return {"id": "x", "source": {"format": "native"}, "steps": steps, "final": "done", "usage": {"cost_usd": cost}}

def free(task):
    made = run(task)
    del made["usage"]
    return made

HOLDS = '''
import fcntl, time
with open("held", "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("held", flush=True)
    time.sleep(600)
'''

def slow(task):
    child = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE)
    child.stdout.readline()
    Path("began").write_text("")
    time.sleep(600)

def raises(task):
    raise ValueError(f"attempt {task.attempt}")

def exits(task):
    os._exit(7)

def nothing(task):
    return {"steps": "none"}

def chat(task):
    (Path(task.folder) / "mark.txt").write_text(task.case)
    return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]

def chatter(task):
    return [1, 2]
"""
AGENT_SUITE = """\
suite: s
attempts: 2
seconds: 300
cases:
  - {id: one, fixture: fixture, task: t, outcome: [{file: {path: mark.txt, equals: one}}]}
  - {id: two, fixture: fixture, task: t, outcome: [{file: {path: mark.txt, equals: two}}]}
"""


@pytest.fixture
def agent_suite(suite_of: SuiteOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SuiteOf:
    (tmp_path / "fixture").mkdir()
    (tmp_path / "fixture" / "start.txt").write_text("start", encoding="utf-8")
    (tmp_path / "my_agents.py").write_text(AGENTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def made(text: str = AGENT_SUITE, **options: Any) -> SuiteRun:
        return suite_of(text, **options)

    return made


def test_every_attempt_has_a_copy_of_the_fixture_of_its_own(agent_suite: SuiteOf, tmp_path: Path) -> None:
    kept: list[Any] = []
    result = run_agents(agent_suite(), "my_agents:run", out=tmp_path / "out", keep=kept.append)
    assert (result.summary.attempts_passed, result.summary.spent_usd) == (4, pytest.approx(0.08))
    assert [run.id for run in kept] == ["one-1", "one-2", "two-1", "two-2"]
    assert {tuple(run.steps[0].arguments["seen"]) for run in kept} == {("start.txt",)}
    assert sorted(path.name for path in (tmp_path / "fixture").iterdir()) == ["start.txt"]


def test_no_new_case_begins_once_the_budget_is_spent(agent_suite: SuiteOf, tmp_path: Path) -> None:
    result = run_agents(agent_suite(max_usd=0.03), "my_agents:run", out=tmp_path / "out")
    assert (result.summary.not_run, result.summary.attempts) == (("two",), 2)
    assert [case.status for case in result.cases] == ["passed", "not_run"]


def test_a_budget_with_an_unknown_cost_stops_too(agent_suite: SuiteOf, tmp_path: Path) -> None:
    result = run_agents(agent_suite(max_usd=9.0), "my_agents:free", out=tmp_path / "out")
    assert result.summary.not_run == ("two",)
    assert "cost of an attempt is unknown" in result.cases[1].reason
    assert run_agents(agent_suite(), "my_agents:free", out=tmp_path / "again").summary.not_run == ()


@pytest.mark.parametrize(
    ("agent", "status", "reason"),
    [
        ("raises", "crashed", "ValueError: attempt 1"),
        ("exits", "crashed", "its process ended with 7"),
        ("nothing", "no_trajectory", "it returned no trajectory"),
        ("chatter", "no_trajectory", "it returned no trajectory"),
    ],
)
def test_an_agent_that_fails_is_a_status_and_a_failed_attempt(
    agent_suite: SuiteOf, tmp_path: Path, agent: str, status: str, reason: str
) -> None:
    result = run_agents(agent_suite(attempts=1), f"my_agents:{agent}", out=tmp_path / "out")
    (attempt,) = result.cases[0].attempts
    assert (attempt.status, reason in attempt.reason) == (status, True)
    assert (result.cases[0].pass_rate.value, result.summary.failures) == (0.0, {status: 2})


def test_an_agent_may_return_chat_messages(agent_suite: SuiteOf, tmp_path: Path) -> None:
    kept: list[Any] = []
    result = run_agents(agent_suite(attempts=1), "my_agents:chat", out=tmp_path / "out", keep=kept.append)
    assert [case.status for case in result.cases] == ["passed", "passed"]
    assert [(run.id, run.group, run.source.format) for run in kept] == [
        ("one-1", "one", "openai-chat"),
        ("two-1", "two", "openai-chat"),
    ]
    assert result.summary.path_agreement.reason == "no case has two attempts with a trajectory"


def test_a_run_that_cannot_begin_leaves_nothing_that_stops_the_next(agent_suite: SuiteOf, tmp_path: Path) -> None:
    agent_suite()
    assert judge(["run", "cases.yaml", "--agent", "my_agents:absent", "--out", "kept"]) == 2
    assert list(Path("kept").iterdir()) == []
    agent_suite(AGENT_SUITE + "policy: rules.yaml\n")
    Path("rules.yaml").write_text("id: p\nversion: '1'\nchecks:\n  - {id: a, befor: x}\n", encoding="utf-8")
    assert judge(["run", "cases.yaml", "--agent", "my_agents:run", "--out", "other"]) == 2
    assert not Path("other").exists()


@pytest.mark.parametrize("agent", ["run", "my_agents:absent", "no_such_agents_here:run"])
def test_an_agent_that_is_not_there_is_an_error_and_no_failed_attempt(
    agent_suite: SuiteOf, tmp_path: Path, agent: str
) -> None:
    with pytest.raises(UsageError, match=agent.rpartition(":")[2]):
        run_agents(agent_suite(), agent, out=tmp_path / "out")


def test_an_agent_that_hangs_is_ended_with_its_children(agent_suite: SuiteOf, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="no file locks of this kind here")

    def locked(file: Any) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    text = AGENT_SUITE.replace("seconds: 300", "seconds: 2").replace("attempts: 2", "attempts: 1")
    result = run_agents(agent_suite(text), "my_agents:slow", out=tmp_path / "out")
    assert {attempt.status for case in result.cases for attempt in case.attempts} == {"timeout"}
    end = time.monotonic() + 120
    for began in (tmp_path / "out").rglob("began"):
        with (began.parent / "held").open("a") as file:
            while not locked(file):  # by the child, until it ends
                assert time.monotonic() < end, "a child of the agent lives on"
                time.sleep(0.05)


def test_the_command_keeps_its_work_and_says_what_the_exit_means(
    agent_suite: SuiteOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent_suite()
    arguments = ["run", "cases.yaml", "--agent", "my_agents:run", "-k", "1"]
    assert judge([*arguments, "--out", "kept", "--labels-out", "labels.jsonl", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["summary"]["pass_hat_k"], len(document["cases"])) == ({"1": 1.0}, 2)
    assert judge(["run", "cases.yaml", "--traces", "kept", "-k", "1"]) == 0
    labels = [json.loads(line) for line in Path("labels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(label["criterion"], label["value"], label["rater_kind"]) for label in labels} == {
        ("passed_outcome", 1.0, "policy"),
        ("passed_case", 1.0, "policy"),
    }
    assert judge([*arguments, "--out", "kept"]) == 2  # the folder holds an earlier run
    assert judge([*arguments, "--out", "cut", "--max-usd", "0.01"]) == 5
    assert len((tmp_path / "cut" / "traces.jsonl").read_text(encoding="utf-8").splitlines()) == 1
    assert (tmp_path / "cut" / "result.json").is_file()


@pytest.mark.parametrize(("least", "code"), [("0.5", 0), ("0.51", 1)])
def test_the_least_pass_rate_decides_the_exit(suite_of: SuiteOf, tmp_path: Path, least: str, code: int) -> None:
    suite_of("suite: s\nattempts: 2\ncases:\n  - {id: one, outcome: reward}\n")
    lines = [json.dumps(run.to_json()) for run in attempts("one", [1, 0])]
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = ["run", str(tmp_path / "cases.yaml"), "--traces", str(tmp_path / "t.jsonl"), "--min-pass", least]
    assert judge(arguments) == code


@pytest.mark.parametrize("extra", [[], ["--traces", "a", "--agent", "b:c"], ["--agent", "b:c", "--split", "test"]])
def test_options_that_do_not_fit_are_a_usage_error(suite_of: SuiteOf, tmp_path: Path, extra: list[str]) -> None:
    suite_of(REWARDS)
    assert judge(["run", str(tmp_path / "cases.yaml"), *extra]) == 2


def test_a_case_that_nothing_measured_leaves_the_run_undecided(suite_of: SuiteOf, tmp_path: Path) -> None:
    suite_of(REWARDS)
    lines = [json.dumps(run.to_json()) for run in [*attempts("one", [1]), *attempts("two", [None])]]
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert judge(["run", str(tmp_path / "cases.yaml"), "--traces", str(tmp_path / "t.jsonl")]) == 3
