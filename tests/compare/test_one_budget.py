"""One piece of work in several phases is paid from one budget: a bill that was never told stays counted in the next.

And what was never asked for has no price.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from loopback import LoopbackServer, Received, Scripted, chat

from judge.calibration.sets import load_set
from judge.config import Settings, load_settings
from judge.engine.calibrating import calibrate_set, judge_set
from judge.engine.comparing import compare_set
from judge.engine.facade import budget_of
from judge.engine.jury_weights import learn_weights
from judge.engine.pairing import pairs_of
from judge.engine.pairwise import judge_pairs
from judge.engine.rubric_edit import propose
from judge.errors import BudgetReached
from judge.prompt.rubric_edit import Disagreement
from judge.types import Criterion, Rubric, Trajectory
from judge.types.calibration_set import CalibrationSet, SetCriterion
from judge.types.jury import Jury
from judge.types.label import Label, Split
from judge.types.rubric import ViewSettings

CRITERION = Criterion(id="quality", question="Good?", scale={"type": "binary"}, evidence="none")  # type: ignore[arg-type]
RUBRIC = Rubric(id="own", version="1", title="Own", intent="To test.", criteria=(CRITERION,))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = json.dumps({"reason": "It is so.", "score": "pass"})
HALF = Scripted(200, '{"choices": [{"mess', {"content-type": "application/json"})
"""What may have been billed, at a price that nobody told."""


def own_set(split: Split = "test", *, runs: int = 4) -> CalibrationSet:
    whole = load_set("refunds")
    asked = SetCriterion(id="quality", rubric="own", rubric_version="1")
    items = tuple(
        Trajectory.from_json(
            {
                "schema": "judge.trajectory/1",
                "id": f"item-{n}",
                "source": {"format": "native"},
                "steps": [{"index": 1, "kind": "final", "text": f"the answer of item-{n}"}],
            }
        )
        for n in range(runs)
    )
    labels = tuple(
        Label(trajectory_id=f"item-{n}", criterion="quality", value=n % 2, rater="ann", rater_kind="human", split=split)
        for n in range(runs)
    )
    settings = whole.settings.model_copy(update={"criteria": (asked,)})
    return whole.model_copy(update={"settings": settings, "trajectories": items, "labels": labels})


@contextmanager
def two_models(tmp_path: Path) -> Iterator[tuple[Counter[str], Callable[[float], Settings]]]:
    """Calls by model, and settings under a cap. Model a breaks off, model b answers; a call costs two cents at most."""
    calls: Counter[str] = Counter()
    lock = threading.Lock()

    def serve(received: Received) -> Scripted:
        with lock:
            calls[received.body["model"]] += 1
        return HALF if received.body["model"] == "a" else chat(GOOD, tokens=(10, 20))

    prices = {"input_usd_per_million": 0.0, "output_usd_per_million": 1000.0}
    with LoopbackServer(serve) as server:

        def settings(max_usd: float) -> Settings:
            values = {
                "providers": {"openai": {"base_url": f"{server.url}/v1"}},
                "models": {"openai/a": prices, "openai/b": prices},
                "cache_dir": tmp_path / "cache",
                "certificates": tmp_path / "certificates",
                "max_output_tokens": 20,
                "http_retries": 0,
                "concurrency": 1,
                "max_usd": max_usd,
            }
            return load_settings(values, environment={}, folder=tmp_path)

        yield calls, settings


def test_a_comparison_counts_the_untold_bills_of_its_first_judge_for_its_second(tmp_path: Path) -> None:
    """Four calls of two cents each that nobody told the price of leave room for one more under ten cents."""
    with two_models(tmp_path) as (calls, settings):
        with pytest.raises(BudgetReached, match=r"\$0\.1000 of \$0\.1000 is spent"):
            compare_set(own_set(), ["openai/a", "openai/b"], rubrics=[RUBRIC], settings=settings(0.1))
        assert calls == {"a": 4, "b": 1}


def test_the_repeated_votes_of_a_jury_count_the_untold_bills_of_its_verdicts(tmp_path: Path) -> None:
    """Verdicts first: four untold calls of a, four of b, 16 cents; then two votes of a by one request, 4 cents."""
    jury = tmp_path / "both.yaml"
    jury.write_text(json.dumps({"members": ["openai/a", "openai/b"], "quorum": 1, "rule": "mean"}), encoding="utf-8")
    with two_models(tmp_path) as (calls, settings):
        used = settings(0.2).model_copy(update={"judge": f"jury:{jury}"})
        with pytest.raises(BudgetReached, match=r"\$0\.2000 of \$0\.2000 is spent"):
            calibrate_set(own_set(), settings=used, now=NOW, rubric=RUBRIC, repeats=2)
        assert calls == {"a": 5, "b": 4}


def test_learning_weights_counts_the_untold_bills_of_each_member_for_the_next(tmp_path: Path) -> None:
    jury = Jury(name="jury/weighs", members=("openai/a", "openai/b"), rule="weighted")
    with two_models(tmp_path) as (calls, settings):
        with pytest.raises(BudgetReached):
            learn_weights(jury, own_set("dev"), settings=settings(0.1), rubric=RUBRIC)  # type: ignore[arg-type]
        assert calls == {"a": 4, "b": 1}


def test_an_edit_is_not_asked_for_once_what_came_before_may_have_used_the_cap(tmp_path: Path) -> None:
    """A call with an untold bill counts two cents of three; the asked model's call may cost two more."""
    with two_models(tmp_path) as (calls, settings):
        used = settings(0.03)
        budget = budget_of(used)
        with pytest.raises(BudgetReached):
            compare_set(own_set(), ["openai/a", "openai/b"], rubrics=[RUBRIC], settings=used, budget=budget)
        assert (calls, budget.spent) == ({"a": 1}, 0.02)
        said = [Disagreement(people=1.0, judge=None, reason="")]
        with pytest.raises(BudgetReached, match=r"\$0\.0200 of \$0\.0300 is spent"):
            propose(
                "process", RUBRIC, CRITERION, said,
                asked="openai/b", settings=used, out=tmp_path / "new.yaml", budget=budget,
            )  # fmt: skip
        assert calls == {"a": 1}


def test_an_asked_model_whose_answer_breaks_off_is_counted_in_full(tmp_path: Path) -> None:
    with two_models(tmp_path) as (calls, settings):
        budget = budget_of(settings(1.0))
        with pytest.raises(Exception, match="JSON"):
            propose(
                "process", RUBRIC, CRITERION, [Disagreement(people=1.0, judge=None, reason="")],
                asked="openai/a", settings=settings(1.0), out=tmp_path / "new.yaml", budget=budget,
            )  # fmt: skip
        assert (calls, budget.spent, budget.committed) == ({"a": 1}, 0.02, 0.02)


def test_a_run_that_was_never_asked_about_is_no_verdict_for_nothing(tmp_path: Path) -> None:
    """Two runs at two cents each, and a third that does not fit the judge: a verdict costs two cents, not 1.33."""
    chosen = own_set(runs=3)
    *fit, last = chosen.trajectories
    text = " ".join(f"word{n}" for n in range(20_000))
    long = Trajectory.from_json({**last.to_json(), "steps": [{"index": 1, "kind": "final", "text": text}]})
    chosen = chosen.model_copy(update={"trajectories": (*fit, long)})
    rubric = RUBRIC.model_copy(update={"view": ViewSettings(result_chars=None)})
    with two_models(tmp_path) as (calls, settings):
        used = settings(1.0)
        priced = used.models["openai/b"].model_copy(update={"context_tokens": 3000})
        used = used.model_copy(update={"judge": "openai/b", "models": {"openai/b": priced}})
        judged = judge_set(chosen, chosen.settings.criteria[0], rubric, used, None, None)
        assert calls == {"b": 2}
    assert judged.work.usd == pytest.approx(0.02)


def test_pairs_of_a_probing_are_paid_from_the_budget_that_it_has(tmp_path: Path) -> None:
    """A pair takes two calls of two cents each at most, and two of ten cents are left."""
    runs = [run.model_copy(update={"group": "task"}) for run in own_set(runs=2).trajectories]
    pairs = pairs_of(runs, by="run", most=None).pairs
    with two_models(tmp_path) as (calls, settings):
        used = settings(0.1)
        found = judge_pairs(pairs, RUBRIC, judge="openai/b", settings=used, budget=budget_of(used, spent=0.08))
        assert isinstance(found.stopped, BudgetReached)
        assert (len(pairs), found.verdicts, calls) == (1, (), {})
