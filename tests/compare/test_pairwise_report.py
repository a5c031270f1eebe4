"""What verdicts on pairs say: counts, ranking, agreement, in text and on the page."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from judge.calibration.pair_findings import PairReport, contest, pair_report
from judge.calibration.pairwise import Contest, strengths, wins_of
from judge.errors import StatisticsError
from judge.report.pairwise import pair_report_text, pair_text, sentences
from judge.report.pairwise_page import pair_page
from judge.types.pair import PairCriterion, PairOrder, PairVerdict, PairVote, PairWinner
from judge.types.trajectory import Usage
from judge.types.verdict import JudgementError
from judge.voting.pair_votes import both_orders


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def verdict(a: str, b: str, task: str, first: PairWinner, second: PairWinner, why: str = "Because.") -> PairVerdict:
    """`first`: the winner with `a` first; `second`: with `b` first. Runs are AGENT-TASK."""
    winner = both_orders(first, second)
    orders = tuple(
        PairOrder(
            first=side,
            winner=found,
            votes=(PairVote(status="ok", preferred=found, reason=why),) if found in ("a", "b", "tie") else (),
        )
        for side, found in (("a", first), ("b", second))
    )
    error = JudgementError(kind="refusal", message="No.")
    return PairVerdict(
        a=f"{a}-{task}",
        b=f"{b}-{task}",
        task=task,
        contestants=(a, b),
        rubric="process",
        judge="fake/pairs",
        winner=winner,
        why=why,
        orders=(first, second),
        criteria=(PairCriterion(id="process", winner=winner, why=why, orders=orders),),  # type: ignore[arg-type]
        errors=(error,) if winner == "failed" else (),
        usage=Usage(),
        cost_usd=0.01,
        calls=2,
    )


def mixed() -> list[PairVerdict]:
    """Of x against y: 3 wins of x, 1 of y, 1 tie, 2 whose orders disagree (both for the first place), 1 failed."""
    outcomes: list[tuple[PairWinner, PairWinner]] = [
        ("a", "a"), ("a", "a"), ("a", "a"), ("b", "b"), ("tie", "tie"), ("a", "b"), ("a", "b"), ("a", "failed"),
    ]  # fmt: skip
    return [verdict("x", "y", f"t{n}", *found) for n, found in enumerate(outcomes)]


def report(verdicts: list[PairVerdict], **options: object) -> PairReport:
    return pair_report(verdicts, ranked="agent", rng=rng(), **options)  # type: ignore[arg-type]


def test_every_pair_is_counted_once_by_its_outcome() -> None:
    found = report(mixed())
    assert (found.won, found.ties, found.inconclusive, found.failed, found.not_applicable) == (4, 1, 2, 1, 0)
    assert found.won + found.ties + found.inconclusive + found.failed + found.not_applicable == found.pairs == 8
    assert (found.swapped, found.left_out, found.failures) == (2, 3, {"refusal": 1})
    # of 7 pairs with an outcome in both orders 5 agree; 2 of 7 are all for the first place
    assert found.order_agreement.value == pytest.approx(5 / 7)
    assert found.position.effect.value == pytest.approx(2 / 7)
    assert (found.position.pairs, found.position.no_score) == (8, 1)
    assert (found.calls, found.cost_usd) == (16, pytest.approx(0.08))


def test_what_is_inconclusive_or_failed_is_no_half_win() -> None:
    x, y = report(mixed()).ranking
    # wins and ties alone: 3 + 1/2 against 1 + 1/2
    assert (x.name, x.wins, y.wins) == ("x", 3.5, 1.5)
    assert x.strength == pytest.approx(0.7)
    tally = {one.name: one for one in report(mixed()).tallies}
    assert (tally["x"].won, tally["x"].lost, tally["x"].tied) == (3, 1, 1)
    assert (tally["y"].won, tally["y"].lost, tally["y"].inconclusive, tally["y"].failed) == (1, 3, 2, 1)


def test_who_never_loses_has_no_rank_unless_wins_are_added() -> None:
    won = [verdict("x", "y", f"t{n}", "a", "a") for n in range(4)]
    plain = report(won)
    assert plain.ranking == ()
    assert "not finite" in (plain.unranked or "")
    assert any("No ranking" in sentence for sentence in sentences(plain))
    added = report(won, pseudo_wins=0.5)
    assert added.ranking[0].strength == pytest.approx(4.5 / 5)


def test_tasks_that_all_say_the_same_give_no_interval_of_width_zero() -> None:
    alike = [Contest("a", "b", ab=1, ba=1, group=n) for n in range(5)]
    assert [(one.low, one.high) for one in strengths(alike, rng=rng(), pseudo_wins=0.5)] == [(None, None)] * 2


def test_orders_that_disagree_may_be_left_out_of_wins() -> None:
    contests = [Contest("a", "b", ab=1, ba=2), Contest("a", "b", ab=0, ba=0)]
    assert wins_of(contests)[1].tolist() == [[0, 1], [1, 0]]
    assert wins_of(contests, split_is_tie=False)[1].tolist() == [[0, 0.5], [0.5, 0]]


def test_strengths_are_those_of_the_formula_of_two() -> None:
    """30 tasks: x wins 20, y wins 10; w = 2/3."""
    verdicts = [verdict("x", "y", f"t{n}", *(("a", "a") if n % 3 else ("b", "b"))) for n in range(30)]  # type: ignore[arg-type]
    x, y = report(verdicts).ranking
    assert x.strength / y.strength == pytest.approx(2.0)
    assert x.low is not None
    assert x.high is not None
    assert 0.4 < x.low < 2 / 3 < x.high < 0.9


def test_scores_of_the_same_runs_are_compared_with_winners() -> None:
    scores = {"x-t0": 5, "y-t0": 3, "x-t1": 2, "y-t1": 4, "x-t2": 4, "y-t2": 4, "x-t3": 1, "x-t4": 3, "y-t4": 3}
    found = report(mixed(), scores=scores).scores
    assert found is not None
    # decided: t0 (agrees), t1 (does not), t2 (equal), t3 (y has no score)
    assert (found.agreement.value, found.agreement.n, found.equal, found.unscored) == (0.5, 2, 1, 1)
    none = report(mixed(), scores={"x-t0": 1.0}).scores
    assert none is not None
    assert none.agreement.value is None
    assert report(mixed()).scores is None


def test_labels_of_people_are_found_whichever_run_they_name_first() -> None:
    labels = {("x-t0", "y-t0"): "a", ("y-t1", "x-t1"): "a", ("y-t4", "x-t4"): "tie", ("x-t5", "y-t5"): "a"}
    found = report(mixed(), labels=labels).people
    assert found is not None
    # t0 right twice, t1 wrong twice (people say y), t4 right twice, t5 right once of two
    assert (found.n, found.accuracy.value) == (4, pytest.approx((2 + 0 + 2 + 1) / 8))
    assert found.right_if_agreed.value == pytest.approx(2 / 3)
    assert contest(mixed()[1], ("x", "y"), {("y-t1", "x-t1"): "a"}).label == 2
    assert report(mixed(), labels={}).people is None


def test_labels_of_pairs_that_were_not_judged_do_not_vanish() -> None:
    found = report(mixed(), labels={("x-t0", "y-t0"): "a", ("x-t0", "nobody"): "a", ("x-t0", "y-t1"): "tie"})
    assert found.people is not None
    assert (found.people.n, found.labels_unused) == (1, 2)
    assert "2 labels of people of pairs that were not judged: check the ids." in sentences(found)
    assert report(mixed(), labels={("nobody", "else"): "a"}).people is None
    assert report(mixed()).labels_unused == 0


def test_no_verdict_is_an_error() -> None:
    with pytest.raises(StatisticsError, match="no verdict"):
        report([])


def test_the_text_says_what_the_numbers_say() -> None:
    text = pair_report_text(report(mixed(), scores={"x-t0": 5, "y-t0": 3}))
    assert "4 decided, 1 tie, 2 inconclusive (2 because the orders disagree), 1 failed." in text
    assert "Failed samples, none of them a tie: 1 refusal." in text
    assert "x is first, and no interval sets it apart from all others." in text
    assert "which is few: judge more tasks" in text
    assert re.search(r"the winner has the higher score +1\.000", text)
    assert "Trust: uncertified." in text


def test_ties_alone_put_nobody_first() -> None:
    said = " ".join(sentences(report([verdict("x", "y", f"t{n}", "tie", "tie") for n in range(12)])))
    assert "x and y are level at the top." in said
    assert "is first" not in said


def test_a_flagged_judge_is_called_by_its_place() -> None:
    second = [verdict("x", "y", f"t{n}", "b", "a") for n in range(30)]
    found = report(second)
    assert found.position.state == "flagged"
    assert any("prefers the run that stands second" in sentence for sentence in sentences(found))


def test_one_pair_in_a_few_lines() -> None:
    assert pair_text(mixed()[0]).splitlines() == [
        "x-t0 (a) against y-t0 (b): x-t0 is better",
        "  Because.",
        "  a first (X is a): a",
        "  b first (X is b): a",
    ]
    assert pair_text(mixed()[5]).splitlines()[0].endswith("inconclusive")


def test_the_page_stands_alone_and_escapes_what_a_judge_wrote() -> None:
    nasty = verdict("x", "y", "t9", "a", "a", why="<script>alert(1)</script>")
    page = pair_page(report([*mixed(), nasty]), [*mixed(), nasty])
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<svg") == 2
    assert "Strength of each agent" in page
    assert not re.findall(r'(?:src|href)="(?!#)[^"]+"', page)


def test_single_runs_of_several_tasks_have_no_ranking_and_it_is_said_why() -> None:
    found = [
        one.model_copy(update={"contestants": (one.a, one.b)})
        for one in (verdict("x", "y", task, "a", "a") for task in ("t1", "t2"))
    ]
    for pseudo_wins in (0.0, 0.5):  # made-up wins would rank runs that never met
        report = pair_report(found, ranked="run", rng=rng(), pseudo_wins=pseudo_wins)
        assert report.ranking == ()
        assert (report.unranked or "").startswith("Runs of different tasks never meet")
    alone = pair_report(found[:1], ranked="run", rng=rng(), pseudo_wins=0.5)
    assert [one.name for one in alone.ranking] == ["x-t1", "y-t1"]


def test_a_ranking_without_finite_strengths_says_what_helps() -> None:
    report = pair_report([verdict("x", "y", "t1", "a", "a")], ranked="agent", rng=rng())
    assert (report.unranked or "").endswith("Compare more pairs, or set pseudo-wins to 0.5.")


def test_the_interval_of_a_strength_is_on_the_scale_of_its_odds() -> None:
    won = [Contest("x", "y", ab=w, ba=w, group=n) for n, w in enumerate([1, 1, 1, 2, 2, 1, 2, 1, 1, 2] * 3)]  # type: ignore[arg-type]
    best, other = strengths(won, rng=rng(), resamples=4000)
    # 18 of 30: strength .6. Resampled tasks are binomial: s of the log odds is 1/sqrt(30 * .6 * .4) = .3727, by the
    # delta method; times sqrt(30/29) and t of 29 degrees, 2.0452: reach .775, of log odds .4055
    low, high = (1 / (1 + np.exp(-(0.4055 + sign * 0.775))) for sign in (-1, 1))
    assert (best.name, best.strength) == ("x", pytest.approx(0.6))
    assert (best.low, best.high) == (pytest.approx(low, abs=0.015), pytest.approx(high, abs=0.015))
    assert (other.low, other.high) == (pytest.approx(1 - best.high), pytest.approx(1 - best.low))  # type: ignore[operator]


def test_intervals_of_strengths_hold_the_true_ones_as_often_as_they_say() -> None:
    path = Path(__file__).resolve().parents[2] / "bench" / "pair_intervals.py"
    spec = importlib.util.spec_from_file_location("pair_intervals", path)
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    share, unranked, withheld = bench.coverage(20, 0.0, 60, resamples=120, seed=3)
    assert (unranked, withheld) == (0, 0)
    assert share >= 0.93  # percentiles of the same resamples: about .92; 180 intervals, in threes that move together
