"""Which result answers which call: the one place where the two are joined.

Ids repeat in real files, results may stand before their call, and some formats have no ids at
all, so an id is never the key of a dictionary of calls.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from judge.types.trajectory import Pairing


class Asked(NamedTuple):
    """A call, as far as pairing needs it.

    Attributes:
        turn: The model call it came from, where known.
        batch: Number of the unbroken row of calls that it stands in.
    """

    step: int
    agent: str | None
    turn: str | None
    batch: int
    call_id: str | None
    name: str


class Answered(NamedTuple):
    """A result, as far as pairing needs it. `given` is the call it is known to answer, by its place in the file."""

    step: int
    agent: str | None
    call_id: str | None
    name: str | None
    given: int | None = None


class Link(NamedTuple):
    """A result's call. `late` when the call stands after its result, `extra` when the call had one already."""

    call_index: int
    pairing: Pairing
    late: bool = False
    extra: bool = False


def pair(calls: Sequence[Asked], results: Sequence[Answered]) -> dict[int, Link]:
    """Result index to its call. Results that answer no call are absent.

    Within one agent, a result with an id goes to the nearest earlier unanswered call of that id, else to
    the next later one, else (a second result) to the nearest earlier one. A result without an id goes to
    the first unanswered call of the last turn that made calls, by name where both have one; else to the
    nearest earlier unanswered call of its name. A result that names no agent belongs to the only agent that
    can have asked. An id that no call has is never joined by guessing.
    """
    results = _with_agents(calls, results)
    taken: set[int] = {result.given for result in results if result.given is not None}
    links: dict[int, Link] = {}
    by_agent: dict[str | None, list[Asked]] = {}
    for call in calls:
        by_agent.setdefault(call.agent, []).append(call)
    _pair_by_id(calls, results, taken, links)
    _pair_without_id(by_agent, results, taken, links)
    return links


def _with_agents(calls: Sequence[Asked], results: Sequence[Answered]) -> list[Answered]:
    """Results whose record names no agent, or another, with the agent of the only calls they can answer."""
    by_id: dict[str, set[str | None]] = {}
    for call in calls:
        by_id.setdefault(call.call_id or "", set()).add(call.agent)
    everyone = {call.agent for call in calls}
    out: list[Answered] = []
    for result in results:
        owners = by_id.get(result.call_id, set()) if result.call_id else everyone
        if result.agent not in owners and len(owners) == 1:
            result = result._replace(agent=next(iter(owners)))
        out.append(result)
    return out


def _pair_by_id(calls: Sequence[Asked], results: Sequence[Answered], taken: set[int], links: dict[int, Link]) -> None:
    every: dict[tuple[str | None, str], list[int]] = {}
    opened: dict[tuple[str | None, str], list[int]] = {}
    unresolved: list[Answered] = []
    with_id = [call for call in calls if call.call_id]
    at = 0
    for result in results:
        while at < len(with_id) and with_id[at].step < result.step:
            _open(with_id[at], every, opened, taken)
            at += 1
        if result.given is not None or not result.call_id:
            continue
        waiting = opened.get((result.agent, result.call_id))
        if waiting:
            links[result.step] = Link(waiting.pop(), "id")
            taken.add(links[result.step].call_index)
        else:
            unresolved.append(result)
    for call in with_id[at:]:
        _open(call, every, opened, taken)
    for result in unresolved:
        key = (result.agent, result.call_id or "")
        same, waiting = every.get(key), opened.get(key, [])
        if not same:
            continue
        place = bisect_right(waiting, result.step)
        if place < len(waiting):
            links[result.step] = Link(waiting.pop(place), "id", late=True)
            taken.add(links[result.step].call_index)
        else:
            before = bisect_right(same, result.step)
            links[result.step] = Link(same[max(before - 1, 0)], "id", extra=True)


def _open(
    call: Asked,
    every: dict[tuple[str | None, str], list[int]],
    opened: dict[tuple[str | None, str], list[int]],
    taken: set[int],
) -> None:
    key = (call.agent, call.call_id or "")
    every.setdefault(key, []).append(call.step)
    if call.step not in taken:
        opened.setdefault(key, []).append(call.step)


def _pair_without_id(
    by_agent: dict[str | None, list[Asked]], results: Sequence[Answered], taken: set[int], links: dict[int, Link]
) -> None:
    opened: dict[str | None, list[Asked]] = {agent: [] for agent in by_agent}
    at: dict[str | None, int] = dict.fromkeys(by_agent, 0)
    for result in results:
        agent = result.agent
        if result.given is not None or result.call_id or agent not in by_agent:
            continue
        calls, waiting = by_agent[agent], opened[agent]
        while at[agent] < len(calls) and calls[at[agent]].step < result.step:
            waiting.append(calls[at[agent]])
            at[agent] += 1
        waiting[:] = [call for call in waiting if call.step not in taken]
        link = _by_order(waiting, calls[at[agent] - 1] if at[agent] else None, result.name)
        if link is not None:
            links[result.step] = link
            taken.add(link.call_index)


def _by_order(waiting: Sequence[Asked], last: Asked | None, name: str | None) -> Link | None:
    if last is None:
        return None
    turn = [call for call in waiting if call.batch == last.batch or (last.turn is not None and call.turn == last.turn)]
    fitting = [call for call in turn if name is None or call.name == name]
    if fitting:
        return Link(fitting[0].step, "order" if fitting[0] is turn[0] else "name")
    named = [call for call in waiting if name is not None and call.name == name]
    return Link(named[-1].step, "name") if named else None


class CallIndex(NamedTuple):
    """Indices of calls in order, by (agent, id) and by (agent, name)."""

    by_id: dict[tuple[str | None, str], list[int]]
    by_name: dict[tuple[str | None, str], list[int]]


def index_calls(calls: Sequence[Asked]) -> CallIndex:
    """The calls of one trajectory, for `nearest`."""
    out = CallIndex({}, {})
    for call in calls:
        if call.call_id:
            out.by_id.setdefault((call.agent, call.call_id), []).append(call.step)
        out.by_name.setdefault((call.agent, call.name), []).append(call.step)
    return out


def nearest(calls: CallIndex, index: int, agent: str | None, call_id: str | None, name: str | None) -> int | None:
    """The call that an approval or a retry at `index` is about: by id, else by name; the last one before it first."""
    same = calls.by_id.get((agent, call_id)) if call_id else calls.by_name.get((agent, name)) if name else None
    if not same:
        return None
    before = bisect_right(same, index)
    return same[before - 1] if before else same[0]
