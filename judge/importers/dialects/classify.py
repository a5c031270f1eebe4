"""What one decoded record is: a whole run, a list of runs, or one item of a run; and in which formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from judge.importers import logs
from judge.importers.dialects import anthropic_messages, calls
from judge.importers.dialects.messages import holds_response, sign_of
from judge.importers.dialects.names import Names
from judge.importers.dialects.stream import is_delta
from judge.importers.envelope import ITEM_KEYS, LIST_KEYS
from judge.importers.fields import MISSING, mapping
from judge.importers.mapping import RunKeys

SAMPLE = 60
"""Items of a list that are looked at."""

MARGIN = 10
"""Claims whose scores are no further apart than this are equally good."""

Layout = Literal["run", "list", "runs", "item"]


class Claim(NamedTuple):
    """One way to read a record.

    Attributes:
        layout: "run" for a whole run in an object, "list" for a run that is a bare list, "runs" for a list of
            whole runs, "item" for one item of a run.
        key: The key that holds the items of a "run", or the "runs"; None where the format knows itself.
    """

    format: str
    score: int
    layout: Layout
    evidence: str
    key: str | None = None


def classify(record: Any, names: Names, keys: RunKeys) -> tuple[Claim, ...]:
    """Every way to read a record, best first; nothing for what is no part of a run."""
    if isinstance(record, list):
        claims = _of_list(record, names, keys)
    elif isinstance(record, dict):
        claims = _of_object(record, names, keys)
    else:
        claims = []
    return tuple(sorted(claims, key=lambda claim: -claim.score))


def tally(records: Sequence[Any], names: Names, keys: RunKeys) -> dict[str, Claim]:
    """The best claim of each format on the records of one file, weighed by the share of records it holds for."""
    sample = records[:SAMPLE]
    best: dict[str, Claim] = {}
    counts: dict[str, int] = {}
    for record in sample:
        for claim in _contenders(classify(record, names, keys)):
            counts[claim.format] = counts.get(claim.format, 0) + 1
            if claim.format not in best or best[claim.format].score < claim.score:
                best[claim.format] = claim
    _merge(best, counts, sample)
    return {
        name: claim._replace(score=max(1, round(claim.score * counts[name] / len(sample))))
        for name, claim in best.items()
    }


def contested(records: Sequence[Any], formats: Iterable[str], names: Names, keys: RunKeys) -> bool:
    """Whether one record can be read in two of the formats equally well."""
    wanted = set(formats)
    for record in records[:SAMPLE]:
        rivals = {claim.format for claim in _contenders(classify(record, names, keys))}
        if len(rivals & wanted) > 1:
            return True
    return False


def _contenders(claims: Sequence[Claim]) -> list[Claim]:
    """The best claim, and the best of each other format that comes near it."""
    found: dict[str, Claim] = {}
    for claim in claims:
        if claim.score >= claims[0].score - MARGIN:
            found.setdefault(claim.format, claim)
    return list(found.values())


def _of_list(record: list[Any], names: Names, keys: RunKeys) -> list[Claim]:
    sample = record[:SAMPLE]
    whole = [
        claims for claims in (classify(item, names, keys) for item in sample) if claims and claims[0].layout != "item"
    ]
    if whole and 2 * len(whole) >= len(sample):
        return [claim._replace(layout="runs", key=None) for claim in tally(record, names, keys).values()]
    return [claim._replace(layout="list") for claim in _of_items(record, names)]


def _of_object(record: dict[str, Any], names: Names, keys: RunKeys) -> list[Claim]:
    schema = record.get("schema")
    if isinstance(schema, str) and schema.startswith("judge.trajectory/"):
        return [Claim("native", 100, "run", f"schema {schema!r}")]
    version = record.get("schema_version")
    if isinstance(version, str) and version.startswith("ATIF-v") and "steps" in record:
        return [Claim("atif", 100, "run", f"schema_version {version!r}")]
    seen = logs.look(record)
    if seen is not None:
        return [Claim(seen.format, seen.score, seen.layout, seen.evidence)]
    if holds_response(record) or ("request" in record and holds_response(mapping(record.get("response")))):
        return [Claim("openai-responses", 100, "run", "a response with its output items")]
    kind = record.get("object")
    if isinstance(kind, str) and kind.startswith("chat.completion"):
        layout: Layout = "item" if kind.endswith(".chunk") else "run"
        return [Claim("openai-chat", 100, layout, f"object {kind!r}")]
    if record.get("type") == "message" and "role" in record and isinstance(record.get("content"), list):
        return [
            Claim("anthropic", 95, "run" if "stop_reason" in record else "item", "type 'message' with content blocks")
        ]
    if is_delta(record):
        return [Claim("anthropic", 95, "item", f"stream event {record.get('type')!r}")]
    item = item_claims(record, names)
    if item and item[0].score >= 50:
        return item
    request, response = mapping(record.get("request")), mapping(record.get("response"))
    inside = request if response else {}
    runs = [] if inside else [claim for key in (*keys.steps, *ITEM_KEYS) for claim in _under(record, key, names)]
    if inside:
        runs = [claim._replace(key="request") for key in ITEM_KEYS for claim in _under(inside, key, names)]
    if any(key in record for key in keys.steps):
        runs = [claim for claim in runs if claim.key in keys.steps]
    if runs and record.get("type") == "message":
        runs = []
    return [*_level(runs), *_wrapped(record, names, keys), *item]


def _under(record: Mapping[str, Any], key: str, names: Names) -> list[Claim]:
    items = record.get(key)
    if not isinstance(items, list):
        return []
    if not items:
        return [Claim(_EMPTY.get(key, "steps"), 30, "run", f"an empty list under {key!r}", key)]
    claims = _of_items(items, names)
    system = isinstance(record.get("system"), str | list) and key == "messages"
    out = []
    for claim in claims:
        score = claim.score + 10
        if system:
            score += 30 if claim.format == "anthropic" else -10
        out.append(Claim(claim.format, min(score, 99), "run", f"{claim.evidence}, under {key!r}", key))
    if system and not any(claim.format == "anthropic" for claim in claims):
        out.append(Claim("anthropic", 80, "run", "messages beside a top-level system prompt", key))
    return out


def _wrapped(record: Mapping[str, Any], names: Names, keys: RunKeys) -> list[Claim]:
    """Claims on an object that is only the wrapping of a list of runs."""
    for key in LIST_KEYS:
        inner = record.get(key)
        claims = _of_list(inner, names, keys) if isinstance(inner, list) else []
        if claims and claims[0].layout == "runs":
            return [claim._replace(key=key, evidence=f"{claim.evidence}, in {key!r}") for claim in claims]
    return []


def _level(runs: list[Claim]) -> list[Claim]:
    """Two views of one run under two keys are equally good: which to take is not for us to say."""
    views = [claim for claim in runs if claim.score >= 50 and claim.format != "calls"]
    if len({claim.format for claim in views}) < 2:
        return runs
    best = {claim.key: max(other.score for other in views if other.key == claim.key) for claim in views}
    top = max(best.values())
    return [claim._replace(score=top) if best.get(claim.key) == claim.score else claim for claim in runs]


_EMPTY = {
    "messages": "openai-chat",
    "traj": "openai-chat",
    "conversations": "openai-chat",
    "events": "events",
    "calls": "calls",
}


def _of_items(items: Sequence[Any], names: Names) -> list[Claim]:
    """Claims on a list of items: the best of each format that the most items have."""
    sample = items[:SAMPLE]
    if sample and all(map(_is_plain_message, sample)):  # the common case, which the loop below would settle so too
        with_calls = next((item for item in sample if len(item) > 2), None)
        claim = _message(with_calls or sample[0], str((with_calls or sample[0])["role"]))
        return [claim._replace(evidence=_counted(claim, len(sample), items))]
    best: dict[str, Claim] = {}
    counts: dict[str, int] = {}
    for item in sample:
        for claim in item_claims(item, names)[:1]:
            counts[claim.format] = counts.get(claim.format, 0) + 1
            if claim.format not in best or best[claim.format].score < claim.score:
                best[claim.format] = claim
    _merge(best, counts, sample)
    return [
        claim._replace(
            score=round(claim.score * counts[name] / len(sample)), evidence=_counted(claim, counts[name], items)
        )
        for name, claim in best.items()
    ]


_MESSAGE = frozenset({"role", "content", "tool_calls", "tool_call_id"})


def _is_plain_message(item: Any) -> bool:
    """Whether an item is a message of the chat API and nothing else: text, calls, or the result of one."""
    if not isinstance(item, dict) or not item.keys() <= _MESSAGE or not isinstance(item.get("role"), str):
        return False
    content = item.get("content", MISSING)
    if "tool_call_id" in item and item["role"] != "tool":
        return False
    return content is None or isinstance(content, str)


_WITH_PLAIN_TEXT = ("anthropic", "openai-responses", "vercel-ai", "langchain")
"""Formats in which a message of text alone looks as in the OpenAI chat API."""


def _merge(best: dict[str, Claim], counts: dict[str, int], sample: Sequence[Any]) -> None:
    if "steps" in counts and "events" in counts and best["events"].layout == "item":
        counts["events"] += counts.pop("steps")  # a step list has no other types
        del best["steps"]
    if "openai-chat" not in counts or _has_openai_calls(sample):
        return
    for other in _WITH_PLAIN_TEXT:
        if other in counts and best[other].layout == "item":  # messages of text alone are the same in both
            counts[other] += counts.pop("openai-chat")
            del best["openai-chat"]
            return


def _counted(claim: Claim, count: int, items: Sequence[Any]) -> str:
    of = f"{count} of {min(len(items), SAMPLE)}"
    return f"{of} items: {claim.evidence}"


def _has_openai_calls(items: Sequence[Any]) -> bool:
    return any(isinstance(item, dict) and ("tool_calls" in item or item.get("role") == "tool") for item in items)


def item_claims(item: Any, names: Names) -> list[Claim]:
    """What one item of a run may be, best first."""
    if not isinstance(item, dict):
        return []
    seen = logs.look(item)
    if seen is not None and seen.layout == "item":
        return [Claim(seen.format, seen.score, "item", seen.evidence)]
    sign = sign_of(item)
    if sign is not None:
        return [Claim(sign.format, sign.score, "item", sign.evidence)]
    role = item.get("role")
    if isinstance(role, str) and ("content" in item or "tool_calls" in item or "function_call" in item):
        return [_message(item, role)]
    if isinstance(item.get("from"), str) and "value" in item:
        return [Claim("openai-chat", 60, "item", "from and value")]
    if calls.is_call(item) and names.kind_of(item) is None:
        return [Claim("calls", 60, "item", "a tool with its arguments")]
    kind = names.kind_of(item)
    if kind in ("tool_call", "final") and not names.types and _is_step(item, kind):
        return [Claim("steps", 70, "item", f"type {item.get('type')!r} as in a step list")]
    if kind is not None:
        return [Claim("events", 60, "item", f"event type {names.type_of(item)!r}")]
    if isinstance(item.get("type"), str):
        return [Claim("events", 20, "item", f"type {item['type']!r}, not known")]
    return []


def _message(item: Mapping[str, Any], role: str) -> Claim:
    content = item.get("content")
    if isinstance(content, list) and any(anthropic_messages.is_block(part) for part in content):
        return Claim("anthropic", 85, "item", "content blocks of tools or thinking")
    if "tool_calls" in item or role in ("tool", "function") or "function_call" in item:
        return Claim("openai-chat", 80, "item", "role, content and tool calls")
    return Claim("openai-chat", 45, "item", "role and content")


def _is_step(item: Mapping[str, Any], kind: str) -> bool:
    if kind == "final":
        return set(item) <= {"type", "text", "status"}
    return "tool" in item and "input" in item and "call_id" not in item
