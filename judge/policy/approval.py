"""The rule about approvals: who let each call happen, and when."""

from __future__ import annotations

from collections import Counter

from judge.policy.history import Attempt, History, counted, indices, matches, named, places, succeeded, unsure
from judge.types.policy import ApprovalRule, Ruling
from judge.types.trajectory import Approval

_GRANTED = ("approved", "modified")


def approval(rule: ApprovalRule, history: History) -> Ruling:
    """Every successful call of `tools` was approved by an approver matching `by`, before its result.

    The last decision before the result counts, so that an approval which was taken back is none. A decision
    belongs to a call when nothing that it names (step, call id, tool) is another call's.
    Vacuous: passed where no such call succeeded. Steps: the calls without a valid approval.
    """
    tried = history.of(rule.tools)
    done = succeeded(tried)
    if not done:
        why = "was tried without success" if tried else "was not called"
        return Ruling(status="passed", detail=f"{named(rule.tools)} {why}, so nothing had to be approved.")
    owners = _owners(history)
    strays = _strays(history, owners, done)
    problems: Counter[str] = Counter()
    wrong: list[Attempt] = []
    for attempt in done:
        problem = _problem(rule, attempt, owners.get(attempt.index, []), strays)
        if problem is not None:
            problems[problem] += 1
            wrong.append(attempt)
    wanted = f" by {named(rule.by)}" if rule.by else ""
    if not wrong:
        names = Counter(_approver(owners[attempt.index], attempt) for attempt in done)
        given = ", ".join(f"{count} by {name}" for name, count in names.items())
        return Ruling(status="passed", detail=f"{counted(len(done), 'call')} approved: {given}{unsure(done)}.")
    parts = ", ".join(f"{count} {problem}" for problem, count in problems.items())
    detail = (
        f"{len(wrong)} of {len(done)} successful calls not approved{wanted} beforehand: {parts} "
        f"{places(indices(wrong))}{unsure(wrong)}."
    )
    return Ruling(status="failed", detail=detail, steps=indices(wrong))


def _problem(
    rule: ApprovalRule, attempt: Attempt, own: list[Approval], strays: dict[str | None, Approval]
) -> str | None:
    """What is wrong with the approval of a successful call, in words that follow a count; None where nothing is."""
    ended = attempt.ended or attempt.index
    decisions = [step for step in own if step.state != "requested"]
    timely = [step for step in decisions if step.index < ended]
    if timely:
        last = timely[-1]
        if last.state not in _GRANTED:
            return f"denied by {_name(last)}"
        if rule.by is None or (last.approver is not None and matches(last.approver, rule.by)):
            return None
        return f"by {_name(last)}"
    late = [step for step in decisions if step.state in _GRANTED]
    if late:
        return f"approved only after the fact by {_name(late[0])}"
    stray = strays.get(attempt.call.name) or strays.get(None)
    if stray is not None:
        return f"approved by {_name(stray)} only for another call id ({stray.call_id!r} [S{stray.index}])"
    if own:
        asked = own[0]
        return "asked for after the fact and not approved" if asked.index > ended else "asked for and not approved"
    return "without any approval"


def _owners(history: History) -> dict[int, list[Approval]]:
    """Approval steps by the index of the call that each belongs to, in order."""
    by_index = {attempt.index: attempt for attempt in history.attempts}
    by_id: dict[str, list[Attempt]] = {}
    for attempt in history.attempts:
        if attempt.call.call_id is not None:
            by_id.setdefault(attempt.call.call_id, []).append(attempt)
    undecided = {tool: list(attempts) for tool, attempts in history.by_tool.items()}
    owners: dict[int, list[Approval]] = {}
    for step in history.approvals:
        if step.call_index is not None:
            owner = by_index.get(step.call_index)
        elif step.call_id is not None:
            owner = _nearest(step, _still_open(step, by_id.get(step.call_id, [])))
        elif step.tool is not None:
            # Without an id, a decision on one call is not a decision on the next: each call is decided on once.
            owner = _nearest(step, undecided.get(step.tool, []))
            if owner is not None and step.state != "requested":
                undecided[step.tool].remove(owner)
        else:
            owner = None
        if owner is not None and _may_belong(step, owner):
            owners.setdefault(owner.index, []).append(step)
    return owners


def _still_open(step: Approval, candidates: list[Attempt]) -> list[Attempt]:
    """`candidates` without those that ended before `step`, the last of these excepted; no later approval wants them.

    Real traces repeat one id thousands of times.
    """
    over = 0
    for attempt in candidates:
        if attempt.ended is None or attempt.ended > step.index:
            break
        over += 1
    del candidates[: max(over - 1, 0)]
    return candidates


def _nearest(step: Approval, candidates: list[Attempt]) -> Attempt | None:
    """The first call that waits for the decision; else the last one made before it; else the next one after it."""
    earlier: Attempt | None = None
    for attempt in candidates:
        if attempt.index > step.index:
            return earlier or attempt
        if attempt.ended is None or attempt.ended > step.index:
            return attempt
        earlier = attempt
    return earlier


def _strays(history: History, owners: dict[int, list[Approval]], done: list[Attempt]) -> dict[str | None, Approval]:
    """By the tool it names: the first approval with a call id that belongs to none of the calls in question."""
    asked = {attempt.index for attempt in done}
    placed = {step.index for index, steps in owners.items() if index in asked for step in steps}
    strays: dict[str | None, Approval] = {}
    for step in history.approvals:
        if step.state in _GRANTED and step.call_id is not None and step.index not in placed:
            strays.setdefault(step.tool, step)
    return strays


def _may_belong(step: Approval, attempt: Attempt) -> bool:
    """Whether nothing that the approval names is another call's."""
    call = attempt.call
    return step.tool in (None, call.name) and step.call_id in (None, call.call_id)


def _name(step: Approval) -> str:
    return step.approver or "an approver who is not recorded"


def _approver(own: list[Approval], attempt: Attempt) -> str:
    ended = attempt.ended or attempt.index
    last = [step for step in own if step.state in _GRANTED and step.index < ended][-1]
    return _name(last) + (" with changes" if last.state == "modified" else "")
