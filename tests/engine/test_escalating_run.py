"""Doubtful verdicts go to a second judge or a person: who decides, what is kept of both, who pays, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from billing import ChatCompletions
from loopback import LoopbackServer

from judge.cli.main import run as command
from judge.config import Settings, load_settings
from judge.engine.batch import judge_batch
from judge.engine.facade import score_many
from judge.errors import BudgetReached, ConfigError, FingerprintMismatch, UsageError
from judge.report.verdicts import summary_text, verdict_text
from judge.store.jsonl import read_verdicts
from judge.types import Criterion, Rubric, Trajectory, Verdict
from judge.types.escalation import EscalationRules
from judge.voting import summarise

PASSED = Criterion(id="ok", question="Did it pass?", scale="binary", evidence="none")  # type: ignore[arg-type]
RUBRIC = Rubric(id="own", version="1", title="Own", intent="To test.", criteria=(PASSED,))
NO_AUDIT = {"audit": 1e-9}
SPLIT, CLEAN, FAILED = ["pass", "fail", "pass"], ["pass"] * 3, ["fail"] * 3

Make = Callable[..., str]


def run_of(name: str) -> Trajectory:
    return Trajectory.from_json({
        "schema": "judge.trajectory/1", "id": name, "source": {"format": "native"},
        "steps": [{"index": 1, "kind": "final", "text": f"answer {name}"}],
    })  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"samples": 3, "cache_dir": tmp_path / "cache"}, environment={}, folder=tmp_path)


@pytest.fixture
def scripted(tmp_path: Path) -> Make:
    """A judge with votes by trajectory."""

    def make(file: str, **by_id: list[Any]) -> str:
        path = tmp_path / file
        path.write_text(json.dumps({"trajectories": by_id}), encoding="utf-8")
        return f"fake/{path}"

    return make


def judged(first: str, settings: Settings, *to: str, names: str = "abc", **rules: Any) -> dict[str, Verdict]:
    escalate = EscalationRules(to=to, **{**NO_AUDIT, **rules})
    runs = [run_of(name) for name in names]
    found = list(score_many(runs, RUBRIC, judge=first, settings=settings, escalate=escalate))
    assert [verdict.trajectory_id for verdict in found] == list(names)
    return {verdict.trajectory_id: verdict for verdict in found}


def test_the_second_judge_decides_what_the_rules_send_on_and_nothing_else(settings: Settings, scripted: Make) -> None:
    first = scripted("first.json", a=CLEAN, b=SPLIT, c=FAILED)
    second = scripted("second.json", b=FAILED)  # its script has no other run: asking it for one would fail
    found = judged(first, settings, second)
    assert [(v.status, v.score) for v in found.values()] == [("ok", 1), ("ok", 0), ("ok", 0)]
    assert found["a"].escalation is None
    assert found["c"].escalation is None
    sent = found["b"].escalation
    assert sent is not None
    assert sent.to == second
    assert [(r.judge, r.score, r.reasons) for r in sent.results] == [(first, 1, ("split_votes",)), (second, 0, ())]
    assert [[vote.score for vote in r.criteria[0].votes] for r in sent.results] == [[1, 0, 1], [0, 0, 0]]
    assert (found["b"].judge, found["b"].calls) == (first, 6)
    assert found["b"].fingerprints["judge"] == found["a"].fingerprints["judge"] == sent.results[0].fingerprints["judge"]
    assert sent.results[1].fingerprints["judge"] != sent.results[0].fingerprints["judge"]


def test_what_goes_to_a_person_has_no_score_and_keeps_the_judges(settings: Settings, scripted: Make) -> None:
    found = judged(scripted("first.json", a=CLEAN, b=SPLIT, c=FAILED), settings, "person")
    waiting = found["b"]
    assert (waiting.status, waiting.score, waiting.criteria[0].score) == ("inconclusive", None, None)
    assert waiting.reason == "A person decides: the votes are split."
    assert waiting.escalation is not None
    assert (waiting.escalation.to, waiting.escalation.results[0].score) == ("person", 1)
    assert [found[name].score for name in "ac"] == [1, 0]
    shown = verdict_text(waiting)
    assert "decided by: person" in shown
    assert "sent on: 1 waiting for a person" in summary_text(summarise(found.values()))
    assert "pass; sent on: the votes are split" in shown


def test_a_second_judge_that_is_split_too_sends_on_to_a_person(settings: Settings, scripted: Make) -> None:
    first = scripted("first.json", a=SPLIT, b=SPLIT)
    second = scripted("second.json", a=["fail", "pass", "fail"], b=CLEAN)
    found = judged(first, settings, second, "person", names="ab")
    assert [verdict.escalation.to for verdict in found.values() if verdict.escalation] == ["person", second]
    assert [verdict.score for verdict in found.values()] == [None, 1]
    results = found["a"].escalation.results if found["a"].escalation else ()
    assert [result.score for result in results] == [1, 0]
    assert [result.reasons for result in results] == [("split_votes",), ("split_votes",)]


def test_a_screen_sends_every_pass_on_and_either_may_fail_it(settings: Settings, scripted: Make) -> None:
    first = scripted("first.json", a=CLEAN, b=CLEAN, c=FAILED)
    second = scripted("second.json", a=CLEAN, b=FAILED)
    found = judged(first, settings, second, mode="screen")
    assert [verdict.score for verdict in found.values()] == [1, 0, 0]
    assert [verdict.escalation is not None for verdict in found.values()] == [True, True, False]


def test_too_few_votes_on_its_side_send_a_verdict_on(settings: Settings, scripted: Make) -> None:
    settings = settings.model_copy(update={"samples": 5})
    votes = {"a": ["pass"] * 4 + ["unknown"], "b": ["pass"] * 5}  # 4 of 5 = .8, and 5 of 5
    first = scripted("first.json", **votes)
    found = judged(first, settings, "person", names="ab", least_confidence=0.81)
    assert [v.escalation.results[0].reasons if v.escalation else () for v in found.values()] == [
        ("low_confidence",), (),
    ]  # fmt: skip
    assert not any(v.escalation for v in judged(first, settings, "person", names="ab", least_confidence=0.8).values())


def test_the_audit_is_drawn_by_its_seed(settings: Settings) -> None:
    names = [f"t{n}" for n in range(200)]

    def drawn(**rules: Any) -> list[str]:
        escalate = EscalationRules(to=("person",), **rules)
        runs = [run_of(name) for name in names]
        found = score_many(runs, RUBRIC, judge="fake/always-pass", settings=settings, escalate=escalate)
        return [verdict.trajectory_id for verdict in found if verdict.escalation]

    first = drawn(audit=0.1, seed=1)
    assert first == drawn(audit=0.1, seed=1)
    assert first != drawn(audit=0.1, seed=2)
    assert 8 <= len(first) <= 34  # 20 expected, sd 4.2
    assert drawn(audit=1e-9) == []
    assert drawn(audit=1.0) == names


def test_a_verdict_without_a_score_is_judged_by_the_second(settings: Settings, scripted: Make) -> None:
    first = scripted("first.json", a=[{"error": 400, "message": "no"}] * 3)
    found = judged(first, settings, scripted("second.json", a=CLEAN), names="a")["a"]
    assert (found.status, found.score, found.errors) == ("ok", 1, ())
    assert found.escalation is not None
    assert found.escalation.results[0].errors
    alone = judged(first, settings, "person", names="a")["a"]
    assert (alone.status, alone.escalation is not None) == ("error", True)  # a failed call is to be redone, not marked


def test_both_judges_are_paid_from_one_cap(tmp_path: Path) -> None:
    """A call takes at most 1 cent, so a trajectory at most 2; a reply of 32 characters takes 8 tokens or .08 cents.

    Under 2.09 cents the first one fits. After its .16 cents one call would fit still, and a whole trajectory does not.
    """
    price = {"input_usd_per_million": 0.0, "output_usd_per_million": 100.0}
    names = ("openai/first", "openai/second")
    with LoopbackServer(ChatCompletions(1)) as server:
        settings = load_settings(
            {
                "samples": 1, "max_output_tokens": 100, "max_usd": 0.0209, "concurrency": 1, "cache": False,
                "cache_dir": tmp_path, "models": dict.fromkeys(names, price),
                "providers": {"openai": {"base_url": f"{server.url}/v1"}},
            },
            environment={}, folder=tmp_path,
        )  # fmt: skip
        scored = Criterion(id="q", question="Good?", scale={"min": 0, "max": 1, "step": 1}, evidence="none")  # type: ignore[arg-type]
        rubric = RUBRIC.model_copy(update={"criteria": (scored,)})
        rules = EscalationRules(to=("openai/second",), mode="screen", audit=1e-9)
        runs = [run_of(name) for name in "abc"]
        verdicts = score_many(runs, rubric, judge=names[0], settings=settings, escalate=rules)
        found: list[Verdict] = []
        with pytest.raises(BudgetReached, match="1 judged"):
            found.extend(verdicts)
        assert [received.body["model"] for received in server.requests] == ["first", "second"]
    (verdict,) = found
    assert (verdict.calls, verdict.cost_usd) == (2, pytest.approx(0.0016))


def test_a_cheap_judge_may_not_go_first_without_labels(settings: Settings, scripted: Make) -> None:
    with pytest.raises(UsageError, match="no labels show that its FAIL can stand") as caught:
        judged(scripted("first.json", a=CLEAN), settings, "fake/always-pass", names="a", mode="cheap_first")
    assert "--cheap-first" in (caught.value.hint or "")


def test_a_judge_is_not_sent_its_own_verdicts(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="sent on to 'fake/always-pass' itself"):
        judged("fake/always-pass", settings, "fake/always-pass", names="a")


@pytest.mark.parametrize("to", [("person", "a/b"), ("a/b", "c/d"), ("person", "person"), ("nobody",)])
def test_only_a_judge_then_a_person_can_be_sent_to(to: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"is not a judge|is neither"):
        EscalationRules(to=to)


@pytest.fixture
def files(tmp_path: Path, scripted: Make) -> dict[str, Path]:
    """Traces, a rubric and a judge.toml in a folder."""
    runs = tmp_path / "runs.jsonl"
    runs.write_text("".join(json.dumps(run_of(name).to_json()) + "\n" for name in "abc"), encoding="utf-8")
    rubric = tmp_path / "own.yaml"
    rubric.write_text(json.dumps(RUBRIC.to_json()), encoding="utf-8")
    return {"runs": runs, "rubric": rubric}


def test_the_command_writes_a_queue_for_people(
    files: dict[str, Path], scripted: Make, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge.toml").write_text("[escalate]\naudit = 1e-9\n", encoding="utf-8")
    first = scripted("first.json", a=CLEAN, b=SPLIT, c=FAILED)
    queue = tmp_path / "people.jsonl"
    code = command([
        "score", str(files["runs"]), "--rubric", str(files["rubric"]), "--judge", first, "--samples", "3",
        "--escalate-to", "person", "--escalate-queue", str(queue), "--json",
    ])  # fmt: skip
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [row["score"] for row in document["results"]] == [1, None, 0]
    assert (document["summary"]["scored"], document["summary"]["inconclusive"]) == (2, 1)
    (waiting,) = read_verdicts(queue).verdicts
    assert waiting.trajectory_id == "b"
    assert waiting.escalation is not None
    assert command(["score", str(files["runs"]), "--judge", first, "--escalate-queue", "q.jsonl"]) == 2
    assert "without --escalate-to" in capsys.readouterr().err


def test_a_batch_sends_on_and_its_rules_are_part_of_the_run(
    files: dict[str, Path], settings: Settings, scripted: Make, tmp_path: Path
) -> None:
    first = scripted("first.json", a=CLEAN, b=SPLIT, c=FAILED)
    second = scripted("second.json", b=["fail", "pass", "fail"])
    rules = EscalationRules(to=(second, "person"), audit=1e-9)
    chosen = settings.model_copy(update={"escalate": rules})
    folder = tmp_path / "run"
    outcome = judge_batch([files["runs"]], files["rubric"], out=folder, judge=first, settings=chosen)
    assert outcome.error is None
    assert (outcome.result.summary.scored, outcome.result.summary.inconclusive) == (2, 1)
    (waiting,) = read_verdicts(folder / "people.jsonl").verdicts
    assert waiting.escalation is not None
    assert [result.judge for result in waiting.escalation.results] == [first, second]
    again = judge_batch([files["runs"]], files["rubric"], out=folder, judge=first, settings=chosen, resume=True)
    assert (again.result.judged, again.result.kept) == (0, 3)
    changed = settings.model_copy(update={"escalate": rules.model_copy(update={"near": 0.2})})
    with pytest.raises(FingerprintMismatch, match="escalation"):
        judge_batch([files["runs"]], files["rubric"], out=folder, judge=first, settings=changed, resume=True)


def test_a_batch_api_asks_one_judge_only(files: dict[str, Path], settings: Settings, tmp_path: Path) -> None:
    chosen = settings.model_copy(update={"escalate": EscalationRules(to=("person",))})
    with pytest.raises(UsageError, match="the engine provider-batch asks one judge"):
        judge_batch(
            [files["runs"]], files["rubric"], out=tmp_path / "run", judge="openai/m", settings=chosen,
            engine="provider-batch",
        )  # fmt: skip
