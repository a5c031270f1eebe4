"""Every type goes through JSON and back unchanged, is frozen, and has a fingerprint that no process changes."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import judge.types as types
from judge.types import (
    Agent,
    AgentTransfer,
    Approval,
    BinaryScale,
    Calibrated,
    Check,
    ContextEdit,
    Criterion,
    CriterionResult,
    Diagnostic,
    ErrorStep,
    Event,
    ExpectedCall,
    Final,
    Json,
    JudgementError,
    JudgeSpec,
    Label,
    Level,
    LevelScale,
    Media,
    Message,
    MetricResult,
    Outcome,
    Quote,
    RangeScale,
    Reasoning,
    Record,
    Reference,
    Refusal,
    Reply,
    Request,
    Retry,
    Rubric,
    Sampling,
    Source,
    Statistic,
    Step,
    StepError,
    Subject,
    Text,
    TokenLogprob,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    Trust,
    Unknown,
    Usage,
    Verdict,
    ViewSettings,
    Vote,
)

ROOT = Path(__file__).resolve().parents[1]

# Lone surrogates are no text: UTF-8 cannot say them, so no file can hold them.
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
names = st.text("abcdefghij_", min_size=1, max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 2**53)
indices = st.integers(1, 10_000)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=3)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=3).map(tuple)


usages = st.builds(
    Usage,
    input_tokens=maybe(counts),
    output_tokens=maybe(counts),
    cache_read_input_tokens=maybe(counts),
    cost_usd=maybe(st.floats(0, 1e6)),
)
parts = st.one_of(
    st.builds(Text, text=texts),
    st.builds(Json, value=values),
    st.builds(Media, type=st.sampled_from(["image", "audio", "video", "document"]), uri=maybe(texts)),
    st.builds(Refusal, text=texts),
    st.builds(Unknown, original_type=maybe(texts), raw=values),
)
common: dict[str, st.SearchStrategy[Any]] = {
    "index": indices,
    "ts": maybe(st.just("2026-01-02T03:04:05.123456789Z")),
    "seconds": maybe(numbers),
    "turn": maybe(texts),
    "agent": maybe(texts),
    "parent": maybe(indices),
    "usage": maybe(usages),
    "provenance": st.sampled_from(["recorded", "copied_context", "synthetic"]),
    "extra": objects,
}
STEPS: dict[str, st.SearchStrategy[Any]] = {
    "message": st.builds(
        Message, role=st.sampled_from(["system", "user", "assistant", "tool"]), content=several(parts), **common
    ),
    "reasoning": st.builds(Reasoning, content=several(parts), redacted=st.booleans(), **common),
    "tool_call": st.builds(
        ToolCall,
        name=texts,
        call_id=maybe(texts),
        arguments=values,
        arguments_raw=maybe(texts),
        arguments_error=maybe(texts),
        attempt=st.integers(1, 9),
        **common,
    ),
    "tool_result": st.builds(
        ToolResult,
        call_index=maybe(indices),
        pairing=st.sampled_from(["id", "order", "nested", "name", "none"]),
        content=several(parts),
        structured=values,
        status=st.sampled_from(["ok", "error", "denied", "cancelled", "timeout", "missing", "unknown"]),
        error=maybe(st.builds(StepError, type=maybe(texts), message=maybe(texts))),
        **common,
    ),
    "approval": st.builds(
        Approval, state=st.sampled_from(["requested", "approved", "denied", "modified"]), tool=maybe(texts), **common
    ),
    "retry": st.builds(Retry, attempt=st.integers(2, 9), backoff_s=maybe(numbers), **common),
    "agent_transfer": st.builds(AgentTransfer, from_agent=maybe(texts), to_agent=maybe(texts), **common),
    "context_edit": st.builds(ContextEdit, op=texts, summary=maybe(texts), **common),
    "error": st.builds(ErrorStep, type=maybe(texts), message=maybe(texts), **common),
    "final": st.builds(Final, text=texts, status=maybe(texts), **common),
    "event": st.builds(Event, name=texts, data=values, **common),
}
trajectories = st.builds(
    Trajectory,
    id=texts,
    task=maybe(texts),
    group=maybe(texts),
    source=st.builds(Source, format=names, path=maybe(texts), sha256=maybe(texts), locator=maybe(texts)),
    agents=several(st.builds(Agent, name=texts, role=maybe(texts), model=maybe(texts))),
    tools=several(st.builds(Tool, name=texts, description=maybe(texts), parameters=values)),
    steps=several(st.one_of(*STEPS.values())),
    final=maybe(texts),
    outcome=maybe(st.builds(Outcome, stop_reason=maybe(texts))),
    usage=maybe(usages),
    labels=objects,
    diagnostics=several(st.builds(Diagnostic, code=texts, step=maybe(indices), message=texts)),
    meta=objects,
    extra=objects,
)
level_scales = st.lists(st.integers(-5, 9), min_size=2, max_size=4, unique=True).map(
    lambda found: LevelScale(
        levels=tuple(Level(value=v, name=f"level {v}", anchor=f"what {v} looks like") for v in sorted(found))
    )
)
range_scales = st.tuples(st.integers(-9, 9), st.integers(1, 9), maybe(st.sampled_from([0.5, 1.0]))).map(
    lambda found: RangeScale(min=found[0], max=found[0] + found[1], step=found[2])
)
scales = st.one_of(st.just(BinaryScale()), level_scales, range_scales)
criteria = st.builds(
    Criterion,
    id=st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True),
    question=st.text("abc ?", min_size=1),
    scale=scales,
    anchors=st.dictionaries(texts, texts, max_size=2),
    weight=st.floats(0.1, 9),
    applies_when=maybe(texts),
    evidence=st.sampled_from(["required", "optional", "none"]),
)
rubrics = st.builds(
    Rubric,
    id=st.just("mine"),
    version=texts,
    title=texts,
    intent=texts,
    criteria=st.lists(criteria, min_size=1, max_size=3, unique_by=lambda c: c.id).map(tuple),
    template=maybe(texts),
    view=st.builds(ViewSettings, reasoning=st.booleans(), result_chars=maybe(st.integers(200, 9000))),
    examples=several(texts),
)
samplings = st.builds(
    Sampling, temperature=maybe(st.floats(0, 2)), top_p=maybe(st.floats(0.01, 1)), seed=maybe(st.integers())
)
metric_values = st.none() | st.booleans() | st.integers(-99, 2**53) | numbers | texts
metric_results = st.builds(
    MetricResult, value=metric_values, unit=names, steps=several(indices), reason=maybe(texts), detail=maybe(objects)
)
votes = st.builds(
    Vote,
    status=st.sampled_from(["ok", "abstain", "refusal", "unparsed", "invalid_evidence"]),
    score=maybe(numbers),
    reason=texts,
    evidence=several(indices),
    quotes=several(st.builds(Quote, step=indices, text=texts)),
    sample=st.integers(0, 100),
    detail=maybe(objects),
    usage=maybe(usages),
)
errors = st.builds(JudgementError, kind=texts, message=texts, raw_head=maybe(texts))
criterion_results = st.builds(
    CriterionResult,
    id=names,
    status=st.sampled_from(["ok", "inconclusive", "error", "not_applicable"]),
    score=maybe(numbers),
    scale=scales,
    votes=several(votes),
    n_ok=counts,
    n_failed=counts,
    spread=maybe(numbers),
    rule=st.sampled_from(["median", "mean", "majority"]),
    passed=maybe(st.booleans()),
)
chances = st.floats(0, 1)
calibrated = st.builds(Calibrated, probability=chances, low=chances, high=chances)
trusts = st.builds(
    Trust,
    state=st.sampled_from(["uncertified", "certified", "expired", "out_of_scope", "refused"]),
    certificate=maybe(texts),
    calibrated=maybe(calibrated),
)
subjects = st.builds(
    Subject,
    trajectory_id=texts,
    rubric=names,
    criteria=st.dictionaries(names, st.tuples(numbers, numbers), max_size=2),
    facts=st.dictionaries(names, metric_results, max_size=2),
    steps=several(indices),
)
logprobs = st.builds(TokenLogprob, token=texts, logprob=numbers, top=several(st.tuples(texts, numbers)))

statistics = st.one_of(
    st.builds(Statistic, value=st.none(), n=counts, reason=names, detail=maybe(objects)),
    st.builds(Statistic, value=numbers, n=counts, clusters=maybe(counts), method=names),
)

RECORDS: dict[type[Record], st.SearchStrategy[Any]] = {
    Statistic: statistics,
    Trajectory: trajectories,
    Rubric: rubrics,
    Reference: st.builds(
        Reference,
        answer=maybe(texts),
        state=values,
        sequence=maybe(several(texts)),
        calls=maybe(several(st.builds(ExpectedCall, name=names, arguments=maybe(objects)))),
    ),
    JudgeSpec: st.builds(
        JudgeSpec, name=texts, provider=names, model=texts, host=maybe(texts), sampling=samplings, template=texts
    ),
    Request: st.builds(
        Request,
        system=texts,
        segments=several(texts),
        reply_schema=objects,
        sampling=samplings,
        sample=counts,
        versions=st.dictionaries(names, texts, max_size=2),
        subject=subjects,
    ),
    Reply: st.builds(
        Reply,
        text=maybe(texts),
        status=st.sampled_from(["ok", "truncated", "refusal", "content_filter", "empty"]),
        usage=maybe(usages),
        logprobs=maybe(several(logprobs)),
        seconds=maybe(numbers),
    ),
    Verdict: st.builds(
        Verdict,
        trajectory_id=texts,
        rubric=names,
        judge=names,
        status=st.sampled_from(["ok", "inconclusive", "error", "not_applicable"]),
        score=maybe(numbers),
        scale=scales,
        criteria=several(criterion_results),
        trust=trusts,
        usage=usages,
        cost_usd=maybe(numbers),
        errors=several(errors),
        fingerprints=st.dictionaries(names, texts, max_size=2),
    ),
    Label: st.builds(
        Label,
        trajectory_id=texts,
        criterion=names,
        value=st.none() | numbers | texts,
        rater=texts,
        rater_kind=st.sampled_from(["human", "policy", "metric", "model"]),
        labelled_at=maybe(texts),
        inclusion_probability=maybe(st.floats(0.01, 1)),
    ),
    Check: st.builds(
        Check,
        id=names,
        severity=st.sampled_from(["rule", "preference"]),
        status=st.sampled_from(["passed", "failed", "not_applicable"]),
        steps=several(indices),
    ),
    MetricResult: metric_results,
}
SMALL: dict[type[Record], dict[str, Any]] = {
    Trajectory: {"schema": "judge.trajectory/1", "id": "t", "source": {"format": "native"}, "steps": []},
    Rubric: {
        "id": "r",
        "version": "1",
        "title": "R",
        "intent": "Says how.",
        "criteria": [{"id": "c", "question": "Did it?", "scale": "binary"}],
    },
    Reference: {"answer": "42"},
    Statistic: {"value": 0.5, "n": 2},
    JudgeSpec: {"name": "fake/always-3", "provider": "fake", "model": "always-3"},
    Request: {
        "system": "s",
        "segments": ["a"],
        "reply_schema": {},
        "subject": {"trajectory_id": "t", "rubric": "r", "criteria": {"c": [0, 1]}},
    },
    Reply: {"text": "{}"},
    Verdict: {
        "trajectory_id": "t",
        "rubric": "r",
        "judge": "j",
        "status": "error",
        "score": None,
        "scale": {"type": "binary"},
    },
    Label: {"trajectory_id": "t", "criterion": "c", "value": 1, "rater": "ann", "rater_kind": "human"},
    Check: {"id": "c", "severity": "rule", "status": "passed"},
    MetricResult: {"value": 3, "unit": "calls"},
}
by_name = pytest.mark.parametrize("record", list(RECORDS), ids=lambda record: record.__name__)


def schema_writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_schemas", ROOT / "scripts" / "write_schemas.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WRITER = schema_writer()


def shuffled(value: Any) -> Any:
    """The same JSON value with the keys of every object in reverse order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(list(value))}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@by_name
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_record_survives_json_text_unchanged(record: type[Record], data: st.DataObject) -> None:
    before = data.draw(RECORDS[record])
    text = json.dumps(before.to_json(), allow_nan=False)
    after = record.from_json(json.loads(text))
    assert after == before
    assert after.fingerprint == before.fingerprint
    assert record.from_json(shuffled(json.loads(text))).fingerprint == before.fingerprint


@pytest.mark.parametrize("kind", list(STEPS))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_step_of_each_kind_survives_json_text_unchanged(kind: str, data: st.DataObject) -> None:
    step = data.draw(STEPS[kind])
    assert step.kind == kind
    run = Trajectory(id="t", source=Source(format="native"), steps=(step,))
    after = Trajectory.from_json(json.loads(json.dumps(run.to_json())))
    assert after.steps == (step,)
    assert type(after.steps[0]) is type(step)


def test_every_kind_of_step_is_tried() -> None:
    union = get_args(Step)[0]
    assert {member.model_fields["kind"].default for member in get_args(union)} == set(STEPS)


def test_null_inside_an_argument_is_kept() -> None:
    call = ToolCall(index=1, name="book", arguments={"seat": None, "bags": [None]})
    assert call.to_json()["arguments"] == {"seat": None, "bags": [None]}


@by_name
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_what_is_written_fits_the_published_schema(record: type[Record], data: st.DataObject) -> None:
    found = [name for name, published in WRITER.PUBLISHED.items() if published is record]
    if not found:
        assert record in (
            Check,
            MetricResult,
            Statistic,
        )  # parts of other documents
        return
    schema = json.loads((ROOT / "docs" / "schemas" / f"{found[0]}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data.draw(RECORDS[record]).to_json())


def test_the_schema_files_are_those_that_the_types_give() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "schemas").glob("*.json")}
    assert written == WRITER.schemas(), "a type changed: run `make schemas` and read the difference"


@by_name
def test_a_record_is_frozen(record: type[Record]) -> None:
    value = record.from_json(SMALL[record])
    field = next(iter(record.model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, field, "changed")


@by_name
def test_an_unknown_key_is_refused(record: type[Record]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        record.from_json({**SMALL[record], "socre": 3})


def test_every_exported_record_is_reached_by_a_strategy() -> None:
    """A new type without a round-trip test would go unnoticed."""
    exported = {
        value
        for name in types.__all__
        if isinstance(value := getattr(types, name), type) and issubclass(value, Record) and value is not Record
    }
    reached: set[type] = set(RECORDS)
    pending: list[Any] = list(RECORDS)
    while pending:
        for field in pending.pop().model_fields.values():
            for inner in _records_in(field.annotation):
                if inner not in reached:
                    reached.add(inner)
                    pending.append(inner)
    assert exported == {record for record in exported if record in reached}


def _records_in(annotation: Any) -> list[type[Record]]:
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return [annotation]
    return [record for inner in get_args(annotation) for record in _records_in(inner)]
