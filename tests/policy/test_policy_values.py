"""Rules of values, invariants and caps: kept, broken at the right step, vacuous, not applicable."""

from __future__ import annotations

import pytest
from policy_runs import Case, call, end, hold, run

from judge.types import Final, Message, Outcome, Retry, Tool, Usage

ONE_CHARGE = {"tools": "refund", "argument": "charge", "values": ["ch_2", 3]}
TOTAL = {"tools": "refund", "argument": "amount", "at_most": 288.0}
FROM = {"tools": "refund", "argument": "charge", "result_of": "invoice", "field": "charges.*.id"}
INVOICE = call("invoice", structured={"charges": [{"id": "ch_1"}, {"id": "ch_2"}]})
WHOLE = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}, "required": ["n"]}

VALUES: dict[str, Case] = {
    "allowed": (
        run(call("refund", charge="ch_2"), call("refund", charge=3.0)),
        {"allowed": ONE_CHARGE},
        "passed",
        (),
        "",
    ),
    "not allowed": (
        run(call("refund", charge="ch_1")),
        {"allowed": ONE_CHARGE},
        "failed",
        (1,),
        '"ch_1", which is not',
    ),
    "not allowed, blocked": (
        run(call("refund", "denied", charge="x")),
        {"allowed": ONE_CHARGE},
        "failed",
        (1,),
        "denied",
    ),
    "left out": (run(call("refund")), {"allowed": ONE_CHARGE}, "failed", (1,), "charge is missing"),
    "may be left out": (run(call("refund")), {"allowed": {**ONE_CHARGE, "optional": True}}, "passed", (), ""),
    "true is not 1": (
        run(call("f", x=True)),
        {"allowed": {"tools": "f", "argument": "x", "values": [1]}},
        "failed",
        (1,),
        "",
    ),
    "nested": (
        run(call("f", a={"b": [1, 2]})),
        {"allowed": {"tools": "f", "argument": "a.b.*", "values": [1]}},
        "failed",
        (1,),
        "2",
    ),
    "no call to allow": (run(call("look")), {"allowed": ONE_CHARGE}, "passed", (), "refund was not called"),
    "sum within": (run(call("refund", amount=288.0)), {"sum": TOTAL}, "passed", (), "288.0 over 1 successful call,"),
    "split in two halves over the limit": (
        # 144.01 + 144.00 = 288.01
        run(call("refund", amount=144.01), call("refund", amount=144.0)),
        {"sum": TOTAL},
        "failed",
        (3,),
        "288.01",
    ),
    "twice the whole": (
        run(call("refund", amount=288.0), call("refund", amount=288.0)),
        {"sum": TOTAL},
        "failed",
        (3,),
        "576.0",
    ),
    "tenths add up exactly": (
        # in binary floating point 0.1 + 0.2 > 0.3
        run(call("refund", amount=0.1), call("refund", amount=0.2)),
        {"sum": {**TOTAL, "at_most": 0.3}},
        "passed",
        (),
        "0.3",
    ),
    "failed calls do not add": (
        run(call("refund", "error", amount=288), call("refund", amount="288.00")),
        {"sum": TOTAL},
        "passed",
        (),
        "",
    ),
    "a negative amount": (
        run(call("refund", amount=-300), call("refund", amount=500)),
        {"sum": TOTAL},
        "failed",
        (1,),
        "hide another",
    ),
    "no number": (run(call("refund", amount="much")), {"sum": TOTAL}, "failed", (1,), "no number"),
    "no amount": (run(call("refund")), {"sum": TOTAL}, "failed", (1,), "amount is missing"),
    "not a number": (run(call("refund", amount="NaN")), {"sum": TOTAL}, "failed", (1,), "no number"),
    "nothing to add": (run(call("look")), {"sum": TOTAL}, "passed", (), "nothing adds up"),
    "from a result": (run(INVOICE, call("refund", charge="ch_2")), {"from_result": FROM}, "passed", (), ""),
    "invented": (
        run(INVOICE, call("refund", charge="ch_3")),
        {"from_result": FROM},
        "failed",
        (3,),
        "no earlier result",
    ),
    "from a later result": (run(call("refund", charge="ch_2"), INVOICE), {"from_result": FROM}, "failed", (1,), ""),
    "from a failed result": (
        run(call("invoice", "error", {"charges": [{"id": "ch_2"}]}), call("refund", charge="ch_2")),
        {"from_result": FROM},
        "failed",
        (3,),
        "",
    ),
    "fits the schema": (run(call("f", n=5)), {"arguments": {"tools": "f", "schema": WHOLE}}, "passed", (), ""),
    "too much": (
        run(call("f", n=6)),
        {"arguments": {"tools": "f", "schema": WHOLE}},
        "failed",
        (1,),
        "n breaks maximum: 5",
    ),
    "key missing": (run(call("f")), {"arguments": {"tools": "f", "schema": WHOLE}}, "failed", (1,), "n is missing"),
    "declared schema": (
        run(call("f", n="x"), tools=(Tool(name="f", parameters=WHOLE),)),
        {"arguments": {"tools": "f"}},
        "failed",
        (1,),
        "n breaks type: integer",
    ),
    "no schema declared": (run(call("f")), {"arguments": {"tools": "f"}}, "not_applicable", (), "no parameters of f"),
    "declared schema unusable": (
        run(call("f"), tools=(Tool(name="f", parameters={"type": "nonsense"}),)),
        {"arguments": {"tools": "f"}},
        "not_applicable",
        (),
        "no JSON Schema",
    ),
}

FILES = {"read": "open", "write": "save", "path": "path"}
READ_FIRST = {"read": "look*", "mutate": ["save", "drop"]}
AGREES = {"completed": ["refunded", "escalated"], "failed": ["blocked"]}

INVARIANTS: dict[str, Case] = {
    "read, then written": (
        run(call("open", path="./a"), call("save", path="a")),
        {"read_before_write": FILES},
        "passed",
        (),
        "",
    ),
    "written unread": (
        run(call("open", path="a"), call("save", path="b")),
        {"read_before_write": FILES},
        "failed",
        (3,),
        '"b" without',
    ),
    "read after the write": (
        run(call("save", path="a"), call("open", path="a")),
        {"read_before_write": FILES},
        "failed",
        (1,),
        "",
    ),
    "read in vain": (
        run(call("open", "error", path="a"), call("save", path="a")),
        {"read_before_write": FILES},
        "failed",
        (3,),
        "",
    ),
    "a blocked write counts": (
        run(call("save", "denied", path="a")),
        {"read_before_write": FILES},
        "failed",
        (1,),
        "[S1] denied",
    ),
    "nothing written": (run(call("open", path="a")), {"read_before_write": FILES}, "passed", (), "save was not called"),
    "mutation after a read": (
        run(call("look_up"), call("drop")),
        {"read_before_mutation": READ_FIRST},
        "passed",
        (),
        "",
    ),
    "mutation first": (
        run(call("drop"), call("look_up"), call("save")),
        {"read_before_mutation": READ_FIRST},
        "failed",
        (1,),
        "drop [S1]",
    ),
    "mutation without a read": (run(call("drop")), {"read_before_mutation": READ_FIRST}, "failed", (1,), "at all"),
    "once each": (run(call("f", a=1), call("f", a=2), call("g", a=1)), {"no_repeats": True}, "passed", (), ""),
    "an identical call": (
        run(call("f", a=1, b=2), call("f", b=2, a=1.0)),
        {"no_repeats": True},
        "failed",
        (3,),
        "up to 2 times, allowed once",
    ),
    "twice is allowed": (
        run(call("f"), call("f"), call("f")),
        {"no_repeats": {"at_most": 2}},
        "failed",
        (5,),
        "up to 3 times",
    ),
    "only these tools": (run(call("f"), call("f")), {"no_repeats": {"tools": "g"}}, "passed", (), ""),
    "finish agrees": (
        run(end("refunded"), outcome=Outcome(status="completed")),
        {"finish_agrees": AGREES},
        "passed",
        (),
        "",
    ),
    "finish claims too much": (
        run(call("f"), end("refunded"), outcome=Outcome(status="failed")),
        {"finish_agrees": AGREES},
        "failed",
        (3,),
        "'refunded', and its outcome is failed",
    ),
    "same word": (
        run(end("completed"), outcome=Outcome(status="limit")),
        {"finish_agrees": True},
        "failed",
        (1,),
        "limit",
    ),
    "no outcome": (run(end("refunded")), {"finish_agrees": AGREES}, "not_applicable", (), "no outcome"),
    "no status": (
        run(end(), outcome=Outcome(status="failed")),
        {"finish_agrees": AGREES},
        "not_applicable",
        (),
        "status",
    ),
}

KNOWN = Usage(input_tokens=100, output_tokens=20, cost_usd=0.3)
HALF = [
    Message(index=1, role="assistant", turn="a", usage=KNOWN),
    Message(index=2, role="assistant", turn="b"),
]

CAPS: dict[str, Case] = {
    "calls within": (
        run(call("f"), call("g")),
        {"at_most": {"tool_calls": 2}},
        "passed",
        (),
        "2 of at most 2 tool calls",
    ),
    "calls over": (
        run(call("f"), call("g"), call("h")),
        {"at_most": {"tool_calls": 1}},
        "failed",
        (3, 5),
        "3 of at most 1",
    ),
    "steps over": (run(call("f"), end()), {"at_most": {"steps": 2}}, "failed", (3,), "3 of at most 2 steps"),
    "tokens": (run(end(), usage=KNOWN), {"at_most": {"tokens": 119}}, "failed", (), "120 of at most 119 tokens"),
    "tokens unknown": (run(end()), {"at_most": {"tokens": 119}}, "not_applicable", (), "no token usage is recorded"),
    "price": (run(end(), usage=KNOWN), {"at_most": {"usd": 0.3}}, "passed", (), "0.3 of at most 0.3 USD"),
    "price unknown": (run(end()), {"at_most": {"usd": 1}}, "not_applicable", (), "no price is recorded"),
    "price partly known": (run(HALF), {"at_most": {"usd": 1}}, "not_applicable", (), "1 of 2 model calls"),
    "price partly known and over": (run(HALF), {"at_most": {"usd": 0.2}}, "failed", (), "at least 0.3"),
    "seconds unknown": (run(end()), {"at_most": {"seconds": 1}}, "not_applicable", (), "no times"),
    "seconds": (
        run(
            [
                Message(index=1, role="user", ts="2026-01-01T00:00:00Z"),
                Final(index=2, ts="2026-01-01T00:01:00Z", text="x"),
            ]
        ),
        {"at_most": {"seconds": 59}},
        "failed",
        (),
        "60 of at most 59 seconds",
    ),
    "retries": (
        run(call("f", "error", a=1), call("f", "error", a=1), call("f", a=1)),
        {"at_most": {"retries": 1}},
        "failed",
        (5,),
        "2 of at most 1 retries",
    ),
    "retry steps": (run([Retry(index=1), Retry(index=2)]), {"at_most": {"retries": 1}}, "failed", (2,), ""),
    "not retried": (run(call("f", "error", a=1), call("f", a=2)), {"at_most": {"retries": 0}}, "passed", (), ""),
}

CASES = {
    **{f"values: {name}": case for name, case in VALUES.items()},
    **{f"invariants: {name}": case for name, case in INVARIANTS.items()},
    **{f"caps: {name}": case for name, case in CAPS.items()},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_rule_gives_status_steps_and_reason(case: Case) -> None:
    hold(case)
