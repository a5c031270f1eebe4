"""A jury may be named wherever a judge may: score, batch, plan, calibrate, certify, compare, probe, run, serve."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from loopback import LoopbackServer, Received, Scripted, chat

from judge.calibration.sets import load_set
from judge.cli.main import run
from judge.config import Settings, load_settings
from judge.engine.batch import judge_batch
from judge.engine.calibrating import calibrate_set
from judge.engine.canary import check_certificate
from judge.engine.comparing import compare_set
from judge.engine.facade import budget_of, score, score_many
from judge.engine.judged_rate import Grader
from judge.engine.plan import plan
from judge.engine.probing import ProbeRuns
from judge.engine.vote_plan import plan_votes
from judge.errors import BudgetReached, FingerprintMismatch, TooFewLabels, TrustRequired, UsageError
from judge.types import Criterion, Rubric, Trajectory
from judge.types.calibration_set import SetCriterion
from judge.types.label import Label
from judge.types.suite import Case

CRITERION = Criterion(id="quality", question="Good?", scale={"type": "binary"}, evidence="none")  # type: ignore[arg-type]
RUBRIC = Rubric(id="own", version="1", title="Own", intent="To test.", criteria=(CRITERION,))
ITEM = re.compile(r"item-\d+")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "juries").mkdir()
    return tmp_path


def write_jury(name: str, **fields: Any) -> str:
    Path("juries", f"{name}.yaml").write_text(json.dumps(fields), encoding="utf-8")
    return f"jury/{name}"


def item(number: int) -> Trajectory:
    return Trajectory.from_json(
        {
            "schema": "judge.trajectory/1",
            "id": f"item-{number}",
            "source": {"format": "native"},
            "steps": [{"index": 1, "kind": "final", "text": f"the answer of item-{number}"}],
        }
    )


class Bench:
    """Models a, b and c behind one server; each passes the items that it is told to, and is counted."""

    def __init__(self, **passing: set[int]) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self.passing = passing
        self.server = LoopbackServer(self._serve)

    def _serve(self, received: Received) -> Scripted:
        found = ITEM.search(json.dumps(received.body["messages"]))
        assert found is not None
        name, model = found[0], received.body["model"]
        with self._lock:
            self.calls[model, name] += 1
        good = int(name.removeprefix("item-")) in self.passing[model]
        return chat(json.dumps({"reason": f"{model} says so", "score": "pass" if good else "fail"}))

    def settings(self, **flags: Any) -> Settings:
        prices = {"input_usd_per_million": 1000.0, "output_usd_per_million": 1000.0}
        values = {
            "providers": {"openai": {"base_url": f"{self.server.url}/v1"}},
            "models": {f"openai/{name}": prices for name in self.passing},
            "cache_dir": Path("cache"),
            "max_output_tokens": 100,
            **flags,
        }
        return load_settings(values, environment={}, folder=Path.cwd())

    def of(self, model: str) -> int:
        return sum(n for (name, _), n in self.calls.items() if name == model)

    def __enter__(self) -> Bench:
        self.server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.__exit__(*error)


MEMBERS = ["openai/a", "openai/b", "openai/c"]


def test_a_name_is_a_file_of_the_folder_of_juries_and_an_unknown_one_names_the_nearest(folder: Path) -> None:
    settings = Settings(cache_dir=folder / "cache")
    name = write_jury("bench", members=["fake/always-pass", "fake/always-pass2", "fake/always-fail"])
    with pytest.raises(UsageError, match=r"jury/bench"):
        score(item(1), RUBRIC, judge="jury/bensh", settings=settings)
    write_jury("bench", members=["rules/process", "fake/always-4", "fake/always-2"], rule="median")
    verdict = score(item(1), "process", judge=name, settings=settings)
    assert (verdict.judge, len(verdict.criteria[0].votes)) == ("jury/bench", 3)
    (folder / "elsewhere").mkdir()
    (folder / "juries" / "bench.yaml").rename(folder / "elsewhere" / "bench.yaml")
    moved = settings.model_copy(update={"juries": folder / "elsewhere"})
    assert score(item(1), "process", judge=name, settings=moved).judge == "jury/bench"
    with pytest.raises(UsageError, match="no jury is there"):
        score(item(1), RUBRIC, judge=name, settings=settings)


def test_a_criterion_that_does_not_apply_calls_no_reserve_and_no_further_seat(folder: Path) -> None:
    settings = Settings(cache_dir=folder / "cache", samples=1)
    silent = ["fake/always-not_applicable", "fake/na.yaml"]
    Path("na.yaml").write_text(json.dumps({"default": "not_applicable"}), encoding="utf-8")
    name = write_jury("na", members=[*silent, "fake/always-4"], seating="on_split", reserves=["fake/always-2"])
    verdict = score(item(1), "process", judge=name, settings=settings)
    assert (verdict.status, verdict.score, verdict.calls) == ("not_applicable", None, 2)
    name = write_jury("one", members=[silent[0], "fake/always-4", "fake/always-5"], reserves=["fake/always-2"])
    verdict = score(item(1), "process", judge=name, settings=settings.model_copy(update={"samples": 1}))
    assert [vote.score for vote in verdict.criteria[0].votes] == [None, 4, 5]  # nobody sits in for an answer


def test_a_jury_cannot_sit_on_a_jury(folder: Path) -> None:
    write_jury("inner", members=["fake/always-4", "fake/always-2"])
    name = write_jury("outer", members=["jury/inner", "fake/always-2"])
    with pytest.raises(UsageError, match="made of judges"):
        score(item(1), "process", judge=name, settings=Settings(cache_dir=folder / "cache"))


def test_a_batch_by_a_jury_is_resumed_and_calls_no_member_again(folder: Path) -> None:
    name = write_jury("bench", members=MEMBERS, seating="on_split")
    items = folder / "items.jsonl"
    items.write_text("\n".join(json.dumps(item(n).to_json()) for n in range(6)) + "\n", encoding="utf-8")
    with Bench(a={0, 1, 2}, b={0, 1}, c={2, 5}) as bench:
        first = judge_batch([items], RUBRIC, out="run", judge=name, limit=3, settings=bench.settings())
        assert (first.result.judge, first.result.items, first.error) == ("jury/bench", 3, None)
        assert (bench.of("a"), bench.of("b"), bench.of("c")) == (3, 3, 1)  # split on item-2 alone
        rest = judge_batch(
            [items], RUBRIC, out="run", judge=name, resume=True, new_input=True, settings=bench.settings()
        )
        assert (rest.result.kept, rest.result.judged) == (3, 3)
        assert (bench.of("a"), bench.of("b"), bench.of("c")) == (6, 6, 1)
        again = judge_batch([items], RUBRIC, out="other", judge=name, settings=bench.settings())
        assert (again.result.judged, sum(bench.calls.values())) == (6, 13)  # the cache holds every member's reply
    lines = [json.loads(line) for line in Path("run", "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {line["trajectory_id"]: line["score"] for line in lines} == {
        "item-0": 1, "item-1": 1, "item-2": 1, "item-3": 0, "item-4": 0, "item-5": 0,
    }  # fmt: skip
    changed = write_jury("bench", members=MEMBERS)
    with pytest.raises(FingerprintMismatch, match=r"jury\.seating"), Bench(a=set(), b=set(), c=set()) as bench:
        judge_batch([items], RUBRIC, out="run", judge=changed, resume=True, settings=bench.settings())


def test_one_cap_holds_for_all_members_together(folder: Path) -> None:
    name = write_jury("bench", members=MEMBERS)
    items = folder / "items.jsonl"
    items.write_text("\n".join(json.dumps(item(n).to_json()) for n in range(8)) + "\n", encoding="utf-8")
    with Bench(a={1}, b={1}, c={1}) as bench:
        priced = plan([item(0)], RUBRIC, judge=name, settings=bench.settings())
        assert priced.cost_high is not None
        cap = 1.5 * priced.cost_high
        outcome = judge_batch([items], RUBRIC, out="run", judge=name, settings=bench.settings(max_usd=cap))
        assert isinstance(outcome.error, BudgetReached)
        assert outcome.result.spend.known_usd <= cap
        # whole verdicts alone: no trajectory was paid for in part
        assert outcome.result.judged == bench.of("a") == bench.of("b") == bench.of("c") > 0
        with pytest.raises(BudgetReached):
            list(score_many([item(8), item(9)], RUBRIC, judge=name, settings=bench.settings(max_usd=cap / 10)))


def test_a_plan_prices_the_third_member_as_one_that_may_not_be_called(folder: Path) -> None:
    runs = [item(0), item(1)]
    with Bench(a=set(), b=set(), c=set()) as bench:
        settings = bench.settings()
        alone = {name: plan(runs, RUBRIC, judge=name, settings=settings) for name in MEMBERS}
        low = {name: alone[name].cost_low or 0.0 for name in MEMBERS}
        high = {name: alone[name].cost_high or 0.0 for name in MEMBERS}
        every = plan(runs, RUBRIC, judge=write_jury("all", members=MEMBERS), settings=settings)
        split = plan(runs, RUBRIC, judge=write_jury("split", members=MEMBERS, seating="on_split"), settings=settings)
        screen = plan(runs, RUBRIC, judge=write_jury("s", members=MEMBERS[:2], seating="screen"), settings=settings)
        assert bench.calls == {}
    assert (every.calls_low, every.calls_high) == (6, 6)
    assert (split.calls_low, split.calls_high) == (4, 6)
    assert (screen.calls_low, screen.calls_high) == (2, 4)
    assert split.cost_low == pytest.approx(low["openai/a"] + low["openai/b"])
    assert split.cost_high == pytest.approx(sum(high.values()))
    assert [seat.always for seat in split.seats] == [True, True, False]
    assert "openai/c (only when it is needed): 2 calls" in split.text()
    unpriced = settings.model_copy(update={"models": {}})
    assert plan(runs, RUBRIC, judge="jury/split", settings=unpriced).cost_high is None


def test_votes_of_a_jury_are_planned_from_its_members_samples(folder: Path) -> None:
    name = write_jury("bench", members=["fake/a.yaml", "fake/b.yaml", "fake/c.yaml"], seating="on_split")
    said = {"a": ["pass", "pass"], "b": ["pass", "fail"], "c": ["fail", "fail"]}
    for member, votes in said.items():
        Path(f"{member}.yaml").write_text(json.dumps({"trajectories": {f"item-{n}": votes for n in range(4)}}))
    what = ProbeRuns([item(n) for n in range(4)], "the test")
    made = plan_votes(what, RUBRIC, settings=Settings(cache_dir=folder / "cache"), judge=name, repeats=2)
    # first vote: pass, pass. second: pass, fail, and the third says fail → fails: the two votes always differ
    assert (made.judge, made.flip_rate.value, made.usd_per_vote) == ("jury/bench", 1.0, 0.0)


def test_a_certificate_binds_the_file_and_the_members_of_a_jury(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = {
        label.trajectory_id: label.value for label in load_set("refunds").labels if label.criterion == "passed_path"
    }
    script = {name: 5 if value in (1, "pass", True) else 1 for name, value in people.items()}
    for member in ("a", "b", "c"):
        Path(f"{member}.yaml").write_text(json.dumps({"trajectories": script, "default": 1}), encoding="utf-8")
    members = ["fake/a.yaml", "fake/b.yaml", "fake/c.yaml"]
    write_jury("bench", members=members, rule="median")
    command = ["calibrate", "refunds", "--judge", "jury/bench", "--criterion", "passed_path", "--profile", "advisory"]
    assert run([*command, "--json"]) == 0
    scope = json.loads(capsys.readouterr().out)["certificate"]["scope"]["judge"]
    assert (scope["name"], scope["jury"]["rule"]) == ("jury/bench", "median")
    assert [member["name"] for member in scope["members"]] == members
    settings = load_settings(environment={"XDG_CACHE_HOME": str(folder / "cache")}, folder=folder)
    before = score(item(1), "process", judge="jury/bench", settings=settings).fingerprints["judge"]
    write_jury("bench", members=members, rule="mean")
    other_rule = score(item(1), "process", judge="jury/bench", settings=settings).fingerprints["judge"]
    write_jury("bench", members=[*members[:2], "fake/always-2"], rule="median")
    other_member = score(item(1), "process", judge="jury/bench", settings=settings).fingerprints["judge"]
    assert len({before, other_rule, other_member}) == 3
    with pytest.raises(TrustRequired, match="jury/bench"):
        score(item(1), "process", judge="jury/bench", settings=settings, require_trust=True)


def test_probe_and_check_of_cases_take_a_jury(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_jury("bench", members=["rules/process", "fake/always-4", "fake/always-2"], rule="median")
    command = [
        "probe",
        "--judge",
        "jury/bench",
        "--rubric",
        "process",
        "--set",
        "refunds",
        "--limit",
        "2",
        "--kinds",
        "null",
    ]
    assert run([*command, "--json"]) in (0, 1, 3)
    assert json.loads(capsys.readouterr().out)["judge"] == "jury/bench"


def test_a_suite_is_graded_by_a_jury(folder: Path) -> None:
    write_jury("bench", members=["fake/always-5", "fake/always-4", "fake/always-2"], rule="median")
    settings = Settings(cache_dir=folder / "cache", certificates=folder / "certificates", judge="jury/bench")
    case = Case.model_validate({"id": "c1", "rubric": {"name": "process", "pass_mark": 4}})
    with closing(Grader(settings, folder)) as grader:
        judged = grader.judge(case, item(1))
    assert judged is not None
    assert (judged.judge, judged.score, judged.passed) == ("jury/bench", 4, True)


def test_a_canary_asks_the_jury_that_the_certificate_holds_and_not_todays_file(folder: Path) -> None:
    write_jury("bench", members=["fake/always-5", "fake/always-4", "fake/always-2"], rule="median")
    settings = Settings(cache_dir=folder / "cache", certificates=folder / "certificates", judge="jury/bench")
    now = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = calibrate_set("refunds", settings=settings, now=now, criterion="passed_path").certificate
    write_jury("bench", members=["fake/always-1", "fake/always-2"])
    found = check_certificate(certificate, folder / "certificates", settings=settings, now=now)
    assert (found.state, found.missing) == ("held", 0)
    changed = calibrate_set("refunds", settings=settings, now=now, criterion="passed_path").certificate
    assert changed.scope.judge.fingerprint != certificate.scope.judge.fingerprint


def test_one_cap_holds_for_all_judges_of_a_comparison(folder: Path) -> None:
    labels = tuple(
        Label(
            trajectory_id=f"item-{n}", criterion="quality", value=n % 2, rater="ann", rater_kind="human", split="test"
        )
        for n in range(4)
    )
    whole = load_set("refunds")
    asked = SetCriterion(id="quality", rubric="own", rubric_version="1")
    own = whole.model_copy(
        update={
            "settings": whole.settings.model_copy(update={"criteria": (asked,)}),
            "trajectories": tuple(item(n) for n in range(4)),
            "labels": labels,
        }
    )
    with Bench(a={1, 3}, b={1}) as bench:
        # only output is billed, and every reply is as long as it may be: two cents a call, eight calls
        prices = {"input_usd_per_million": 0.0, "output_usd_per_million": 1000.0}
        settings = bench.settings(models={"openai/a": prices, "openai/b": prices}, concurrency=1, max_output_tokens=20)
        with pytest.raises(BudgetReached, match=r"\$0\.1200 of \$0\.1300 is spent"):
            compare_set(
                own, ["openai/a", "openai/b"], rubrics=[RUBRIC], settings=settings.model_copy(update={"max_usd": 0.13})
            )
        assert (bench.of("a"), bench.of("b")) == (4, 2)
        settings = settings.model_copy(update={"max_usd": 1.0})
        budget = budget_of(settings)
        found = compare_set(own, ["openai/a", "openai/b"], rubrics=[RUBRIC], settings=settings, budget=budget)
        assert budget.spent == pytest.approx(0.04)  # six of the eight verdicts were kept
        assert [row.right.value for row in found.comparison.judges] == [1.0, 0.75]


def test_what_cannot_be_compared_is_refused_before_anybody_is_asked(folder: Path) -> None:
    with Bench(a={1}, b={1}) as bench:
        for judges, rubrics, said in (
            (["openai/a"], [], "two are needed"),
            (["openai/a", "openai/a"], [], "named twice"),
            (["openai/a", "openai/b"], ["grounded-answer"], "has no criterion 'process'"),
        ):
            with pytest.raises((UsageError, TooFewLabels), match=said):
                compare_set("refunds", judges, rubrics=rubrics, settings=bench.settings())
        assert not bench.calls
