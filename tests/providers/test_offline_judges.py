"""Judges that call no model: the rules, the scripted one, recorded verdicts; and how judges are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judge.errors import ConfigError, RequestRefused, RetryableError, TerminalError, UnknownName
from judge.providers import connect, known_judges
from judge.providers.rules import apply_rules
from judge.types.metric import MetricResult
from judge.types.request import Reply

PASS_FAIL = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "evidence": {"type": "array"},
        "score": {"type": "string", "enum": ["pass", "fail", "unknown"]},
    },
}


def facts(**values: Any) -> dict[str, MetricResult]:
    """Facts of a clean run, with the given values in place."""
    clean = {
        "answered_without_tool": False,
        "stop_behaviour": "answered",
        "num_redundant_calls": 0,
        "num_exact_repeats": 0,
        "num_failed_calls": 0,
    }
    out = {}
    for name, value in (clean | values).items():
        if value is None:
            out[name] = MetricResult(value=None, unit="calls", reason="no flag in this format")
        else:
            out[name] = MetricResult(value=value, unit="calls", steps=(2,) if value != clean.get(name) else ())
    return out


def answer(reply: Reply) -> Any:
    return json.loads(reply.text or "null")


@pytest.mark.parametrize(
    ("values", "score"),
    [
        ({}, 5),  # 1.0 left
        ({"num_redundant_calls": 1}, 3),  # 1 - 1/2 = 0.5
        ({"num_redundant_calls": 2}, 2),  # 1 - 5/8 = 0.375: between 2 and 3, the lower
        ({"num_redundant_calls": 2, "num_exact_repeats": 1}, 1),  # 0.125: between 1 and 2, the lower
        ({"num_redundant_calls": 50}, 2),  # 1 - 3/4 = 0.25
        ({"answered_without_tool": True}, 1),  # 0
        ({"stop_behaviour": "hit_limit"}, 2),  # 1/4
        ({"num_failed_calls": 2, "error_recovery": 1.0}, 5),
        ({"num_failed_calls": 2, "error_recovery": 0.5}, 4),  # 1 - 1/4
        ({"num_failed_calls": 2, "error_recovery": 0.0}, 3),
        ({"num_failed_calls": 2}, 4),  # recovery not measured: 1 - 1/4
        ({"answered_without_tool": True, "stop_behaviour": "error", "num_exact_repeats": 9}, 1),  # never below
    ],
)
def test_the_rules_by_their_table(
    values: dict[str, Any], score: int, make_settings: Any, make_request: Any, run: Any
) -> None:
    reply = run(connect("rules/process", make_settings()).complete(make_request(facts=facts(**values))))
    assert answer(reply)["score"] == score
    assert list(answer(reply)) == ["reason", "evidence", "score"]
    assert {cited["step"] for cited in answer(reply)["evidence"]} <= {1, 2}


def test_the_rules_cite_the_steps_in_words(make_settings: Any, make_request: Any, run: Any) -> None:
    reply = run(connect("rules/process", make_settings()).complete(make_request(facts=facts(num_redundant_calls=1))))
    assert answer(reply)["reason"] == "1 redundant call [S2]."
    assert answer(reply)["evidence"] == [{"step": 2, "quote": ""}]


def test_an_absent_fact_takes_nothing_off_and_is_named(make_settings: Any, make_request: Any, run: Any) -> None:
    reply = run(connect("rules/process", make_settings()).complete(make_request(facts=facts(num_failed_calls=None))))
    assert answer(reply)["score"] == 5
    assert "Not known: num_failed_calls (no flag in this format)" in answer(reply)["reason"]


def test_without_any_fact_the_rules_abstain(make_settings: Any, make_request: Any, run: Any) -> None:
    reply = run(connect("rules/process", make_settings()).complete(make_request()))
    assert answer(reply)["score"] == "unknown"
    assert apply_rules({})[0] is None


def test_the_rules_answer_a_binary_criterion_in_words(make_settings: Any, make_request: Any, run: Any) -> None:
    connection = connect("rules/process", make_settings())
    for values, word in (({}, "pass"), ({"answered_without_tool": True}, "fail")):
        request = make_request(schema=PASS_FAIL, criteria={"process": (0, 1)}, facts=facts(**values))
        assert answer(run(connection.complete(request)))["score"] == word


def test_several_criteria_are_keyed_by_id(make_settings: Any, make_request: Any, run: Any) -> None:
    schema = {"type": "object", "properties": {"a": make_request().reply_schema, "b": PASS_FAIL}}
    request = make_request(schema=schema, criteria={"a": (1, 5), "b": (0, 1)}, facts=facts())
    reply = run(connect("rules/process", make_settings()).complete(request))
    assert {name: each["score"] for name, each in answer(reply).items()} == {"a": 5, "b": "pass"}


@pytest.mark.parametrize(("name", "score"), [("4", 4), ("2.5", 2.5), ("pass", "pass"), ("unknown", "unknown")])
def test_always_gives_the_same_answer(name: str, score: Any, make_settings: Any, make_request: Any, run: Any) -> None:
    connection = connect(f"fake/always-{name}", make_settings())
    got = [answer(run(connection.complete(make_request(sample=k)))) for k in range(3)]
    assert [each["score"] for each in got] == [score] * 3
    assert got[0]["evidence"] == [{"step": 1, "quote": ""}]
    assert connection.requests == 3


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "script.yaml"
    path.write_text(text, encoding="utf-8")
    return f"fake/{path}"


def test_a_script_of_replies_in_order(tmp_path: Path, make_settings: Any, make_request: Any, run: Any) -> None:
    name = script(
        tmp_path,
        """
        replies:
          - 5
          - score: 2
            reason: Twice.
            evidence: [2, {step: 1, quote: hello}]
            usage: {input_tokens: 7, output_tokens: 3}
          - {text: "I would say four.", delay: 0.01}
          - {finish: length, text: '{"reason'}
          - {finish: content_filter}
          - {text: ""}
        """,
    )
    connection = connect(name, make_settings())
    replies = [run(connection.complete(make_request())) for _ in range(6)]
    assert answer(replies[1]) == {
        "reason": "Twice.",
        "evidence": [{"step": 2, "quote": ""}, {"step": 1, "quote": "hello"}],
        "score": 2,
    }
    assert replies[1].usage.input_tokens == 7
    assert replies[2].text == "I would say four."
    assert [reply.status for reply in replies] == ["ok", "ok", "ok", "truncated", "content_filter", "empty"]
    with pytest.raises(RequestRefused, match="has 6 replies and this is call 7"):
        run(connection.complete(make_request()))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("401", TerminalError),
        ("quota", TerminalError),
        ("429", RetryableError),
        ("503", RetryableError),
        ("timeout", RetryableError),
        ("connection", RetryableError),
        ("400", RequestRefused),
    ],
)
def test_scripted_errors_are_the_errors_of_a_server(
    error: str, kind: type[Exception], tmp_path: Path, make_settings: Any, make_request: Any, run: Any
) -> None:
    name = script(tmp_path, f"default: {{error: {error}, message: broken here}}")
    with pytest.raises(kind, match="broken here"):
        run(connect(name, make_settings(http_retries=0)).complete(make_request()))


def test_a_script_by_trajectory_sample_and_try(tmp_path: Path, make_settings: Any, make_request: Any, run: Any) -> None:
    name = script(tmp_path, "trajectories: {run-1: [5, [{error: 503, retry_after: 7}, 3]], run-2: 1}\ndefault: 2")
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    connection = connect(name, make_settings(), sleep=sleep)
    asked = [("run-1", 0), ("run-1", 1), ("run-2", 9), ("run-3", 0)]
    got = [run(connection.complete(make_request(trajectory_id=t, sample=k))) for t, k in asked]
    assert [answer(reply)["score"] for reply in got] == [5, 3, 1, 2]
    assert waits == [7.0]
    with pytest.raises(RequestRefused, match="sample 2 was asked for"):
        run(connection.complete(make_request(trajectory_id="run-1", sample=2)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no mapping"),
        ("answers: [1]", "unknown keys: answers"),
        ("replies: [{scoer: 1}]", "unknown keys: scoer"),
        ("replies: [no]", "quote words"),
        ("replies: [good]", "which is none of pass, fail"),
        ("replies: [", "does not parse"),
    ],
)
def test_a_wrong_script_is_an_error(text: str, said: str, tmp_path: Path, make_settings: Any) -> None:
    with pytest.raises(ConfigError, match=said):
        connect(script(tmp_path, text), make_settings())


def test_offline_judges_are_not_cached_unless_their_script_says_so(
    tmp_path: Path, make_settings: Any, make_request: Any
) -> None:
    class Kept(dict[str, str]):
        put = dict.__setitem__

        def close(self) -> None: ...

    for text, entries in (("default: 3", 0), ("{default: 3, cache: true}", 1)):
        cache = Kept()
        connection = connect(script(tmp_path, text), make_settings(), cache=cache)
        connection.keep(make_request(), Reply(text="{}"))
        assert len(cache) == entries


RECORDED = [
    {"trajectory_id": "run-1", "score": 4, "reason": "Fine.", "evidence": [2]},
    {"trajectory_id": "run-1", "score": 3, "reason": "Second sample."},
    {"trajectory_id": "run-2", "criterion": "process", "score": 1},
]


def recorded(tmp_path: Path, records: list[Any]) -> str:
    path = tmp_path / "verdicts.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n", encoding="utf-8")
    return f"replay/{path}"


def test_recorded_verdicts_are_answered_again(tmp_path: Path, make_settings: Any, make_request: Any, run: Any) -> None:
    connection = connect(recorded(tmp_path, RECORDED), make_settings())
    asked = [("run-1", 0), ("run-1", 1), ("run-2", 0)]
    got = [answer(run(connection.complete(make_request(trajectory_id=t, sample=k)))) for t, k in asked]
    assert got[0] == {"reason": "Fine.", "evidence": [{"step": 2, "quote": ""}], "score": 4}
    assert [each["score"] for each in got] == [4, 3, 1]
    with pytest.raises(RequestRefused, match="2 samples of trajectory 'run-1', and sample 2"):
        run(connection.complete(make_request(sample=2)))
    with pytest.raises(RequestRefused, match="no verdict on trajectory 'run-9'"):
        run(connection.complete(make_request(trajectory_id="run-9")))


def test_the_votes_of_a_recorded_verdict_are_its_samples(
    tmp_path: Path, make_settings: Any, make_request: Any, run: Any
) -> None:
    votes = [
        {"status": "ok", "score": 4, "reason": "r", "evidence": [2], "quotes": [{"step": 2, "text": "hi"}]},
        {"status": "abstain", "score": None},
        {"status": "unparsed", "score": None, "raw_head": "I think"},
        {"status": "refusal", "score": None},
    ]
    verdict = {"schema": "judge.verdict/1", "trajectory_id": "run-1", "criteria": [{"id": "process", "votes": votes}]}
    connection = connect(recorded(tmp_path, [verdict]), make_settings())
    replies = [run(connection.complete(make_request(sample=k))) for k in range(4)]
    assert answer(replies[0])["evidence"] == [{"step": 2, "quote": "hi"}]
    assert answer(replies[1])["score"] == "unknown"
    assert (replies[2].status, replies[2].text) == ("ok", "I think")  # the parser fails on it again
    assert replies[3].status == "refusal"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no recorded verdict"),
        ('{"trajectory_id": "a", "score": 1}\n{"traj', "line 2 is not JSON"),
        ('{"id": "a"}', "an object with a trajectory_id"),
        ('{"trajectory_id": "a", "score": null}', "needs a score, found None"),
        ('{"trajectory_id": "a", "score": true}', "needs a score, found True"),
    ],
)
def test_a_wrong_recording_is_an_error(content: str, said: str, tmp_path: Path, make_settings: Any) -> None:
    path = tmp_path / "v.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        connect(f"replay/{path}", make_settings())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("opnai/gpt-4o", "Did you mean 'openai/gpt-4o'"),
        ("gpt-4o", "PROVIDER/MODEL"),
        ("openai", "names no model"),
        ("openai/", "names no model"),
        ("rules/proces", "Did you mean 'process'"),
        ("local/smollm", "smollm2-135m"),
    ],
)
def test_a_wrong_name_suggests_the_right_one(name: str, said: str, make_settings: Any) -> None:
    with pytest.raises(UnknownName, match=said):
        connect(name, make_settings())


@pytest.mark.parametrize("name", ["fake/always-good", "fake/no-such-file.yaml", "replay/no-such-file.jsonl"])
def test_a_missing_file_is_a_clear_error(name: str, make_settings: Any) -> None:
    with pytest.raises(ConfigError):
        connect(name, make_settings())


def test_the_list_of_judges_says_what_is_missing(make_settings: Any) -> None:
    listed = {judge.name: judge for judge in known_judges(make_settings())}
    assert not listed["openai/MODEL"].ready
    assert "OPENAI_API_KEY" in listed["openai/MODEL"].detail
    assert listed["rules/process"].ready
    assert not listed["local/smollm2-135m"].ready  # an empty cache folder has no weights
    keyed = {judge.name: judge for judge in known_judges(make_settings({"OPENAI_API_KEY": "sk-0123456789"}))}
    assert keyed["openai/MODEL"].ready
    assert "sk-0123456789" not in str(keyed)
