"""Reply → votes. The one parser: whatever a judge answers, each criterion gets a vote or a named failure.

A number is kept exactly as given: never clamped, flipped or rescaled. What the contract asks for and is
not there (a reason, a criterion, evidence that exists) makes a failed vote and not a low one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from judge.prompt.evidence import Cited, Shown, cited, clean
from judge.prompt.expectation import expectations
from judge.prompt.extract import extract
from judge.prompt.requirements import Worked, worked
from judge.prompt.schema import NOT_APPLICABLE, UNKNOWN
from judge.prompt.view import shown_steps
from judge.types.request import Reply
from judge.types.rubric import BinaryScale, Criterion, LevelScale, Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Vote, VoteStatus

PARSER_VERSION = "parse/1"
"""Raised with every change that can turn a reply into another vote."""

HEAD = 500
"""Characters of a failed reply that are kept."""


def parse(reply: Reply, rubric: Rubric, trajectory: Trajectory, *, sample: int = 0) -> dict[str, Vote]:
    """One vote for every criterion of `rubric`, in its order, failed votes included.

    Args:
        reply: As a provider gave it or the cache kept it.
        rubric: What was asked.
        trajectory: What was judged; cited steps and quotes are looked up in it.
        sample: Index of this draw.

    A failure of the whole reply fails every criterion with the same status. `Vote.usage` is set on the first
    criterion's vote alone, so that a sum over votes counts each call once.
    """
    failure = failed_reply(reply)
    answers: Mapping[str, Any] = {}
    notes: list[str] = []
    repaired = False
    shown = Shown(trajectory, shown_steps(trajectory, rubric.view))
    if failure is None:
        found = extract(reply.text or "", lambda value: is_answer(value, rubric))
        repaired = found.repaired
        if found.value is None:
            failure = (found.status, found.message)
        elif found.free and is_planted(found.value, rubric, [shown]):
            failure = ("ambiguous", "The only verdict in the reply is text that the run itself holds.")
        else:
            answers, notes = by_criterion(found.value, rubric)
            if repaired:
                notes.append("A trailing comma was removed.")
    common: dict[str, Any] = {
        "sample": sample,
        "attempts": reply.attempts,
        "cached": reply.cached,
        "served_model": reply.model,
        "repaired": repaired,
    }
    expected = expectations(reply, rubric) if failure is None else {}
    votes: dict[str, Vote] = {}
    for criterion in rubric.criteria:
        if failure is not None:
            part: dict[str, Any] = {"status": failure[0], "message": failure[1]}
        elif criterion.id not in answers:
            missing = f"The reply has no answer to {criterion.id!r}; it answers {', '.join(answers) or 'nothing'}."
            part = {"status": "missing_criterion", "message": missing}
        else:
            part = _answer(answers[criterion.id], criterion, rubric, shown)
            if part["status"] == "ok" and criterion.id in expected:
                part["expected"], part["illegal_mass"] = expected[criterion.id]
        if notes:
            part["message"] = " ".join([*([part["message"]] if part.get("message") else []), *notes])
        if part["status"] not in ("ok", "abstain", "not_applicable") and reply.text:
            part["raw_head"] = clean(reply.text[:HEAD])
        votes[criterion.id] = Vote(**common, **part, usage=None if votes else reply.usage)
    return votes


def failed_reply(reply: Reply) -> tuple[VoteStatus, str] | None:
    """The failure that the provider already reported, in words."""
    finish = f" (finish reason {reply.finish_reason!r})" if reply.finish_reason else ""
    if reply.status == "truncated":
        limit = f"the limit of {reply.limit:,} output tokens" if reply.limit else "the output token limit"
        return "truncated", f"The reply was cut at {limit}{finish}. Raise max_output_tokens."
    if reply.status == "refusal":
        said = clean((reply.refusal or reply.text or "").strip()[:200])
        return "refusal", f"The judge refused to answer{finish}{': ' if said else '.'}{said}"
    if reply.status == "content_filter":
        return "content_filter", f"The provider's filter withheld the answer{finish}."
    if reply.status == "missing":
        return "empty", "The server left this one out of its answer to a request for several replies."
    if reply.status == "empty" or not (reply.text or "").strip():
        return "empty", f"The reply holds no text{finish}."
    return None


def is_answer(value: dict[str, Any], rubric: Rubric, key: str = "score") -> bool:
    """Whether an object has the shape of a reply; `key` holds what is asked for of each criterion."""
    if len(rubric.criteria) == 1:
        return key in value or isinstance(value.get(rubric.criteria[0].id), dict)
    return any(criterion.id in value for criterion in rubric.criteria)


def is_planted(value: dict[str, Any], rubric: Rubric, shown: Sequence[Shown], key: str = "score") -> bool:
    """Whether free text only repeats a verdict that stands in a run: every reason is a run's own words."""
    answers, _ = by_criterion(value, rubric, key)
    reasons = [answer.get("reason") for answer in answers.values() if isinstance(answer, dict)]
    texts = [reason for reason in reasons if isinstance(reason, str) and reason.strip()]
    return bool(texts) and all(any(run.says_anywhere(f'"{text}"') for run in shown) for text in texts)


def by_criterion(value: dict[str, Any], rubric: Rubric, key: str = "score") -> tuple[Mapping[str, Any], list[str]]:
    """Answers by criterion id, and a note of names that the rubric does not have."""
    ids = [criterion.id for criterion in rubric.criteria]
    if len(ids) == 1 and key in value:
        return {ids[0]: value}, []
    extra = [clean(str(name))[:40] for name in value if name not in ids]
    note = [f"Answers to criteria that the rubric does not have were ignored: {', '.join(extra[:10])}."]
    return {name: value[name] for name in ids if name in value}, note if extra else []


def _answer(answer: Any, criterion: Criterion, rubric: Rubric, shown: Shown) -> dict[str, Any]:
    """Fields of the vote on one criterion."""
    if not isinstance(answer, dict):
        return failed_vote(
            "unparsed", f"The answer to {criterion.id!r} is {named(answer)}, not an object with a reason."
        )
    if "score" not in answer:
        return failed_vote("unparsed", f"The answer to {criterion.id!r} has no score.")
    reason = answer.get("reason")
    if not is_reason(reason):
        return failed_vote("unparsed", f"The answer to {criterion.id!r} gives no reason.")
    status, score, message = _score(answer["score"], criterion)
    fields: dict[str, Any] = {"status": status, "reason": clean(reason), "message": message or None}
    if status not in ("ok", "abstain", "not_applicable"):
        return fields
    evidence = cited(answer.get("evidence"), shown) if criterion.evidence != "none" else Cited()
    work = worked(answer, shown) if rubric.procedure == "requirements" else Worked()
    if work.detail:
        fields["detail"] = work.detail
    problem = evidence.problem or work.problem
    if not problem and status == "ok" and criterion.evidence == "required" and not evidence.steps:
        why = "" if shown.count else ": the run has none to cite"
        problem = f"no step is cited, and this criterion needs one{why}"
    if not problem and status == "ok" and criterion.gate and score is not None and score >= criterion.pass_mark:
        problem = work.against_a_pass(evidence.steps, shown) if rubric.procedure == "requirements" else ""
        if not problem and work.undecided:
            return fields | {
                "status": "abstain",
                "evidence": evidence.steps,
                "quotes": evidence.quotes,
                "message": f"A pass was given while it is not known whether these are met: {work.undecided}.",
            }
    if problem:
        return fields | {"status": "invalid_evidence", "message": f"Failed evidence: {problem}."}
    return fields | {"score": score, "evidence": evidence.steps, "quotes": evidence.quotes}


def is_reason(value: Any) -> TypeGuard[str]:
    """Whether a reason is given. Without a letter there is none: small models copy the "..." of the prompt."""
    return isinstance(value, str) and any(map(str.isalpha, value))


def _score(value: Any, criterion: Criterion) -> tuple[VoteStatus, float | None, str]:
    """Status, score and message for the value under "score".

    A JSON number on the scale, a level's name, or "pass" and "fail" on a binary scale. true and false
    are no numbers, and a number written as text is not one either.
    """
    scale = criterion.scale
    if isinstance(value, str):
        word = value.strip().casefold()
        if word == UNKNOWN:
            return "abstain", None, ""
        if word == NOT_APPLICABLE:
            if criterion.applies_when:
                return "not_applicable", None, ""
            return "out_of_range", None, f"{criterion.id!r} always applies, and the answer is {NOT_APPLICABLE!r}."
        if isinstance(scale, BinaryScale) and word in ("pass", "fail"):
            return "ok", 1.0 if word == "pass" else 0.0, ""
        if isinstance(scale, LevelScale):
            for level in scale.levels:
                if word == level.name.strip().casefold():
                    return "ok", float(level.value), ""
        return "unparsed", None, f"The score of {criterion.id!r} is the text {clean(value[:60])!r}, not a legal value."
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "unparsed", None, f"The score of {criterion.id!r} is {named(value)}, not a number."
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not scale.contains(number):
        return "out_of_range", None, f"The score {value!s:.40} of {criterion.id!r} is not on its scale {_range(scale)}."
    return "ok", number, ""


def _range(scale: Any) -> str:
    if isinstance(scale, LevelScale):
        return ", ".join(str(level.value) for level in scale.levels)
    if isinstance(scale, BinaryScale):
        return "pass or fail"
    step = f" in steps of {scale.step:g}" if scale.step else ""
    return f"{scale.low:g} to {scale.high:g}{step}"


def named(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names: dict[type, str] = {dict: "an object", list: "a list", str: "text"}
    return names.get(type(value), "a bare number")


def failed_vote(status: VoteStatus, message: str) -> dict[str, Any]:
    """Fields of a vote that failed."""
    return {"status": status, "message": message}
