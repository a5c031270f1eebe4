"""Which call is which expected call: each used once, as many as possible.

Calls are a multiset: two equal calls are two. Where arguments are compared exactly or not at all, equal keys decide
in linear time. With the other argument modes it is a maximum bipartite matching within each tool (Kuhn 1955,
by augmenting paths): at worst cubic in the calls of that one tool.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence

from judge.metrics.arguments import EXACT, Modes, by_key, fits
from judge.types.json_equality import call_key, json_key
from judge.types.reference import ExpectedCall
from judge.types.trajectory import ToolCall


def assign(
    called: Sequence[ToolCall],
    expected: Sequence[ExpectedCall],
    modes: Modes = EXACT,
    keys: Sequence[Hashable] | None = None,
) -> list[int | None]:
    """For each call the position of the expected call that it stands for, or None; the most that can be joined.

    Equal calls are joined in order. `keys` are the calls' keys where they are known already.
    """
    wanted: dict[str, list[int]] = defaultdict(list)
    for position, one in enumerate(expected):
        wanted[one.name].append(position)
    made: dict[str, list[int]] = defaultdict(list)
    for position, call in enumerate(called):
        if call.name in wanted:
            made[call.name].append(position)
    out: list[int | None] = [None] * len(called)
    for name, positions in made.items():
        if by_key(name, modes):
            given = [call_key(called[position]) if keys is None else keys[position] for position in positions]
            pairs = _by_key(positions, given, wanted[name], expected, modes.get(name) == "ignore")
        else:
            pairs = _by_paths(positions, wanted[name], called, expected, modes)
        for position, partner in pairs:
            out[position] = partner
    return out


def _by_key(
    positions: list[int],
    given: list[Hashable],
    wanted: list[int],
    expected: Sequence[ExpectedCall],
    ignore: bool,
) -> list[tuple[int, int]]:
    free: dict[Hashable, deque[int]] = defaultdict(deque)
    any_will_do: deque[int] = deque()
    for position in wanted:
        one = expected[position]
        if ignore or one.arguments is None:
            any_will_do.append(position)
        else:
            free[one.name, json_key(one.arguments)].append(position)
    pairs: list[tuple[int, int]] = []
    left: list[int] = []
    for position, key in zip(positions, given, strict=True):
        if free.get(key):
            pairs.append((position, free[key].popleft()))
        else:
            left.append(position)
    return [*pairs, *zip(left, any_will_do, strict=False)]


def _by_paths(
    positions: list[int],
    wanted: list[int],
    called: Sequence[ToolCall],
    expected: Sequence[ExpectedCall],
    modes: Modes,
) -> list[tuple[int, int]]:
    edges = {one: [to for to in wanted if fits(called[one], expected[to], modes)] for one in positions}
    holder: dict[int, int] = {}  # expected → called
    holds: dict[int, int] = {}  # called → expected
    for start in positions:
        came_from: dict[int, int] = {}  # expected → the call that reached it
        queue = deque([start])
        end: int | None = None
        while queue and end is None:
            one = queue.popleft()
            for to in edges[one]:
                if to in came_from:
                    continue
                came_from[to] = one
                if to not in holder:
                    end = to
                    break
                queue.append(holder[to])
        while end is not None:  # turn the path over, from its free end back to `start`
            one = came_from[end]
            before = holds.get(one)
            holder[end], holds[one] = one, end
            end = before
    return list(holds.items())
