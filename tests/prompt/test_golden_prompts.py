"""Every shipped rubric's prompt on an example run, byte for byte, so that a change of prompt shows in review.

After a change that is meant, write the files anew and look at the difference before committing it:

    python tests/prompt/test_golden_prompts.py
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judge.prompt import load_rubric, render, rubric_names
from judge.registry import shipped
from judge.types import MetricResult, Reference, Trajectory

GOLDEN = Path(__file__).parent / "golden"


def prompt(name: str) -> str:
    """The prompt of a shipped rubric on its first example, with a fact, and a reference where that matters."""
    rubric = load_rubric(name)
    folder = shipped("rubrics")
    example = folder / rubric.examples[-1 if name == "honesty" else 0]
    trajectory = Trajectory.model_validate_json(example.read_text(encoding="utf-8"))
    policy = (folder / "examples" / "refund-policy.md").read_text(encoding="utf-8") if rubric.policy else None
    calls = sum(step.kind == "tool_call" for step in trajectory.steps)
    made = render(
        rubric,
        trajectory,
        count_tokens=lambda text: len(text) // 4,
        reference=Reference(answer="Order 5512 is cancelled and refunded to the card.") if name == "outcome" else None,
        facts={"num_tool_calls": MetricResult(value=calls, unit="calls")},
        policy=policy,
    )
    request = made.request
    schema = json.dumps(request.reply_schema, indent=1)
    return "\n======== next part\n".join((request.system, *request.segments, schema)) + "\n"


@pytest.mark.parametrize("name", rubric_names())
def test_the_prompt_is_the_one_on_file(name: str) -> None:
    assert prompt(name) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_no_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(rubric_names())


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for rubric_name in rubric_names():
        (GOLDEN / f"{rubric_name}.txt").write_text(prompt(rubric_name), encoding="utf-8", newline="\n")
        print(f"wrote {rubric_name}.txt")
