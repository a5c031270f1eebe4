"""`rules/process`: a deterministic baseline made of the metrics. The floor that a model has to beat.

It starts at the top of the scale and takes off, as a share of the whole scale:

==========================  ==================================================  ======
metric                      when                                                off
==========================  ==================================================  ======
answered_without_tool       true: an answer that nothing was looked up for      1
stop_behaviour              anything but "answered"                             3/4
num_redundant_calls         the first                                           1/2
num_redundant_calls         each further one, at most 1/4 in all                1/8
num_exact_repeats           any                                                 1/4
error_recovery              for the share of failures that were not recovered   1/2
num_failed_calls            any, where recovery could not be measured           1/4
==========================  ==================================================  ======

What is left is moved to the nearest legal value of the criterion's scale (of two, the lower); a
binary criterion passes from one half up. The same answer is given to every criterion of the
rubric. A metric that is absent takes nothing off and is named in the reason; where all are absent
the answer is "unknown", and so it is of a run without steps, since nothing in it could be cited. It reads no
text: it does not know whether an answer is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from judge.config import Settings
from judge.providers.answers import UNKNOWN, Answer, on_scale, write
from judge.providers.tokens import estimate_tokens
from judge.registry import unknown
from judge.types.metric import MetricResult
from judge.types.request import Reply, Request
from judge.types.trajectory import Usage

SETS = ("process",)
MOST_CITED = 8
NO_STEPS = "No step of this run was recorded or is shown: there is nothing to weigh."


class _Deduction:
    """One rule: the metric that it reads, what its value takes off, and the words for it."""

    def __init__(self, metric: str, off: Callable[[Any], float], words: Callable[[Any], str]) -> None:
        self.metric = metric
        self.off = off
        self.words = words


def _redundant(count: int) -> float:
    return 0.5 + min(0.25, 0.125 * (count - 1)) if count > 0 else 0.0


RULES = (
    _Deduction(
        "answered_without_tool", lambda value: 1.0 if value else 0.0, lambda _: "it answered without calling any tool"
    ),
    _Deduction(
        "stop_behaviour",
        lambda value: 0.0 if value == "answered" else 0.75,
        lambda value: f"it ended without an answer ({value})",
    ),
    _Deduction("num_redundant_calls", _redundant, lambda count: f"{count} redundant call{'s' if count != 1 else ''}"),
    _Deduction(
        "num_exact_repeats",
        lambda count: 0.25 if count > 0 else 0.0,
        lambda count: f"{count} call{'s' if count != 1 else ''} repeated exactly",
    ),
    _Deduction(
        "error_recovery",
        lambda share: 0.5 * (1.0 - share),
        lambda share: f"{1 - share:.0%} of failed or empty results were not followed by a changed attempt",
    ),
)


def open_provider(model: str, settings: Settings) -> Rules:
    """The provider behind `rules/process`.

    Raises:
        UnknownName: No such set of rules.
    """
    if model not in SETS:
        raise unknown("set of rules", model, SETS)
    return Rules(model)


class Rules:
    """Answers from the facts of the request's subject."""

    offline = True
    host: str | None = None
    context_tokens: int | None = None

    def __init__(self, model: str) -> None:
        self.name = f"rules/{model}"

    def count_tokens(self, text: str) -> int:
        """An estimate; the rules read no text."""
        return estimate_tokens(text)

    def payload(self, request: Request) -> dict[str, Any]:
        """The facts that are read, and the scales."""
        facts = {name: fact.to_json() for name, fact in request.subject.facts.items() if name in _READ}
        return {"rules": self.name, "facts": facts, "criteria": request.subject.criteria}

    async def complete(self, request: Request) -> Reply:
        """The same answer for the same facts, whatever the sample."""
        share, reason, steps = apply_rules(request.subject.facts)
        known = set(request.subject.steps)
        if not known:
            share, reason = None, NO_STEPS
        cited = [step for step in steps if step in known][:MOST_CITED] or list(request.subject.steps[-1:])
        answers = {
            name: Answer(
                score=UNKNOWN if share is None else on_scale(request, name, share),
                reason=reason,
                evidence=tuple((step, "") for step in cited),
            )
            for name in request.subject.criteria
        }
        return Reply(
            text=write(request, answers),
            finish_reason="stop",
            model=self.name,
            usage=Usage(input_tokens=0, output_tokens=0),
            attempts=1,
        )

    async def aclose(self) -> None:
        """Nothing to close."""


_READ = frozenset({*(rule.metric for rule in RULES), "num_failed_calls"})


def apply_rules(facts: Mapping[str, MetricResult]) -> tuple[float | None, str, tuple[int, ...]]:
    """Share of the scale that is left in [0, 1], the reason, and the steps that it rests on.

    None in place of the share where no metric of the table has a value.
    """
    left, said, absent = 1.0, [], []
    steps: list[int] = []
    seen = 0
    for rule in RULES:
        fact = facts.get(rule.metric)
        if fact is None or fact.value is None:
            if rule.metric != "error_recovery":
                absent.append(f"{rule.metric} ({fact.reason if fact and fact.reason else 'not measured'})")
            continue
        seen += 1
        off = rule.off(fact.value)
        if off > 0:
            left -= off
            said.append(_with_steps(rule.words(fact.value), fact.steps))
            steps += fact.steps
    failed, recovery = facts.get("num_failed_calls"), facts.get("error_recovery")
    if failed is not None and isinstance(failed.value, int):
        seen += 1
        if failed.value > 0 and (recovery is None or recovery.value is None):
            left -= 0.25
            said.append(_with_steps(f"{failed.value} failed calls", failed.steps))
            steps += failed.steps
    else:
        absent.append(f"num_failed_calls ({failed.reason if failed and failed.reason else 'not measured'})")
    if not seen:
        return None, "No metric that the rules read has a value.", ()
    end = facts.get("stop_behaviour")
    if not said:
        said.append(
            _with_steps(
                "nothing to take off: it called tools without repeats and ended with an answer",
                end.steps if end else (),
            )
        )
    if not steps and end is not None:
        steps += end.steps
    reason = "; ".join(said)
    reason = reason[:1].upper() + reason[1:] + "."
    if absent:
        reason += f" Not known: {', '.join(absent)}."
    return max(0.0, left), reason, tuple(dict.fromkeys(steps))


def _with_steps(words: str, steps: tuple[int, ...]) -> str:
    shown = ", ".join(f"[S{step}]" for step in steps[:MOST_CITED])
    more = f" and {len(steps) - MOST_CITED} more" if len(steps) > MOST_CITED else ""
    return f"{words} {shown}{more}" if shown else words
