"""Rules about order: what comes before what, what must and must not be called, how a run ends."""

from __future__ import annotations

from judge.policy.history import History, blocked, counted, indices, matches, named, places, succeeded, unsure
from judge.types.policy import Before, Names, Ruling
from judge.types.trajectory import Message, Step


def before(rule: Before, history: History) -> Ruling:
    """A successful call of each tool in `first` before the first successful one of `then`.

    Vacuous: passed where no call of `then` succeeded. Steps: the first successful call of `then`.
    """
    wanted = named(rule.then)
    tried = history.of(rule.then)
    done = succeeded(tried)
    if not done:
        why = f"was called {counted(len(tried), 'time')} and never succeeded" if tried else "was not called"
        return Ruling(status="passed", detail=f"{wanted} {why}, so nothing had to come before it.")
    then = done[0]
    problems: list[str] = []
    kept: list[int] = []
    for name in rule.first:
        firsts = history.of((name,))
        early = next((attempt for attempt in firsts if attempt.known_by(then.index)), None)
        if early is not None:
            kept.append(early.index)
            continue
        late = next((attempt for attempt in firsts if attempt.succeeded), None)
        if late is not None:
            problems.append(f"{name} [S{late.index}] had not succeeded before it" + unsure([late]))
        elif firsts:
            problems.append(f"{name} was tried without success ({firsts[-1].status} [S{firsts[-1].index}])")
        else:
            problems.append(f"{name} was never called")
    what = f"{then.call.name} [S{then.index}]"
    if problems:
        detail = f"{what} was made although {' and '.join(problems)}{unsure([then])}."
        return Ruling(status="failed", detail=detail, steps=(then.index,))
    return Ruling(status="passed", detail=f"{named(rule.first)} {places(kept)} before {what}{unsure([then])}.")


def must_call(names: Names, history: History) -> Ruling:
    """Each of `names` succeeded at least once. Steps: the calls that were tried in vain, or none."""
    missing: list[str] = []
    vain: list[int] = []
    guessed: list[str] = []
    for name in names:
        attempts = history.of((name,))
        done = succeeded(attempts)
        if done:
            guessed.append("" if any(a.status == "ok" for a in done) else unsure(done[:1]))
        elif attempts:
            missing.append(f"{name} was tried {counted(len(attempts), 'time')} without success ({attempts[-1].status})")
            vain += indices(attempts)
        else:
            missing.append(f"{name} was never called")
    if missing:
        return Ruling(status="failed", detail=f"{'; '.join(missing)}.", steps=tuple(sorted(vain)))
    return Ruling(status="passed", detail=f"{' and '.join(names)} succeeded{''.join(guessed)}.")


def must_not_call(names: Names, history: History) -> Ruling:
    """None of `names` was called; a blocked attempt is an attempt. Steps: the calls."""
    attempts = history.of(names)
    if not attempts:
        return Ruling(status="passed", detail=f"{named(names)} was not called.")
    tools = list(dict.fromkeys(attempt.call.name for attempt in attempts))
    detail = f"{' and '.join(tools)} called at {places(indices(attempts))}{blocked(attempts)}."
    return Ruling(status="failed", detail=detail, steps=indices(attempts))


def must_end_with(names: Names, history: History) -> Ruling:
    """The last thing that the agent did is a final answer ("final"), or its last call is of a tool in `names`.

    In formats without a final step, a last message of the assistant is the final answer. What others say after it
    does not count. Steps: the last call, or the last step.
    """
    last = next((step for step in reversed(history.steps) if _is_doing(step)), None)
    answered = last is not None and last.kind in ("final", "message")
    if "final" in names and answered:
        return Ruling(status="passed", detail="The run ends with a final answer.")
    tools = tuple(name for name in names if name != "final")
    if not tools:
        if last is None:
            return Ruling(status="failed", detail="The run must end with a final answer, and the agent did nothing.")
        detail = f"The run must end with a final answer, and the last thing done is {last.kind} [S{last.index}]."
        return Ruling(status="failed", detail=detail, steps=(last.index,))
    if not history.attempts:
        at = () if last is None else (last.index,)
        return Ruling(
            status="failed", detail=f"The run must end with {named(names)}, and no tool was called.", steps=at
        )
    attempt = history.attempts[-1]
    if matches(attempt.call.name, tools):
        return Ruling(status="passed", detail=f"The last call is {attempt.call.name} [S{attempt.index}].")
    detail = f"The last call is {attempt.call.name} [S{attempt.index}], needed {named(names)}."
    return Ruling(status="failed", detail=detail, steps=(attempt.index,))


def _is_doing(step: Step) -> bool:
    """Whether the agent did it, or it came of that; not what others said and not what the agent thought."""
    if isinstance(step, Message):
        return step.role == "assistant"
    return step.kind not in ("event", "reasoning", "context_edit")


def finish_status(statuses: Names, history: History) -> Ruling:
    """The status of the final answer, or else of the outcome, is one of `statuses`."""
    found = finish_of(history)
    if found is None:
        outcome = history.trajectory.outcome
        if outcome is None or outcome.status == "unknown":
            return Ruling(status="not_applicable", detail="not applicable: no finish status is recorded")
        found = (outcome.status, ())
    status, steps = found
    if matches(status, statuses):
        return Ruling(status="passed", detail=f"The run finished as {status!r}.")
    return Ruling(status="failed", detail=f"The run finished as {status!r}, needed {named(statuses)}.", steps=steps)


def finish_of(history: History) -> tuple[str, tuple[int, ...]] | None:
    """Status that the last final answer gives, with its step; None where none does."""
    final = history.finals[-1] if history.finals else None
    return None if final is None or not final.status else (final.status, (final.index,))
