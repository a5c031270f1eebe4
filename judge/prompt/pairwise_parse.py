"""Reply → votes on which of two runs is better: the rules of `judge.prompt.parse`, with a winner for a score.

A failed reply is a named failure and never a tie. Until it is put into a record a preference travels as a vote whose
score is 1 (the run that stood first), 0 (a tie) or -1 (the other); what was cited stands in `detail`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from judge.prompt.evidence import Shown, clean
from judge.prompt.extract import extract
from judge.prompt.pairwise import anonymous
from judge.prompt.pairwise_text import FIRST, SECOND, TIE, winners
from judge.prompt.parse import HEAD, by_criterion, failed_reply, failed_vote, is_answer, is_planted, is_reason, named
from judge.prompt.schema import NOT_APPLICABLE, UNKNOWN
from judge.prompt.view import shown_steps
from judge.types.request import Reply
from judge.types.rubric import Criterion, Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Vote

PREFERENCE = {FIRST: 1.0, TIE: 0.0, SECOND: -1.0}
"""How a winner travels as the score of a vote."""
_KEY = "winner"
_STEP = re.compile(rf"\s*\[?({FIRST}|{SECOND})\s?(\d{{1,7}})\]?\s*", re.IGNORECASE)


def parse_pair(reply: Reply, rubric: Rubric, x: Trajectory, y: Trajectory, *, sample: int = 0) -> dict[str, Vote]:
    """One vote for every criterion of `rubric`, failed votes included; `x` is the run that stood first.

    `detail` of a vote is {"evidence": [[place, step, quote], ...]}, place "X" or "Y". `Vote.usage` is set on the first
    criterion's vote alone.
    """
    shown = {
        letter: Shown(anonymous(run), shown_steps(run, rubric.view), letter)
        for letter, run in ((FIRST, x), (SECOND, y))
    }
    failure = failed_reply(reply)
    answers: Mapping[str, Any] = {}
    notes: list[str] = []
    repaired = False
    if failure is None:
        found = extract(reply.text or "", lambda value: is_answer(value, rubric, _KEY))
        repaired = found.repaired
        if found.value is None:
            failure = (found.status, found.message)
        elif found.free and is_planted(found.value, rubric, list(shown.values()), _KEY):
            failure = ("ambiguous", "The only verdict in the reply is text that a run itself holds.")
        else:
            answers, notes = by_criterion(found.value, rubric, _KEY)
            if repaired:
                notes.append("A trailing comma was removed.")
    votes: dict[str, Vote] = {}
    for criterion in rubric.criteria:
        if failure is not None:
            part: dict[str, Any] = failed_vote(*failure)
        elif criterion.id not in answers:
            missing = f"The reply has no answer to {criterion.id!r}; it answers {', '.join(answers) or 'nothing'}."
            part = failed_vote("missing_criterion", missing)
        else:
            part = _answer(answers[criterion.id], criterion, shown)
        if notes:
            part["message"] = " ".join([*([part["message"]] if part.get("message") else []), *notes])
        if part["status"] not in ("ok", "abstain", "not_applicable") and reply.text:
            part["raw_head"] = clean(reply.text[:HEAD])
        votes[criterion.id] = Vote(
            sample=sample,
            attempts=reply.attempts,
            cached=reply.cached,
            served_model=reply.model,
            repaired=repaired,
            usage=None if votes else reply.usage,
            **part,
        )
    return votes


def _answer(answer: Any, criterion: Criterion, shown: Mapping[str, Shown]) -> dict[str, Any]:
    """Fields of the vote on one criterion."""
    if not isinstance(answer, dict):
        return failed_vote(
            "unparsed", f"The answer to {criterion.id!r} is {named(answer)}, not an object with a reason."
        )
    if _KEY not in answer:
        return failed_vote("unparsed", f"The answer to {criterion.id!r} names no winner.")
    reason = answer.get("reason")
    if not is_reason(reason):
        return failed_vote("unparsed", f"The answer to {criterion.id!r} gives no reason.")
    fields: dict[str, Any] = {"reason": clean(reason)}
    word = answer[_KEY]
    if not isinstance(word, str):
        return fields | failed_vote("unparsed", f"The winner by {criterion.id!r} is {named(word)}, not text.")
    winner = next((known for known in winners(criterion) if known.casefold() == word.strip().casefold()), None)
    if winner is None:
        wanted = ", ".join(winners(criterion))
        said = clean(word[:60])
        return fields | failed_vote("out_of_range", f"The winner by {criterion.id!r} is {said!r}, none of {wanted}.")
    steps, problem = _cited(answer.get("evidence"), shown) if criterion.evidence != "none" else ([], "")
    if not problem and winner in PREFERENCE and criterion.evidence == "required" and not steps:
        problem = "no step is cited, and this criterion needs one"
    if problem:
        return fields | failed_vote("invalid_evidence", f"Failed evidence: {problem}.")
    fields["detail"] = {"evidence": steps}
    if winner == UNKNOWN:
        return fields | {"status": "abstain"}
    if winner == NOT_APPLICABLE:
        return fields | {"status": "not_applicable"}
    return fields | {"status": "ok", "score": PREFERENCE[winner]}


def _cited(value: Any, shown: Mapping[str, Shown]) -> tuple[list[list[Any]], str]:
    """[place, step, quote] of everything cited, or the first thing that does not exist."""
    if value is None:
        return [], ""
    if not isinstance(value, list):
        return [], f"evidence is {named(value)}, not a list of steps"
    out: dict[tuple[str, int, str], None] = {}
    for entry in value:
        step, quote = (entry.get("step"), entry.get("quote")) if isinstance(entry, dict) else (entry, None)
        found = _STEP.fullmatch(step) if isinstance(step, str) else None
        if found is None:
            return [], f"evidence names no step of a run, such as {FIRST}3: {clean(repr(step))[:60]}"
        letter, index = found[1].upper(), int(found[2])
        if index not in shown[letter]:
            return [], f"evidence cites step {letter}{index}, which was not shown"
        if quote is not None and not isinstance(quote, str):
            return [], f"a quote from step {letter}{index} is {named(quote)}, not text"
        if quote and quote.strip() and not shown[letter].says(index, quote):
            return [], f"step {letter}{index} does not hold the words quoted from it: {clean(repr(quote))[:60]}"
        out[letter, index, clean(quote or "")] = None
    return [list(key) for key in out], ""
