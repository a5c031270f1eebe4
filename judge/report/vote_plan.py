"""A vote plan as text."""

from __future__ import annotations

from judge.engine.vote_plan import VotePlan, VotePoint
from judge.report.calibration import decimals, statistic_text
from judge.report.numbers import plural, usd

WIDTH = 20
"""Characters of the longest bar of the curve."""
LEAST = 0.0005
"""Largest share of a curve that is shown without bars, as 0.0 %."""


def vote_plan_text(plan: VotePlan) -> str:
    """The curve and what it says, in a few lines."""
    lines = [
        f"== {plan.judge} under rubric {plan.rubric}, criterion {plan.criterion}",
        f"{plural(plan.runs, 'run')} of {plan.source}, {plan.repeats} votes each"
        + (f"; {plural(plan.left_out, 'run')} with fewer than two valid votes left out" if plan.left_out else ""),
        f"Two single votes give different verdicts: {statistic_text(plan.flip_rate)}",
        "",
        "  votes   verdicts that flip  " + " " * (WIDTH + 2) + "stopping when certain  USD a verdict  stopping  how",
    ]
    most = max((point.flips for point in plan.curve if point.flips is not None), default=0.0)
    lines += [_line(point, most) for point in plan.curve]
    lines.append("")
    if plan.votes is None:
        lines.append(f"No number of votes is known to bring flips to {plan.target:.1%}: {_why(plan)}.")
    else:
        point = next(point for point in plan.curve if point.votes == plan.votes)
        known = point.usd is not None
        price = f", {usd(point.usd)} a verdict ({usd(point.usd_stopping)} stopping)" if known else ""
        lines.append(f"For at most {plan.target:.1%} flips, by this estimate: {plural(plan.votes, 'vote')}{price}.")
        if plan.votes_at_worst is None:
            lines.append(
                "No number of votes on the curve holds it at the upper ends of the 95 % intervals: more tasks help."
            )
        elif plan.votes_at_worst > plan.votes:
            lines.append(f"At the upper ends of the 95 % intervals: {plural(plan.votes_at_worst, 'vote')}.")
        if plan.votes > 1:
            lines.append(
                f"With --stop-risk 0 --max-samples {plan.votes} the same verdicts take {decimals(point.calls)} votes "
                "on average."
            )
    if plan.prefix_cached is not None:
        lines.append(f"Of the input tokens, {plan.prefix_cached:.0%} came from the provider's prompt cache.")
    lines.append("Repeats cure wobble and not error: steady verdicts can be steadily wrong.")
    return "\n".join(lines)


def _line(point: VotePoint, most: float) -> str:
    flips = "unknown" if point.flips is None else f"{point.flips:.1%}"
    if point.low is not None and point.high is not None:
        flips += f" [{100 * point.low:.1f}, {100 * point.high:.1f}]"
    bar = "#" * round(WIDTH * point.flips / most) if point.flips and most >= LEAST else ""
    how = point.reason or point.method
    cells = (f"{point.votes:>7}", f"{flips:>20}", f"{bar:<{WIDTH}}", f"{point.calls:>21.2f}", f"{usd(point.usd):>13}")
    return "  ".join(cells) + f"  {usd(point.usd_stopping):>8}  {how}"


def _why(plan: VotePlan) -> str:
    unknown = [point.reason for point in plan.curve if point.reason]
    if unknown:
        return unknown[0]
    return "the votes on some runs are a coin's, and more of them stay one; look at those runs, or at the rubric"
