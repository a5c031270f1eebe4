"""What a judge cites must exist: steps that were shown, words that stand in them, proof behind a pass."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judge.prompt import parse, render
from judge.types import (
    Criterion,
    Final,
    Message,
    Quote,
    Reasoning,
    Reply,
    Rubric,
    Source,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    ViewSettings,
    Vote,
)

RUN = Trajectory(
    id="t1",
    source=Source(format="native"),
    steps=(
        Message(index=1, role="system", content=(Text(text="Be careful."),)),
        Message(index=2, role="user", content=(Text(text="Refund order 7."),)),
        Reasoning(index=3, content=(Text(text="secret plan"),)),
        ToolCall(index=4, call_id="c", name="refund", arguments={"order": 7, "note": 'say "hi"'}),
        ToolResult(
            index=5,
            call_id="c",
            call_index=4,
            pairing="id",
            content=(Text(text='state:\n  done <|im_end|>\n  path "C:\\tmp"'),),
            status="ok",
        ),
        Final(index=6, text="Refunded."),
    ),
)


def rubric(*, evidence: str = "required", procedure: str = "direct", gate: bool = False, view: Any = None) -> Rubric:
    scale: Any = "binary" if gate else [{"value": k, "name": f"n{k}"} for k in range(1, 6)]
    criterion = Criterion(id="q", question="Q?", scale=scale, evidence=evidence, gate=gate)  # type: ignore[arg-type]
    return Rubric(
        id="r",
        version="1",
        title="t",
        intent="i",
        criteria=(criterion,),
        procedure=procedure,  # type: ignore[arg-type]
        view=view or ViewSettings(),
    )


def vote(evidence: Any, asked: Rubric | None = None, score: Any = 3, **keys: Any) -> Vote:
    answer = {**keys, "reason": "because", "evidence": evidence, "score": score}
    return parse(Reply(text=json.dumps(answer)), asked or rubric(), RUN)["q"]


@pytest.mark.parametrize("entry", [5, 5.0, "S5", "[S5]", "5", "step 5", {"step": 5}, {"step": "S5", "quote": ""}])
def test_a_step_may_be_named_in_these_ways(entry: Any) -> None:
    got = vote([entry, 2, entry])
    assert (got.status, got.evidence, got.quotes) == ("ok", (5, 2), ())


@pytest.mark.parametrize(
    ("evidence", "says"),
    [
        ([99], "step 99"),
        ([0], "step 0"),
        ([3], "step 3"),
        ([True], "names no step"),
        ([None], "names no step"),
        ([{"quote": "state"}], "names no step"),
        (["the last step"], "names no step"),
        ([2.5], "names no step"),
        ({"step": 5}, "not a list"),
        ("S5", "not a list"),
        ([{"step": 5, "quote": "state: failed"}], "does not hold"),
        ([{"step": 2, "quote": "state"}], "does not hold"),
        ([{"step": 5, "quote": 7}], "not text"),
        ([], "no step is cited"),
        (None, "no step is cited"),
    ],
)
def test_evidence_that_does_not_exist_fails_the_vote(evidence: Any, says: str) -> None:
    got = vote(evidence)
    assert (got.status, got.score) == ("invalid_evidence", None)
    assert says in (got.message or "")
    assert got.raw_head
    assert got.reason == "because"


@pytest.mark.parametrize(
    "quote",
    [
        "state:",
        "done <|im_end|>",
        "done <\\|im_end|>",
        "state: done",
        "state:\n| done",
        'path "C:\\tmp"',
        'path \\"C:\\\\tmp\\"',
        "state:\\n  done",
        "result of S4 (ok)",
    ],
)
def test_a_quote_stands_verbatim_up_to_spaces_escapes_and_line_prefix(quote: str) -> None:
    got = vote([{"step": 5, "quote": quote}])
    assert (got.status, got.quotes) == ("ok", (Quote(step=5, text=quote),))


@pytest.mark.parametrize("quote", ["| a | b |\n| c | d |", "| | a | b |\n| | c | d |", "b | | c"])
def test_a_table_of_bars_can_be_quoted_with_and_without_the_line_prefix(quote: str) -> None:
    table = ToolResult(index=1, content=(Text(text="| a | b |\n| c | d |"),), status="ok")
    run = RUN.model_copy(update={"steps": (table,)})
    reply = json.dumps({"reason": "r", "evidence": [{"step": 1, "quote": quote}], "score": 2})
    assert parse(Reply(text=reply), rubric(), run)["q"].status == "ok"


def test_a_step_can_be_quoted_with_its_heading_whether_its_agent_is_named_or_not() -> None:
    said = Message(index=1, role="assistant", agent="a", content=(Text(text="Hello"),))
    run = RUN.model_copy(update={"steps": (said,)})
    for quote in ("say assistant: Hello", "say assistant @a: Hello"):
        reply = json.dumps({"reason": "r", "evidence": [{"step": 1, "quote": quote}], "score": 2})
        assert parse(Reply(text=reply), rubric(), run)["q"].status == "ok"


def test_arguments_can_be_quoted_as_shown() -> None:
    assert vote([{"step": 4, "quote": 'refund {"order": 7, "note": "say \\"hi\\""}'}]).status == "ok"


def test_hidden_steps_can_be_cited_once_they_are_shown() -> None:
    shown = rubric(view=ViewSettings(reasoning=True))
    assert vote([{"step": 3, "quote": "secret plan"}], shown).status == "ok"
    assert vote([1], rubric(view=ViewSettings(system=False))).status == "invalid_evidence"


def test_a_quote_may_span_a_declared_cut() -> None:
    run = RUN.model_copy(
        update={"steps": (ToolResult(index=1, content=(Text(text="begin " + "x" * 5000 + " end"),), status="ok"),)}
    )
    prompt = render(rubric(view=ViewSettings(result_chars=300)), run, count_tokens=len)
    assert prompt.truncated
    lines = [line for line in prompt.request.segments[1].split("\n") if line.startswith(("| ", "[…"))]
    reply = json.dumps({"reason": "r", "evidence": [{"step": 1, "quote": "\n".join(lines)}], "score": 2})
    assert parse(Reply(text=reply), rubric(), run)["q"].status == "ok"
    forged = json.dumps({"reason": "r", "evidence": [{"step": 1, "quote": lines[0] + " middle"}], "score": 2})
    assert parse(Reply(text=forged), rubric(), run)["q"].status == "invalid_evidence"


def test_optional_evidence_may_be_left_out_and_is_checked_where_given() -> None:
    assert vote([], rubric(evidence="optional")).status == "ok"
    assert vote([99], rubric(evidence="optional")).status == "invalid_evidence"
    assert vote([99], rubric(evidence="none")).status == "ok"


def test_an_abstention_needs_no_evidence() -> None:
    assert vote([], score="unknown").status == "abstain"
    assert vote([99], score="unknown").status == "invalid_evidence"


def need(met: str, steps: Any = (5,), quote: str = "done") -> dict[str, Any]:
    return {"id": "refunded", "met": met, "steps": list(steps), "quote": quote}


GATE = rubric(gate=True, procedure="requirements")


def test_a_proved_pass_keeps_what_was_worked_out() -> None:
    got = vote(
        [5], GATE, "pass", requirements=[need("yes")], wrong_steps=[{"step": 4, "why": "late"}], failure_case="x"
    )
    assert (got.status, got.score) == ("ok", 1.0)
    assert got.detail == {
        "requirements": [{"id": "refunded", "met": "yes", "steps": [5], "quote": "done"}],
        "partial": {"met": 1, "not_met": 0, "unknown": 0},
        "wrong_steps": [{"step": 4, "why": "late"}],
        "failure_case": "x",
    }


@pytest.mark.parametrize(
    ("requirements", "cites", "status", "says"),
    [
        ([need("yes"), need("no")], [5], "invalid_evidence", "not met"),
        ([need("yes"), need("unknown")], [5], "abstain", "not known"),
        ([], [5], "invalid_evidence", "without listing"),
        ([need("yes", [4], "")], [6], "invalid_evidence", "result of any tool"),
        ([need("yes", [99])], [5], "invalid_evidence", "not shown"),
        ([need("yes", [5], "never said")], [5], "invalid_evidence", "none of its steps"),
        ([need("maybe")], [5], "invalid_evidence", "neither yes"),
    ],
)
def test_a_pass_needs_its_proof(requirements: Any, cites: Any, status: str, says: str) -> None:
    got = vote(cites, GATE, "pass", requirements=requirements, wrong_steps=[], failure_case="")
    assert (got.status, got.score) == (status, None)
    assert says in (got.message or "")


def test_a_fail_stands_with_unmet_requirements() -> None:
    got = vote([5], GATE, "fail", requirements=[need("no")], wrong_steps=[], failure_case="not done")
    assert (got.status, got.score) == ("ok", 0.0)
    assert got.detail is not None
    assert got.detail["partial"] == {"met": 0, "not_met": 1, "unknown": 0}


def test_a_run_without_results_can_pass_on_its_answer() -> None:
    run = RUN.model_copy(update={"steps": (Final(index=1, text="done"),)})
    answer = {"requirements": [need("yes", [1])], "reason": "r", "evidence": [1], "score": "pass"}
    assert parse(Reply(text=json.dumps(answer)), GATE, run)["q"].score == 1.0


def test_wrong_steps_must_exist() -> None:
    got = vote([5], GATE, "fail", requirements=[], wrong_steps=[{"step": 50, "why": "?"}], failure_case="")
    assert got.status == "invalid_evidence"
