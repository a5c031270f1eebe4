"""Published judges on published labels: the numbers that others computed, and an independent count of who is better."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from shared_files import SHARED

from judge.calibration.fields import FieldMap
from judge.calibration.kappa import cohen_kappa
from judge.calibration.pairwise import order_report
from judge.cli.recorded import scale_of
from judge.engine.comparing import Compared, compare_files
from judge.report.jury import jury_lines
from judge.types.comparison import Work
from judge.types.jury import Jury

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "scripts" / "published"


def fields(name: str) -> tuple[FieldMap, FieldMap, Any]:
    value = yaml.safe_load((PUBLISHED / f"{name}.yaml").read_text(encoding="utf-8"))
    return FieldMap(**value["verdicts"]), FieldMap(**value["labels"]), scale_of(value["scale"])


def compared(name: str, verdicts: Path, labels: Path, **options: Any) -> Compared:
    verdict_fields, label_fields, scale = fields(name)
    return compare_files([(verdicts, verdict_fields)], labels, label_fields=label_fields, scale=scale, **options)


@pytest.fixture(scope="module")
def hotpotqa() -> tuple[Path, Path]:
    folder = SHARED / "data" / "agentprocessbench"
    if not folder.is_dir():
        pytest.skip("real files are not here: no folder 'shared' beside the checkout")
    return folder / "judge_labels" / "hotpotqa.jsonl", folder / "human_labels" / "hotpotqa_final.jsonl"


@pytest.fixture(scope="module")
def twenty(hotpotqa: tuple[Path, Path]) -> Compared:
    return compared("agentprocessbench", *hotpotqa)


def published_script() -> Any:
    spec = importlib.util.spec_from_file_location("compare_published", ROOT / "scripts" / "compare_published.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_twenty_judges_reproduce_the_expected_accuracy_and_kappa(twenty: Compared) -> None:
    rows = {row.judge: row for row in twenty.comparison.judges}
    assert len(rows) == 20
    assert (twenty.comparison.n, twenty.comparison.n_groups) == (250, 50)
    for judge, accuracy, kappa in (("Gemini-3-Flash-Preview-Thinking", 0.828, 0.584), ("GPT-5.2", 0.816, 0.583)):
        assert rows[judge].right.value == pytest.approx(accuracy)
        assert rows[judge].kappa.value == pytest.approx(kappa, abs=5e-4)
    assert rows["Llama-3.2-3B-Instruct"].right.value == pytest.approx(0.656)
    assert rows["Llama-3.2-3B-Instruct"].scored == 231  # 4 marked as failed, 15 neither passed nor failed
    assert rows["Qwen3-4B-Thinking"].rank != rows["Qwen3-4B-Thinking-2507"].rank


def test_who_is_better_agrees_with_an_independent_exact_count(twenty: Compared, hotpotqa: tuple[Path, Path]) -> None:
    people = {row["record_id"]: row["final_label"] for row in lines(hotpotqa[1])}
    right: dict[str, dict[str, bool]] = {}
    for row in lines(hotpotqa[0]):
        said = None if row["failed"] else row["final_label"]
        right.setdefault(row["judge"], {})[row["record_id"]] = said == people[row["record_id"]]
    exact = {}
    for pair in twenty.comparison.pairs:
        b = sum(right[pair.a][item] and not right[pair.b][item] for item in people)
        c = sum(right[pair.b][item] and not right[pair.a][item] for item in people)
        tail = sum(comb(b + c, k) for k in range(min(b, c) + 1))
        exact[pair.a, pair.b] = min(1.0, 2 * tail / 2 ** (b + c)) if b + c else 1.0
        assert (pair.only_a, pair.only_b) == (b, c)
        assert pair.p == pytest.approx(exact[pair.a, pair.b], abs=1e-12)
        assert pair.difference.value == pytest.approx((b - c) / 250)
        if pair.better is not None:
            assert pair.better == (pair.a if b > c else pair.b)
            assert exact[pair.a, pair.b] < 0.05
    # Holm by hand: the k-th smallest of 190 times what is left, never falling; ours is the larger of two tests
    worst = 0.0
    for place, (names, p) in enumerate(sorted(exact.items(), key=lambda entry: entry[1])):
        worst = max(worst, min(1.0, (190 - place) * p))
        ours = next(pair for pair in twenty.comparison.pairs if (pair.a, pair.b) == names)
        assert ours.p_adjusted >= worst - 1e-9
    named = {frozenset((pair.a, pair.b)): pair.better for pair in twenty.comparison.pairs}
    assert named[frozenset(("GPT-5.2-Thinking (medium)", "Llama-3.1-8B-Instruct"))] == "GPT-5.2-Thinking (medium)"
    assert named[frozenset(("GPT-5.2", "Gemini-3-Flash-Preview-Thinking"))] is None


def test_the_page_holds_table_and_frontier(hotpotqa: tuple[Path, Path]) -> None:
    from judge.report.compare_page import comparison_page

    chosen = ("GPT-5.2", "Gemini-3-Flash-Preview-Thinking", "Qwen3-8B")
    prices = {"GPT-5.2": Work(usd=0.01), "Gemini-3-Flash-Preview-Thinking": Work(usd=0.004)}
    found = compared("agentprocessbench", *hotpotqa, judges=chosen, work=prices)
    page = comparison_page(found.comparison, {}, found.switch(*chosen[:2], margin=0.05))
    assert page.count("<svg") == 4
    assert "Price and agreement: the line joins judges" in page
    assert "Price unknown, so without a point: Qwen3-8B." in page
    assert [(p.judge, p.on_frontier) for p in found.comparison.frontier] == [
        ("Gemini-3-Flash-Preview-Thinking", True),
        ("GPT-5.2", False),
    ]


def test_a_jury_learns_on_dev_tasks_and_is_reported_on_the_others(hotpotqa: tuple[Path, Path]) -> None:
    members = ("GPT-5.2", "Gemini-3-Flash-Preview-Thinking", "Kimi-K2.5-Thinking")
    juries = [Jury(name=f"jury/{rule}", members=members, rule=rule) for rule in ("majority", "weighted", "stacked")]  # type: ignore[arg-type]
    found = compared("agentprocessbench", *hotpotqa, juries=juries, dev_share=0.5)
    rows = {row.judge: row for row in found.comparison.judges}
    assert found.comparison.n == 250 - found.comparison.left_out["label of the dev split"]
    assert set(rows) == {*members, "jury/majority", "jury/weighted", "jury/stacked"}
    errors = found.juries["jury/majority"]
    assert errors.mean_phi is not None
    assert 0.3 < errors.mean_phi < 0.6  # strong judges of different families: .44 [.40 .48] over four domains
    assert errors.effective_votes is not None
    assert errors.effective_votes < 2


def test_ten_judges_of_livemcpbench_by_the_substring_rule(shared: Path) -> None:
    folder = shared / "data" / "livemcpbench"
    found = compared("livemcpbench", folder / "judge_outputs.jsonl", folder / "trajectories_with_human_label.jsonl")
    rows = {row.judge: row for row in found.comparison.judges}
    assert len(rows) == 10
    mini = rows["openai_gpt-4.1-mini"]
    assert mini.judge == found.comparison.decision.best
    assert mini.right.value == pytest.approx(0.8526, abs=5e-5)
    assert mini.kappa.value == pytest.approx(0.604, abs=5e-4)
    assert mini.tnr is not None
    assert mini.tnr.value == pytest.approx(16 / 28)
    assert found.comparison.judges[-1].right.value == pytest.approx(0.5895, abs=5e-5)


@pytest.mark.parametrize(
    ("judge", "subset", "accuracy", "agreement"),
    [
        ("GPT-4", "Natural", 0.955, 0.950),
        ("GPT-4", "Neighbor", 0.787, 0.933),
        ("GPT-4", "Manual", 0.804, 0.826),
        ("ChatGPT", "Natural", 0.815, 0.710),
        ("ChatGPT", "Neighbor", 0.194, 0.716),
    ],
)
def test_llmbar_in_both_orders(shared: Path, judge: str, subset: str, accuracy: float, agreement: float) -> None:
    script = published_script()
    rows = lines(shared / "data" / "llmbar" / "judge_outputs.jsonl")
    found = order_report(script.contests(rows, judge, subset), rng=np.random.default_rng(0))
    assert found.accuracy.value == pytest.approx(accuracy, abs=5e-4)
    assert found.agreement.value == pytest.approx(agreement, abs=5e-4)


def test_pandalm_annotators_and_a_jury_whose_failed_rows_stay_visible(shared: Path) -> None:
    folder = shared / "data" / "pandalm"
    rows = json.loads((folder / "testset-v1.json").read_text(encoding="utf-8"))
    raters = [[row[f"annotator{k}"] for row in rows] for k in (1, 2, 3)]
    rng = np.random.default_rng(0)
    for i, j, kappa in ((0, 1, 0.852), (0, 2, 0.879), (1, 2, 0.862)):
        assert cohen_kappa(raters[i], raters[j], domain=[0, 1, 2], rng=rng).value == pytest.approx(kappa, abs=5e-4)
    gpt, labels, scale = fields("pandalm")
    seats = Jury(name="jury/two", members=("pandalm-7b", "gpt-3.5-turbo"))
    found = compare_files(
        [
            (folder / "gpt-3.5-turbo-testset-v1.json", gpt),
            (folder / "pandalm-7b-testset-v1.json", fields("pandalm_7b")[0]),
        ],
        folder / "testset-v1.json",
        label_fields=labels,
        scale=scale,
        juries=[seats],
    )
    assert Counter(found.runs.labels.tolist()) == {0.0: 422, 1.0: 105, 2.0: 472}  # majority: first, tie, second
    failures = {row.judge: row.failures for row in found.comparison.judges}
    assert failures["gpt-3.5-turbo"] == {"failed: no value found in the text": 63}
    assert failures["pandalm-7b"] == {}
    assert failures["jury/two"]["failed: 1 of 2 seats gave a score, 2 needed"] == 63
    assert failures["jury/two"]["tie"] > 0


def test_five_copies_of_one_noisy_judge_gain_nothing_over_its_own_five_samples_and_the_report_says_why() -> None:
    """A judge that fails the same runs whenever it is asked: five seats share its bias, as its five samples do."""
    found, errors = published_script().five_copies(np.random.default_rng(11))
    gaps = {frozenset((pair.a, pair.b)): pair for pair in found.pairs}
    pair = gaps[frozenset(("jury of five copies", "one judge, five samples"))]
    assert pair.better is None
    assert abs(pair.difference.value) < 0.02
    # a quarter of the runs is misread by .9: all five misread by .9^5 = .59, so about .147 of all runs
    assert errors.all_wrong == pytest.approx(0.147, abs=0.03)
    assert 1.0 < errors.effective_votes < 1.5
    text = "\n".join(jury_lines("jury", errors))
    assert "5 members amount to 1." in text
    assert "wrong on the same runs; further seats repeat the first" in text
    assert "one family (copy)" in text


def test_the_published_must_shows_are_printed(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = published_script()
    arguments = script.comparisons(shared / "data")
    script.show("pandalm", arguments["pandalm"], tmp_path)
    script.show("agentprocessbench_jury", arguments["agentprocessbench_jury"], tmp_path)
    script.show("livemcpbench", [*arguments["livemcpbench"], *script.assumed_prices("livemcpbench")], tmp_path)
    script.pandalm_people(shared / "data" / "pandalm" / "testset-v1.json")
    said = capsys.readouterr().out
    assert "gpt-3.5-turbo: called on 999 of 999 runs; no score on 63" in said
    assert "Kimi-K2.5-Thinking: called on 41 of 250 runs" in said
    assert "annotators 1 and 2: kappa .852" in said
    # 6,000 tokens read at .40 and 600 written at 1.60 dollars a million are .00336; nobody is better, at any price
    assert "(none is both cheaper and better): " in said
    assert said.split("both cheaper and better): ")[1].split("\n")[0].endswith("openai_gpt-4.1-mini ($0.00336, 0.853)")
    assert "claude-opus-4-20250514 ($" not in said
    assert "0 105 times, 1 422 times, 2 472 times" in said
