"""Verdicts and their summary as text."""

from __future__ import annotations

from judge.report.numbers import number, plural, steps, usd
from judge.types import CriterionResult, Verdict, Vote
from judge.types.escalation import PERSON, REASON_WORDS
from judge.types.rubric import BinaryScale, LevelScale, RangeScale
from judge.types.trajectory import Usage
from judge.types.verdict import Escalated
from judge.voting import Saving, Summary
from judge.voting.summary import OTHER_HINT

TRUST_WORDS = {
    "uncertified": "UNCERTIFIED: nobody has measured yet whether this judge agrees with people",
    "certified": "certified",
    "expired": "EXPIRED: the certificate is too old",
    "out_of_scope": "OUT OF SCOPE of its certificate",
    "refused": "REFUSED: this judge is not to be relied on",
}


def score_text(score: float | None, scale: BinaryScale | LevelScale | RangeScale) -> str:
    """`4 of 1-5 (good)`, `pass`, or "no score"."""
    if score is None:
        return "no score"
    if isinstance(scale, BinaryScale):
        return "pass" if score == 1 else "fail" if score == 0 else f"{number(score)} of 0-1"
    bounds = f"{number(scale.low)}-{number(scale.high)}"
    if isinstance(scale, LevelScale):
        name = next((level.name for level in scale.levels if level.value == score), None)
        return f"{number(score)} of {bounds}" + (f" ({name})" if name else "")
    return f"{number(score)} of {bounds}"


def verdict_text(verdict: Verdict, *, votes: bool = True) -> str:
    """One verdict for people: score, trust, reason with steps, votes, what failed."""
    head = f"== {verdict.trajectory_id}  {verdict.rubric} by {verdict.judge}: "
    lines = [head + (score_text(verdict.score, verdict.scale) if verdict.status == "ok" else verdict.status.upper())]
    if verdict.passed is not None:
        lines.append("  gate: passed" if verdict.passed else "  gate: FAILED")
    for result in verdict.criteria:
        lines.extend(_criterion(result, alone=len(verdict.criteria) == 1, votes=votes))
    if verdict.escalation is not None:
        lines.extend(_sent_on(verdict.escalation))
    for error in verdict.errors:
        lines.append(f"  error: {error.kind}: {error.message}")
    for warning in verdict.warnings:
        lines.append(f"  note: {warning}")
    if verdict.truncated:
        lines.append(f"  truncated: {'; '.join(verdict.cuts) or 'text was left out of the prompt'}")
    lines.append(f"  trust: {TRUST_WORDS[verdict.trust.state]}")
    lines.extend(f"    {reason}" for reason in verdict.trust.reasons)
    return "\n".join(lines)


def _sent_on(escalation: Escalated) -> list[str]:
    """What each judge said, and why it did not stand."""
    lines = [f"  decided by: {escalation.to}"]
    for result in escalation.results:
        said = score_text(result.score, result.scale) if result.status == "ok" else result.status
        why = ", ".join(REASON_WORDS[reason] for reason in result.reasons)
        lines.append(f"    {result.judge}: {said}" + (f"; sent on: {why}" if why else ""))
    return lines


def _criterion(result: CriterionResult, *, alone: bool, votes: bool) -> list[str]:
    lines = []
    if not alone:
        shown = score_text(result.score, result.scale) if result.status == "ok" else result.status
        lines.append(f"  {result.id}: {shown}" + ("  (gate)" if result.gate else ""))
    if result.reason:
        cited = f"  {steps(result.evidence)}" if result.evidence else ""
        lines.append(f"  reason: {result.reason}{cited}")
    if votes and result.votes:
        lines.append(f"  votes: {_votes(result)}")
    return lines


def _votes(result: CriterionResult) -> str:
    drawn = ", ".join(vote_text(vote, result.scale) for vote in result.votes)
    facts = [f"{result.rule} of {plural(result.n_ok, 'valid vote')}"]
    if result.n_failed:
        facts.append(f"{result.n_failed} failed")
    if result.n_not_applicable:
        facts.append(f"{result.n_not_applicable} not applicable")
    if result.spread is not None:
        facts.append(f"spread {number(result.spread)}")
    if result.agreement is not None:
        facts.append(f"agreement {result.agreement:.0%}")
    if result.tie:
        facts.append("TIE")
    return f"{drawn}  ({'; '.join(facts)})"


def vote_text(vote: Vote, scale: BinaryScale | LevelScale | RangeScale) -> str:
    """A vote in a word: its score, or the name of its failure."""
    if vote.status != "ok" or vote.score is None:
        return vote.status
    if isinstance(scale, BinaryScale):
        return "pass" if vote.score == 1 else "fail"
    return number(vote.score)


def _decided(by: str, count: int) -> str:
    """`3 decided by openai/m`, `1 waiting for a person`."""
    return f"{count} waiting for a person" if by == PERSON else f"{count} decided by {by}"


def _cost(summary: Summary) -> str:
    """`$1.20`, `unknown`, or `at least $1.20 (3 verdicts of unknown cost)`."""
    if summary.cost_usd is None and summary.known_usd:
        return f"at least {usd(summary.known_usd)} ({plural(summary.unpriced, 'verdict')} of unknown cost)"
    return usd(summary.cost_usd)


def _tokens(usage: Usage) -> str:
    """What was sent and written, as far as the provider said; the part of its own prompt cache where it said that."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    sent, written = (
        "an unknown number of" if count is None else f"{count:,}" for count in (usage.input_tokens, usage.output_tokens)
    )
    read = usage.cache_read_input_tokens
    share = f", of which {read:,} read from the provider's cache," if read is not None and usage.input_tokens else ""
    return f", {sent} prompt tokens{share} and {written} output tokens"


def _stopping(saving: Saving) -> str:
    """What a stop rule left undrawn, and the chance at which it did."""
    text = f"stopping when decided: {saving.drawn:,} of {saving.most:,} votes drawn, {saving.saved:.0%} saved"
    if saving.stated == 0:
        return f"{text}; no vote left could have changed a verdict"
    return (
        f"{text}; mean chance that more votes would change a verdict {saving.risk:.1%}, as the rule reckons it "
        f"(at most {saving.stated:.1%} at each look)"
    )


def summary_text(summary: Summary) -> str:
    """A run in a few lines; the mean never stands without what is missing from it."""
    scored = f"{summary.scored} of {summary.total + summary.unjudged} scored"
    if summary.unjudged:
        scored += f", {summary.unjudged} not judged yet"
    if summary.mean is not None and summary.scale is not None:
        mean = f"mean {number(summary.mean)} of {number(summary.scale.low)}-{number(summary.scale.high)}"
        bounds = ""
        if summary.low != summary.high:
            bounds = f" (between {number(summary.low)} and {number(summary.high)}, whatever the rest would score)"
        scored += f", {mean}{bounds}"
    lines = [scored]
    if summary.passed or summary.failed:
        lines.append(f"gates: {summary.passed} passed, {summary.failed} failed")
    if summary.inconclusive:
        lines.append(f"{summary.inconclusive} inconclusive")
    if summary.not_applicable:
        lines.append(f"{summary.not_applicable} not applicable")
    if summary.wrapped_up:
        lines.append(f"{plural(summary.wrapped_up, 'verdict')} on fewer votes, for most of the budget was spent")
    if summary.stopping is not None:
        lines.append(_stopping(summary.stopping))
    if summary.decided_by:
        lines.append(f"sent on: {', '.join(_decided(name, n) for name, n in summary.decided_by.items())}")
    if summary.votes_failed:
        kinds = ", ".join(f"{count} {kind}" for kind, count in summary.votes_failed.items())
        lines.append(f"verdicts without votes that failed: {kinds}")
    for group in summary.error_groups:
        said = group.example.message if group.hint == OTHER_HINT else group.hint
        lines.append(f"{plural(group.count, 'error')} of kind {group.kind}, e.g. {group.trajectory_id}: {said}")
    if summary.gate == "fail":
        lines.append(f"coverage gate FAILED: {summary.gate_reason}")
    spent = f"{plural(summary.calls, 'call')}, {summary.cached} from the cache"
    if summary.calls:
        spent += _tokens(summary.usage)
    lines.append(f"{spent}, cost {_cost(summary)}")
    if summary.cache_failures:
        lines.append(
            f"the cache failed: {plural(summary.cache_failures, 'read or write', 'reads and writes')} not done"
        )
    return "\n".join(lines)
