"""The frontier of price and agreement: judges that no other beats on both."""

from __future__ import annotations

from collections.abc import Sequence

from judge.types.comparison import FrontierPoint


def frontier(judges: Sequence[tuple[str, float | None, float | None]]) -> tuple[FrontierPoint, ...]:
    """Points by rising price from (judge, US dollars a verdict, credit).

    A judge without a known price or credit has no point: unknown is neither free nor dear.
    """
    known = [(name, usd, right) for name, usd, right in judges if usd is not None and right is not None]
    known.sort(key=lambda point: (point[1], -point[2], point[0]))
    points = []
    for name, usd, right in known:
        beaten = any(u <= usd and r >= right and (u < usd or r > right) for _, u, r in known)
        points.append(FrontierPoint(judge=name, usd=usd, right=right, on_frontier=not beaten))
    return tuple(points)
