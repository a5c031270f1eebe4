"""Malformed policy files: an error with line and suggestion, exit status 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judge.cli.main import run as command
from judge.document import Finding
from judge.errors import PolicyError
from judge.policy import explain, lint_policy, load_policy, parse_policy
from judge.policy.lint import CODES, lint_text
from judge.types.policy import KINDS

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / "scripts" / "policies").glob("*.yaml"))

# name → (lines of `checks`, or the whole text where it begins with "=", line, code, words of the message)
MALFORMED: dict[str, tuple[str, int, str, str]] = {
    "no mapping": ("=- a\n- b", 1, "syntax", "A policy is a YAML mapping"),
    "no YAML": ("=id: [", 1, "syntax", "not YAML"),
    "empty": ("=", 1, "syntax", "A policy is a YAML mapping"),
    "no checks": ("=id: p", 1, "invalid", "lacks the key 'checks'"),
    "no check": ("=id: p\nchecks: []", 2, "invalid", "checks is a list"),
    "unknown key of the file": ("=id: p\ncheck: []", 2, "unknown-key", "'check'. Did you mean 'checks'?"),
    "no id": ("- must_call: f", 3, "invalid", "lacks the key 'id'"),
    "unknown key of a check": ("- {id: a, must_cal: f}", 3, "unknown-key", "'must_cal'. Did you mean 'must_call'?"),
    "unknown key of a rule": ("- id: a\n  before: {frist: f, then: g}", 4, "unknown-key", "Did you mean 'first'?"),
    "unknown cap": ("- id: a\n  at_most: {toolcalls: 3}", 4, "unknown-key", "Did you mean 'tool_calls'?"),
    "unknown outcome": ("- id: a\n  finish_agrees: {complete: x}", 4, "unknown-key", "Did you mean 'completed'?"),
    "unknown severity": ("- id: a\n  severity: ruel\n  must_call: f", 4, "invalid", "'ruel'. Did you mean 'rule'?"),
    "unknown status rule": ("=id: p\nunknown_status: ok\nchecks: []", 2, "invalid", "Known here: succeeded, failed."),
    "unknown kind of credential": (
        "- id: a\n  no_credentials: {kinds: [GitHub tokens]}",
        4,
        "unknown-kind",
        "Did you mean 'GitHub token'?",
    ),
    "two rules in a check": (
        "- id: a\n  must_call: f\n  no_repeats: true",
        3,
        "invalid",
        "has must_call and no_repeats",
    ),
    "no rule in a check": ("- id: a\n  note: x", 3, "invalid", "has no rule: give it exactly one of before"),
    "two caps": ("- id: a\n  at_most: {steps: 3, usd: 1}", 4, "invalid", "one cap, and 2 stand here"),
    "a key twice": ("- id: a\n  must_call: f\n  must_call: g", 5, "duplicate-key", "'must_call' stands twice"),
    "unquoted boolean": ("- id: a\n  must_call: [f, no]", 4, "unquoted-boolean", 'quote it, "no"'),
    "unquoted yes as a value": (
        "- id: a\n  allowed: {tools: f, argument: x, values: [yes]}",
        4,
        "unquoted-boolean",
        'quote it, "yes"',
    ),
    "a list of nothing": ("- id: a\n  must_call: []", 4, "invalid", "must_call is a list"),
    "a number as a mapping": ("- id: a\n  sum: 3", 4, "invalid", "needed a mapping with tools, argument, at_most"),
    "a key of a rule missing": ("- id: a\n  sum: {tools: f, argument: x}", 4, "invalid", "lacks the key 'at_most'"),
    "a limit that is no number": (
        "- id: a\n  sum: {tools: f, argument: x, at_most: much}",
        4,
        "invalid",
        "at_most is 'much'",
    ),
    "repeats below one": ("- id: a\n  no_repeats: {at_most: 0}", 4, "invalid", "greater than or equal to 1"),
    "duplicate id": ("- {id: a, must_call: f}\n- {id: a, must_call: g}", 4, "duplicate-id", "check in line 3"),
    "called and not called": (
        "- {id: a, must_call: f}\n- {id: b, must_not_call: [g, f]}",
        4,
        "contradiction",
        "must_call of check 'a' and in must_not_call of 'b'",
    ),
    "called and forbidden by pattern": (
        "- {id: a, must_not_call: 'del*'}\n- {id: b, must_call: delete}",
        4,
        "contradiction",
        "'delete' stands in must_call",
    ),
    "ends with what is forbidden": (
        "- {id: a, must_not_call: f}\n- {id: b, must_end_with: f}",
        4,
        "contradiction",
        "must_end_with",
    ),
    "before itself": ("- id: a\n  before: {first: f, then: f}", 4, "contradiction", "cannot come before itself"),
    "before and after": (
        "- id: a\n  before: {first: f, then: g}\n- id: b\n  before: {first: g, then: f}",
        6,
        "contradiction",
        "'a' after it",
    ),
    "nothing allowed": (
        "- id: a\n  allowed: {tools: f, argument: x, values: []}",
        4,
        "contradiction",
        "values is empty",
    ),
    "nothing allowed by both": (
        "- id: a\n  allowed: {tools: f, argument: x, values: [1]}\n"
        "- id: b\n  allowed: {tools: f, argument: x, values: [2]}",
        6,
        "contradiction",
        "no common value",
    ),
    "negative sum": ("- id: a\n  sum: {tools: f, argument: x, at_most: -1}", 4, "contradiction", "use 0 or more"),
    "negative cap": ("- id: a\n  at_most: {usd: -0.1}", 4, "contradiction", "use 0 or more"),
    "half a call": ("- id: a\n  at_most: {tool_calls: 2.5}", 4, "contradiction", "whole numbers: use 2"),
    "cap below what must be called": (
        "- {id: a, must_call: [f, g]}\n- id: b\n  at_most: {tool_calls: 1}",
        5,
        "contradiction",
        "cannot hold the 2",
    ),
    "tool that the list lacks": (
        "=id: p\ntools: [issue_refund]\nchecks:\n- {id: a, must_call: isue_refund}",
        4,
        "unknown-tool",
        "Did you mean 'issue_refund'?",
    ),
    "no schema": ("- id: a\n  arguments: {tools: f, schema: {type: text}}", 4, "schema", "no JSON Schema at 'type'"),
    "schema from elsewhere": (
        "- id: a\n  arguments: {tools: f, schema: {$ref: 'http://x.example/s.json'}}",
        4,
        "schema",
        "nothing is fetched",
    ),
}


def written(body: str) -> str:
    return body[1:] if body.startswith("=") else f"id: p\nchecks:\n{body}\n"


@pytest.mark.parametrize(("body", "line", "code", "said"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_policy_is_an_error_with_line_and_suggestion(
    body: str, line: int, code: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = written(body)
    found = [finding for finding in lint_text(text) if finding.code == code and said in finding.message]
    assert [finding.line for finding in found] == [line], lint_text(text)
    with pytest.raises(PolicyError, match=r"^bad\.yaml:\d+: "):
        parse_policy(text, where="bad.yaml")
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    assert command(["check", "no-such-trace.json", "--policy", str(path), "--json"]) == 2
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["kind"] == "policy_error"
    assert error["message"].startswith(f"{path}:")
    assert command(["policies", "lint", str(path)]) == 2
    assert f"{path}:{line}: error: {code}: " in capsys.readouterr().out


def test_every_code_of_an_error_is_tried() -> None:
    assert {code for _, _, code, _ in MALFORMED.values()} == set(CODES)


TYPO = "id: p\nchecks:\n- id: a\n  must_not_call: isue_refund\n- id: b\n  must_not_call: launch_rocket\n"


def test_a_tool_that_never_occurs_is_an_error_only_near_one_that_does(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(TYPO, encoding="utf-8")
    assert lint_policy(path) == ()

    def short(findings: tuple[Finding, ...]) -> list[tuple[int, str, str]]:
        return [(finding.line, finding.severity, finding.code) for finding in findings]

    found = lint_policy(path, {"issue_refund", "look"})
    assert short(found) == [(4, "error", "unknown-tool"), (6, "warning", "unknown-tool")]
    assert "Did you mean 'issue_refund'?" in found[0].message
    path.write_text("tools: [isue_refund, launch_rocket]\n" + TYPO, encoding="utf-8")
    assert lint_policy(path, {"issue_refund", "look"}) == ()


def test_a_pattern_occurs_when_some_tool_matches(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("id: p\nchecks: [{id: a, must_not_call: 'delete_*'}]", encoding="utf-8")
    assert lint_policy(path, {"delete_user"}) == ()
    assert [finding.severity for finding in lint_policy(path, {"look"})] == ["warning"]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_policies_are_clean(path: Path) -> None:
    assert lint_policy(path) == ()


def test_every_kind_of_rule_is_explained_and_documented() -> None:
    page = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    assert [kind for kind in (*KINDS, *CODES) if f"`{kind}`" not in page] == []
    blocks = page.split("```yaml\n")[1:]
    checks = [line for block in blocks for line in block.split("```")[0].splitlines() if line.startswith("  ")]
    policy = parse_policy("id: all\nchecks:\n" + "\n".join(checks), where="docs/policies.md")
    assert {rule.kind for rule in policy.checks} == set(KINDS)
    sentences = explain(policy)
    assert list(sentences) == [rule.id for rule in policy.checks]
    assert all(len(sentence) > 15 and sentence.endswith(".") for sentence in sentences.values())


def test_a_policy_may_be_given_as_a_mapping() -> None:
    policy = load_policy(
        {"id": "p", "checks": [{"id": "a", "allowed": {"tools": "f", "argument": "x", "values": ["1"]}}]}
    )
    assert policy.checks[0].allowed is not None
    assert policy.checks[0].allowed.values == ("1",)
    with pytest.raises(PolicyError, match="the policy given:"):
        load_policy({"id": "p"})


def test_a_missing_or_binary_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        load_policy(tmp_path / "none.yaml")
    (tmp_path / "x.yaml").write_bytes(b"id: \xff")
    with pytest.raises(PolicyError, match="not UTF-8"):
        load_policy(tmp_path / "x.yaml")
