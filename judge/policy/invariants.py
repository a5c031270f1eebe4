"""Rules that hold for any agent: read before you write, do not repeat yourself, say how it ended."""

from __future__ import annotations

import posixpath
from collections.abc import Hashable
from typing import Any

from judge.policy.arguments import arguments_of, values_at
from judge.policy.history import History, blocked, indices, named, places, succeeded, unsure
from judge.policy.order import finish_of
from judge.policy.secrets import shown
from judge.types.json_equality import call_key, json_key
from judge.types.policy import Names, NoRepeats, ReadBeforeMutation, ReadBeforeWrite, Ruling
from judge.types.trajectory import OutcomeStatus


def read_before_write(rule: ReadBeforeWrite, history: History) -> Ruling:
    """No call of `write` names a path that no earlier successful `read` named; what a run wrote is not thereby read.

    Paths are texts, with "./a" and "a" the same. A blocked attempt counts too.
    Vacuous: passed where nothing was written. Steps: the writes.
    """
    writes = history.of(rule.write)
    if not writes:
        return Ruling(status="passed", detail=f"{named(rule.write)} was not called.")
    reads = succeeded(history.of(rule.read))
    known: dict[Hashable, int] = {}
    for attempt in reads:
        for path in values_at(arguments_of(attempt.call), rule.read_path or rule.path):
            ended = attempt.ended or attempt.index
            known[_path_key(path)] = min(known.get(_path_key(path), ended), ended)
    wrong = []
    problems: list[str] = []
    for attempt in writes:
        paths = values_at(arguments_of(attempt.call), rule.path)
        unread = [path for path in paths if known.get(_path_key(path), attempt.index) >= attempt.index]
        if unread or not paths:
            wrong.append(attempt)
            what = f"{shown(unread[0], rule.path)} without reading it before" if paths else f"without a {rule.path}"
            problems.append(f"{attempt.call.name} {what} [S{attempt.index}]")
    if not wrong:
        return Ruling(status="passed", detail=f"Every path of {len(writes)} writes was read before{unsure(reads)}.")
    more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
    detail = f"{'; '.join(problems[:5])}{more}{blocked(wrong)}."
    return Ruling(status="failed", detail=detail, steps=indices(wrong))


def _path_key(path: Any) -> Hashable:
    return posixpath.normpath(path) if isinstance(path, str) and path else json_key(path)


def read_before_mutation(rule: ReadBeforeMutation, history: History) -> Ruling:
    """No call of `mutate`, not even a blocked one, before a successful call of `read`.

    Vacuous: passed where nothing was mutated. Steps: the mutations before the first read.
    """
    mutations = history.of(rule.mutate)
    if not mutations:
        return Ruling(status="passed", detail=f"{named(rule.mutate)} was not called.")
    reads = succeeded(history.of(rule.read))
    first = min((attempt.ended or attempt.index for attempt in reads), default=None)
    early = [attempt for attempt in mutations if first is None or attempt.index < first]
    if not early:
        detail = f"{named(rule.read)} before {mutations[0].call.name} [S{mutations[0].index}]{unsure(reads)}."
        return Ruling(status="passed", detail=detail)
    names = " and ".join(dict.fromkeys(attempt.call.name for attempt in early))
    read = "at all" if first is None else f"before [S{first}]"
    detail = f"{names} {places(indices(early))}, with no successful {named(rule.read)} {read}{blocked(early)}."
    return Ruling(status="failed", detail=detail, steps=indices(early))


def no_repeats(rule: NoRepeats, history: History) -> Ruling:
    """No identical (tool, arguments) more than `at_most` times, by the meaning of JSON.

    Steps: the calls beyond the allowed number.
    """
    counts: dict[Any, int] = {}
    over: list[int] = []
    tools: dict[str, None] = {}
    for attempt in history.of(rule.tools):
        key = call_key(attempt.call)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] > rule.at_most:
            over.append(attempt.index)
            tools[attempt.call.name] = None
    times = "once" if rule.at_most == 1 else f"{rule.at_most} times"
    if not over:
        return Ruling(status="passed", detail=f"No identical call was made more than {times}.")
    most = max(counts.values())
    detail = f"{', '.join(tools)} with identical arguments up to {most} times, allowed {times}: {places(over)}."
    return Ruling(status="failed", detail=detail, steps=tuple(over))


def finish_agrees(rule: dict[OutcomeStatus, Names], history: History) -> Ruling:
    """The status in the final answer is one that the policy lists under the recorded outcome.

    Not applicable: no finish status or no outcome is recorded, or the policy lists neither. Steps: the final answer.
    """
    finish = finish_of(history)
    outcome = history.trajectory.outcome
    if finish is None:
        return Ruling(status="not_applicable", detail="not applicable: no final answer with a status is recorded")
    if outcome is None or outcome.status == "unknown":
        return Ruling(status="not_applicable", detail="not applicable: no outcome is recorded")
    status, steps = finish
    agreeing = rule.get(outcome.status, ())
    if status in agreeing:
        return Ruling(status="passed", detail=f"The run finished as {status!r}, and its outcome is {outcome.status}.")
    if not agreeing and all(status not in statuses for statuses in rule.values()):
        why = f"the policy lists neither the finish status {status!r} nor the outcome {outcome.status!r}"
        return Ruling(status="not_applicable", detail=f"not applicable: {why}")
    detail = f"The run finished as {status!r}, and its outcome is {outcome.status}."
    return Ruling(status="failed", detail=detail, steps=steps)
