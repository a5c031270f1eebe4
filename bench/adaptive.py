"""Adaptive voting against a fixed number of votes, by simulation: votes saved at the same error.

    python bench/adaptive.py [--quick]

Binary: judges that are right in .6, .7, .8, .9 of their votes, independently; an error is a verdict that is not the
truth. *certain* stops when the votes left of five cannot change the verdict. *likely* is the rule with the fewest
votes, of those in `GRID`, whose exact error at that accuracy is no larger than that of five votes. Ordinal: scores of
1 to 5 around a true level; an error is a verdict that is not the median of endless votes.

Ends with exit status 1 when a rule saves nothing or errs more than five votes beyond what chance allows.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import product

import numpy as np

from judge.calibration.proportions import wilson
from judge.types.stop_rule import StopRule
from judge.voting.sequential import binary_outcome, median_decided, two_decided

FIXED = 5
ACCURACIES = (0.6, 0.7, 0.8, 0.9)
CERTAIN = StopRule(risk=0.0, least=2, most=FIXED)
GRID = tuple(
    StopRule(risk=risk, least=least, most=most)
    for risk, least, most in product((0.01, 0.03, 0.05, 0.1, 0.13, 0.15, 0.2, 0.25), (2, 3), (5, 7, 9, 11, 13))
)
LEVELS = {  # chance of each score 1 to 5 for one vote; their medians are 4, 4, 2 and 3
    "sharp": (0.0, 0.0, 0.1, 0.8, 0.1),
    "usual": (0.0, 0.05, 0.2, 0.55, 0.2),
    "wide": (0.2, 0.4, 0.2, 0.1, 0.1),
    "flat": (0.15, 0.2, 0.3, 0.2, 0.15),
}


@dataclass(frozen=True)
class Row:
    """One rule against five votes.

    Attributes:
        error, fixed_error: Share of wrong verdicts, (value, low, high) at 95 %.
        saved: Share of votes saved, (value, low, high).
    """

    judge: str
    rule: str
    error: tuple[float, float, float]
    fixed_error: tuple[float, float, float]
    calls: float
    saved: tuple[float, float, float]

    @property
    def holds(self) -> bool:
        """Whether votes are saved, and the error is no larger as far as the simulation can tell."""
        return self.saved[1] > 0 and self.error[1] <= self.fixed_error[2]


def likely(accuracy: float) -> StopRule:
    """The rule of `GRID` with the fewest expected votes whose error is that of five votes or less."""
    limit = binary_outcome(StopRule(risk=0.0, least=FIXED, most=FIXED), accuracy).error
    fit = [rule for rule in GRID if binary_outcome(rule, accuracy).error <= limit + 1e-12]
    return min(fit, key=lambda rule: binary_outcome(rule, accuracy).calls)


def binary_rows(verdicts: int, seed: int) -> list[Row]:
    """Every accuracy with both rules."""
    rng = np.random.default_rng(seed)
    rows = []
    for accuracy in ACCURACIES:
        for name, rule in (("certain", CERTAIN), ("likely", likely(accuracy))):
            votes = rng.random((verdicts, max(rule.most, FIXED))) < accuracy
            fixed_wrong = votes[:, :FIXED].sum(1) * 2 < FIXED
            stops = [_binary_stop(row, rule) for row in votes]
            calls = np.asarray([stop for stop, _ in stops], dtype=np.float64)
            wrong = np.asarray([not right for _, right in stops])
            label = name if rule == CERTAIN else f"{name} (risk {rule.risk:g}, {rule.least} to {rule.most})"
            rows.append(_row(f"right in {accuracy:g}", label, wrong, fixed_wrong, calls))
    return rows


def ordinal_rows(verdicts: int, seed: int, risk: float = 0.25) -> list[Row]:
    """Every spread of scores with the certain rule, and with the likely one at up to 9 votes."""
    rng = np.random.default_rng(seed)
    rows = []
    for name, chances in LEVELS.items():
        truth = 1 + int(np.searchsorted(np.cumsum(chances), 0.5))
        for label, rule in (("certain", CERTAIN), (f"likely (risk {risk:g}, 2 to 9)", StopRule(risk=risk, most=9))):
            votes = rng.choice(np.arange(1, 6), size=(verdicts, max(rule.most, FIXED)), p=chances)
            fixed_wrong = np.median(votes[:, :FIXED], axis=1) != truth
            stops = [_ordinal_stop(row, rule) for row in votes]
            calls = np.asarray([stop for stop, _ in stops], dtype=np.float64)
            wrong = np.asarray([found != truth for _, found in stops])
            rows.append(_row(f"scores {name}", label, wrong, fixed_wrong, calls))
    return rows


def _binary_stop(votes: np.ndarray, rule: StopRule) -> tuple[int, bool]:
    for drawn in range(rule.least, rule.most + 1):
        right = int(votes[:drawn].sum())
        wrong = drawn - right
        if drawn == rule.most or two_decided(max(right, wrong), min(right, wrong), rule.most - drawn, rule.risk):
            return drawn, right > wrong
    raise AssertionError("unreachable: the last pass returns")


def _ordinal_stop(votes: np.ndarray, rule: StopRule) -> tuple[int, float]:
    for drawn in range(rule.least, rule.most + 1):
        some = votes[:drawn].tolist()
        if drawn == rule.most or median_decided(some, rule.most - drawn, rule.risk):
            return drawn, float(np.median(some))
    raise AssertionError("unreachable: the last pass returns")


def _row(judge: str, rule: str, wrong: np.ndarray, fixed_wrong: np.ndarray, calls: np.ndarray) -> Row:
    n = len(calls)
    saved = 1 - calls / FIXED
    half = 1.96 * float(saved.std(ddof=1)) / n**0.5
    mean = float(saved.mean())
    return Row(
        judge=judge,
        rule=rule,
        error=(float(wrong.mean()), *wilson(float(wrong.sum()), n)),
        fixed_error=(float(fixed_wrong.mean()), *wilson(float(fixed_wrong.sum()), n)),
        calls=float(calls.mean()),
        saved=(mean, mean - half, mean + half),
    )


def table(rows: list[Row]) -> str:
    """The rows as text."""
    head = ("judge", "rule", "error [95 %]", "error of 5 votes", "votes", "votes saved [95 %]")
    body = [
        (row.judge, row.rule, _shown(row.error), _shown(row.fixed_error), f"{row.calls:.2f}", _shown(row.saved))
        for row in rows
    ]
    widths = [max(len(line[i]) for line in (head, *body)) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (head, *body)
    )


def _shown(value: tuple[float, float, float]) -> str:
    return f"{value[0]:.3f} [{value[1]:.3f}, {value[2]:.3f}]"


def main() -> int:
    parser = argparse.ArgumentParser(description="Votes saved by adaptive voting at the same error.")
    parser.add_argument("--quick", action="store_true", help="4,000 verdicts a line instead of 40,000.")
    count = 4_000 if parser.parse_args().quick else 40_000
    rows = [*binary_rows(count, 1), *ordinal_rows(count, 2)]
    print(table(rows))
    failed = [row for row in rows if not row.holds and row.judge.startswith("right")]
    for row in failed:
        print(f"does not hold: {row.judge}, {row.rule}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
