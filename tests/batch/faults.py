"""The faults that a batch survives, each as a scenario that counts what happened; `make faults` prints them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Fault:
    """What a scenario came to.

    Attributes:
        counts: What was counted, in words.
        held: Whether the promise held.
    """

    what: str
    counts: str
    held: bool


Scenario = Callable[[Path], Fault]
MODULES = (
    "faults_provider",
    "faults_disk",
    "faults_cache",
    "faults_kill",
    "faults_money",
    "faults_batches",
    "faults_ray",
)
"""Modules beside this one that hold scenarios, each with a tuple SCENARIOS."""


def scenarios() -> list[Scenario]:
    """Every scenario, in the order of the table."""
    from importlib import import_module

    return [scenario for name in MODULES for scenario in import_module(name).SCENARIOS]
