"""The probe of position: pairs of a source's runs judged in both orders, beside the probes of single runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from judge.calibration.pair_findings import contest
from judge.calibration.probes.position import position_row
from judge.config import Settings
from judge.engine.budget import Budget
from judge.engine.connection import Connection
from judge.engine.pairing import pairs_of
from judge.engine.pairwise import judge_pairs
from judge.engine.probing import Planting
from judge.engine.run import References
from judge.types.probe import BiasRow


def probe_position(
    planted: Planting,
    *,
    settings: Settings,
    judge: str | Connection | None = None,
    limit: int | None = None,
    reference: References = None,
    policy: str | None = None,
    progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
) -> BiasRow:
    """What the first place is worth to this judge, when it compares two runs of a task.

    A row for the biases of a report, and part of no claim: a judge of pairs is another judge than that of scores.

    Args:
        limit: Most pairs, in turns from each task.
        budget: Of a larger piece of work that this is part of; None for one of its own.

    Raises:
        UsageError: No two runs share a task, or the judge scores single runs alone.
        TerminalError, BudgetReached: The judge takes no further call.
    """
    pairs = pairs_of(planted.what.runs, by="run", most=limit).pairs
    count = 0

    def done(_: object) -> None:
        nonlocal count
        count += 1
        if progress is not None:
            progress(count)

    found = judge_pairs(
        pairs,
        planted.rubric,
        judge=judge,
        settings=settings,
        reference=reference,
        policy=policy,
        done=done,
        budget=budget,
    )
    if found.stopped is not None:
        raise found.stopped
    contests = [contest(verdict, (verdict.a, verdict.b)) for verdict in found.verdicts]
    return position_row(contests, rng=np.random.default_rng(planted.seed))
