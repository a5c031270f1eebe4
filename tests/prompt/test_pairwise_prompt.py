"""The prompt that asks which of two runs is better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pair_runs import lookup

from judge.errors import ContextOverflow, UsageError
from judge.prompt import load_rubric
from judge.prompt.pairwise import order_of, render_pair
from judge.prompt.pairwise_text import pair_schema, pair_template_version
from judge.prompt.rubric_text import template_version
from judge.registry import shipped
from judge.types import MetricResult, Reference, Sampling, Trajectory

GOLDEN = Path(__file__).parent / "golden_pairs"
PROCESS = load_rubric("process")


def count(text: str) -> int:
    return len(text) // 4


def golden(name: str) -> str:
    """The prompt of a shipped rubric on two of its examples, as if they were runs of one task."""
    rubric = load_rubric(name)
    folder = shipped("rubrics")
    x, y = (
        Trajectory.model_validate_json((folder / path).read_text(encoding="utf-8"))
        for path in (rubric.examples[0], rubric.examples[-1])
    )
    facts = {"num_tool_calls": MetricResult(value=3, unit="calls")}
    policy = (folder / "examples" / "refund-policy.md").read_text(encoding="utf-8") if rubric.policy else None
    made = render_pair(rubric, x, y, count_tokens=count, facts=(facts, facts), policy=policy)
    return "\n======== next part\n".join((made.request.system, *made.request.segments)) + "\n"


@pytest.mark.parametrize("name", ["process", "rules"])
def test_the_prompt_is_the_one_on_file(name: str) -> None:
    assert golden(name) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_the_other_order_changes_places_and_names_and_nothing_else() -> None:
    a, b = lookup("a", said="It is Paris."), lookup("b", said="No idea.")
    one = render_pair(PROCESS, a, b, count_tokens=count).request
    other = render_pair(PROCESS, b, a, count_tokens=count).request
    assert (one.system, one.segments[0], one.segments[2]) == (other.system, other.segments[0], other.segments[2])

    def halves(data: str) -> tuple[str, str]:
        x = data[data.index("RUN X,") : data.index("END OF RUN X")]
        y = data[data.index("RUN Y,") : data.index("END OF RUN Y")]
        return x, y.replace("[Y", "[X").replace("of Y", "of X").replace("in Y1", "in X1").replace("RUN Y", "RUN X")

    assert halves(one.segments[1]) == halves(other.segments[1])[::-1]
    assert (one.subject.trajectory_id, one.subject.against) == ("a", "b")


def test_the_order_is_in_the_key_even_where_both_runs_say_the_same() -> None:
    a, b = lookup("a"), lookup("b")
    one, other = (render_pair(PROCESS, x, y, count_tokens=count).request for x, y in ((a, b), (b, a)))
    assert one.segments == other.segments
    assert {one.versions["order"], other.versions["order"]} == {"1", "2"}
    assert order_of(a, b) != order_of(b, a)


def test_who_made_a_run_is_not_told() -> None:
    crew = lookup("secret-run-7", agent="gpt-secret")
    steps = list(crew.to_json()["steps"])
    steps.insert(1, {"index": 9, "kind": "agent_transfer", "from_agent": "gpt-secret", "to_agent": "helper-secret"})
    steps.insert(
        2, {"index": 10, "kind": "approval", "state": "approved", "approver": "gpt-secret", "agent": "helper-secret"}
    )
    numbered = [{**step, "index": place} for place, step in enumerate(steps, 1)]
    numbered[4]["call_index"] = 4
    run = Trajectory.from_json({**crew.to_json(), "steps": numbered})
    made = render_pair(PROCESS, run, lookup("other-secret"), count_tokens=count)
    text = made.request.system + "".join(made.request.segments)
    assert "secret" not in text
    assert "agent-1" in text
    assert "agent-2" in text


@pytest.mark.parametrize("name", ["process", "side-effects", "recovery", "tool-use"])
def test_the_schema_asks_for_the_reason_first_and_the_winner_last(name: str) -> None:
    rubric = load_rubric(name)
    schema = pair_schema(rubric)
    answers = [schema] if len(rubric.criteria) == 1 else list(schema["properties"].values())
    for answer, criterion in zip(answers, rubric.criteria, strict=True):
        keys = list(answer["properties"])
        assert (keys[0], keys[-1]) == ("reason", "winner")
        words = answer["properties"]["winner"]["enum"]
        assert words[:3] == ["X", "Y", "tie"]
        assert ("not_applicable" in words) == bool(criterion.applies_when)
        assert "score" not in keys
    assert pair_template_version(rubric) != template_version(rubric)


def long(name: str, characters: int, mark: str) -> Trajectory:
    return lookup(name, found=mark * characters)


def test_two_long_runs_are_cut_to_equal_shares() -> None:
    made = render_pair(
        PROCESS, long("a", 40_000, "p"), long("b", 40_000, "q"), count_tokens=count, context_tokens=8_000
    )
    data = made.request.segments[1]
    left = data.count("p" * 50), data.count("q" * 50)
    assert made.truncated
    assert len(made.cuts) == 2
    assert min(left) / max(left) > 0.95
    assert made.tokens <= 8_000 - Sampling().max_output_tokens


def test_what_a_short_run_leaves_over_is_the_long_one_s() -> None:
    alone = render_pair(PROCESS, lookup("a"), long("b", 40_000, "q"), count_tokens=count, context_tokens=8_000)
    both = render_pair(
        PROCESS, long("a", 40_000, "p"), long("b", 40_000, "q"), count_tokens=count, context_tokens=8_000
    )
    assert [cut[:2] for cut in alone.cuts] == ["Y3"]
    kept = alone.request.segments[1].count("q" * 50), both.request.segments[1].count("q" * 50)
    assert kept[0] > 1.7 * kept[1]


def test_a_run_is_cut_alike_in_both_places() -> None:
    a, b = long("a", 30_000, "p"), long("b", 12_000, "q")
    one, other = (
        render_pair(PROCESS, x, y, count_tokens=count, context_tokens=8_000).cuts for x, y in ((a, b), (b, a))
    )
    assert [cut[1:] for cut in one] == [cut[1:] for cut in reversed(other)]


def test_runs_that_do_not_fit_are_refused_with_their_names() -> None:
    with pytest.raises(ContextOverflow, match="'a' and 'b' need"):
        render_pair(PROCESS, long("a", 9_000, "p"), lookup("b"), count_tokens=count, context_tokens=1_600)


def test_a_rubric_with_a_policy_needs_its_text() -> None:
    with pytest.raises(UsageError, match="policy text"):
        render_pair(load_rubric("rules"), lookup("a"), lookup("b"), count_tokens=count)


def test_task_policy_and_reference_stand_once() -> None:
    runs = [lookup(name, task="Find the capital of France.") for name in "ab"]
    keys: dict[str, Any] = {"reference": Reference(answer="Paris, France"), "policy": "Never guess a capital."}
    text = "".join(render_pair(PROCESS, *runs, count_tokens=count, **keys).request.segments)
    for once in ("Find the capital of France.", "Paris, France", "Never guess a capital."):
        assert text.count(once) == 1


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for rubric_name in ("process", "rules"):
        (GOLDEN / f"{rubric_name}.txt").write_text(golden(rubric_name), encoding="utf-8", newline="\n")
        print(f"wrote {rubric_name}.txt")
