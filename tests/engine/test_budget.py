"""A spend cap holds when calls run side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from judge.engine.budget import Budget
from judge.errors import BudgetReached


def test_a_call_is_admitted_only_with_everything_reserved_beside_it() -> None:
    budget = Budget(1.0)
    assert [budget.admit(0.4) for _ in range(3)] == [True, True, False]
    assert budget.committed == 0.8
    budget.settle(0.4, 0.1)
    assert (budget.spent, budget.committed) == (0.1, 0.5)
    assert budget.admit(0.4)


def test_amounts_are_added_as_decimals() -> None:
    budget = Budget(0.3)
    assert [budget.admit(0.1) for _ in range(4)] == [True, True, True, False]  # 3 * 0.1 > 0.3 in binary


def test_a_failed_call_gives_its_reservation_back_and_an_unknown_cost_counts_in_full() -> None:
    budget = Budget(1.0)
    budget.admit(0.6)
    budget.release(0.6)
    assert budget.committed == 0
    budget.admit(0.6)
    budget.settle(0.6, None)
    assert budget.spent == 0.6


def test_without_a_cap_everything_is_admitted() -> None:
    assert all(Budget(None).admit(1e9) for _ in range(3))


def test_a_call_waits_for_room_that_a_settlement_may_make() -> None:
    async def story() -> float:
        budget = Budget(1.0)
        await budget.reserve(0.9)
        second = asyncio.create_task(budget.reserve(0.9))
        await asyncio.sleep(0)
        assert not second.done()
        budget.settle(0.9, 0.05)
        await second
        return budget.committed

    assert asyncio.run(story()) == 0.95


def test_a_call_that_can_never_fit_is_refused_at_once() -> None:
    async def story() -> None:
        await Budget(0.5).reserve(0.6)

    with pytest.raises(BudgetReached, match=r"\$0\.0000 of \$0\.5000 is spent"):
        asyncio.run(story())


def test_g_d35_reservation(case: Callable[[str], dict[str, Any]]) -> None:
    entry = case("G-D35")
    given, exact = entry["input"], entry["right"]["exact"]
    estimate = given["estimate_per_call"]

    async def story() -> tuple[int, float]:
        budget = Budget(given["cap"], spent=given["spent"])
        admitted = 0

        async def call() -> None:
            nonlocal admitted
            await budget.reserve(estimate)
            admitted += 1
            await asyncio.sleep(0.01)
            budget.settle(estimate, estimate)

        results = await asyncio.gather(*(call() for _ in range(given["parallel_ready"])), return_exceptions=True)
        refused = [result for result in results if isinstance(result, BudgetReached)]
        assert len(refused) == given["parallel_ready"] - admitted
        return admitted, budget.committed

    admitted, committed = asyncio.run(story())
    assert (admitted, committed) == (exact["admitted"], exact["committed"])
    full = Budget(exact["third_would_be"], spent=committed)
    assert full.admit(estimate)
    assert not Budget(given["cap"], spent=committed).admit(estimate)
