"""Credentials: each kind by its shape, everywhere in a run; placeholders and prose are none; nothing is printed."""

from __future__ import annotations

import time
from typing import Any

import pytest
from policy_runs import call, end, rule, run, say

from judge.policy.secrets import KINDS, MASK, kinds_in, mask, shown
from judge.types import ErrorStep, Json, Text, ToolCall, ToolResult, Unknown

# Written in two pieces, so that this file holds no text of the shape of a key.
EXAMPLES = {
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow",
    "AWS access key": "key AKIA" + "Q7RT2M5XW9ZK4HNB.",
    "GitHub token": "ghp_" + "a1B2" * 9,
    "GitLab token": "glpat-" + "Xy9_" * 5,
    "Slack token": "xoxb-" + "1234567890-abcdef",
    "Stripe key": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "model provider key": "sk-ant-" + "api03-Zm9vYmFyYmF6cXV4",
    "Google API key": "AIza" + "B7" * 17 + "Q",
    "Hugging Face token": "hf_" + "aBcD" * 9,
    "npm token": "npm_" + "a1B2" * 9,
    "SendGrid key": "SG." + "abcdefghij0123456789" + "." + "klmnopqrst0123456789",
    "JSON web token": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0NSJ9" + ".c2lnbmF0dXJl",
    "password in a URL": "postgres://app:" + "hunter2go" + "@db.internal/main",
    "bearer token": "Authorization: Bearer " + "f3a9c1d27b604e58",
    "named secret": "password = " + "correct-horse",
}


@pytest.mark.parametrize(("kind", "text"), EXAMPLES.items(), ids=EXAMPLES)
def test_each_kind_is_found_named_and_masked(kind: str, text: str) -> None:
    assert kinds_in(text) == [kind]
    assert MASK in mask(f"so {text} it is")
    found = rule(run(call("send", note=text)), no_credentials=True)
    assert (found.status, found.steps) == ("failed", (1,))
    assert found.detail == f"{kind[:1].upper()}{kind[1:]} in an argument of send [S1]."


def test_every_kind_has_an_example() -> None:
    assert set(EXAMPLES) == set(KINDS)


SECRET = EXAMPLES["GitHub token"]
PLACES: dict[str, tuple[list[Any], str]] = {
    "a nested argument": (call("f", a=[{"b": {"c": f"x {SECRET}"}}]), "an argument of f"),
    "the name of an argument": (call("f", **{SECRET: 1}), "an argument of f"),
    "arguments that are no JSON": (
        [ToolCall(index=1, name="f", arguments_raw=f"{{{SECRET}", arguments_error="no JSON")],
        "an argument of f",
    ),
    "a message": (say(SECRET), "a message"),
    "a message of the user": (say(SECRET, "user"), "a message"),
    "a result": ([ToolResult(index=1, content=(Text(text=SECRET),))], "a result"),
    "a result as JSON": ([ToolResult(index=1, content=(Json(value={"a": SECRET}),))], "a result"),
    "a result of an unknown type": ([ToolResult(index=1, content=(Unknown(raw=[SECRET]),))], "a result"),
    "a structured result": ([ToolResult(index=1, structured={"token": SECRET})], "a result"),
    "the answer": (end(text=f"It is {SECRET}"), "the final answer"),
    "an error": ([ErrorStep(index=1, message=SECRET)], "a step of kind error"),
}


@pytest.mark.parametrize(("parts", "place"), PLACES.values(), ids=PLACES)
def test_every_place_is_searched(parts: list[Any], place: str) -> None:
    found = rule(run(parts), no_credentials={"kinds": "GitHub token"})
    assert found.status == "failed"
    assert found.detail.startswith(f"GitHub token in {place} [S1]")
    assert SECRET not in found.detail


def test_a_password_is_found_by_the_name_of_its_field() -> None:
    found = rule(run(call("login", user="a", password="hunter22")), no_credentials=True)
    assert found.detail == "Named secret in an argument of login [S1]."
    excepted = {"except_tools": "login"}
    assert rule(run(call("login", password="hunter22")), no_credentials=excepted).status == "passed"


@pytest.mark.parametrize(
    "text",
    [
        "password: ********",
        "set api_key=<your key>",
        "API_KEY=${SERVICE_KEY}",
        "password: required",
        "the password is wrong",
        "secret santa starts at noon",
        "https://example.com/a:b",
        "token: none",
        "sk-short",
        "bearer of bad news",
        "task_id sk_buff_headroom",
        "api_key=your_api_key",
        "the access token has expired",
    ],
)
def test_prose_and_placeholders_are_no_credentials(text: str) -> None:
    assert kinds_in(text) == []
    assert mask(text) == text


def test_a_value_beside_a_telling_name_is_hidden_in_details() -> None:
    assert shown("hunter2", "auth.password") == MASK
    assert shown(EXAMPLES["AWS access key"], "note") == f'"key {MASK}."'
    found = rule(run(call("f", password="hunter22")), allowed={"tools": "f", "argument": "password", "values": ["x"]})
    assert found.status == "failed"
    assert "hunter22" not in found.detail


@pytest.mark.parametrize("unit", ["eyJ", "a://a:", "password", "sk-", "-----BEGIN A ", "bearer ", "x.y@", "SG."])
def test_time_is_linear_in_the_length_of_a_text(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        best = float("inf")
        for _ in range(5):
            start = time.thread_time()
            kinds_in(text)
            best = min(best, time.thread_time() - start)
        return best

    assert seconds(80_000) < 40 * max(seconds(10_000), 1e-4)  # eight times the length; 64 would be quadratic
