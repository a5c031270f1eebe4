"""A jury in words: what its judges share, and what each of them brings."""

from __future__ import annotations

from collections.abc import Mapping

from judge.calibration.jury_errors import JuryErrors
from judge.report.calibration import decimals, statistic_text
from judge.report.numbers import number
from judge.types.estimate import Statistic
from judge.types.juror import Juror


def jury_lines(name: str, found: JuryErrors) -> list[str]:
    """The jury's name, then a line for each thing to know; warnings last."""
    seats = [juror.judge for juror in found.jurors] or list(found.members)
    lines = [f"{name}: {', '.join(seats)}"]
    if not found.phi:
        lines.append("  How errors go together is unknown: no two judges gave scores on the same runs.")
    elif found.effective_votes is None or found.mean_phi is None:
        lines.append("  How errors go together is unknown: a member is always or never wrong.")
    else:
        counted = "" if found.distinct == len(found.members) else f" ({found.distinct} distinct)"
        lines.append(
            f"  Errors correlate by {decimals(found.mean_phi)} on average: {len(found.members)} members{counted} "
            f"amount to {found.effective_votes:.1f} independent votes."
        )
    if found.all_wrong is not None and found.unanimous is not None:
        who = "All members are" if len(found.members) >= len(seats) else f"{' and '.join(found.members)} are"
        lines.append(f"  {who} wrong together on {found.all_wrong:.1%} of the runs; no rule can save those.")
        lines.append(f"  {_unanimity(found)}")
    if found.weights:
        lines.append("  Weights: " + ", ".join(f"{name} {number(weight)}" for name, weight in found.weights.items()))
    lines += [_juror_line(juror) for juror in found.jurors]
    return lines + [f"  Warning: {warning}" for warning in found.warnings]


def _unanimity(found: JuryErrors) -> str:
    """How often all agree, a majority is left, or none; and how often it is right."""
    unanimous, none = found.unanimous or 0.0, found.no_majority or 0.0
    parts = [f"Unanimous on {unanimous:.0%} of runs"]
    if found.right_if_unanimous is not None:
        parts[0] += f", right on {found.right_if_unanimous:.0%} of these"
    if found.right_if_split is not None:
        parts.append(
            f"a majority against others on {1 - unanimous - none:.0%}, right on {found.right_if_split:.0%} of these"
        )
    if none:
        parts.append(f"no majority on {none:.0%}")
    return "; ".join(parts) + "."


def causes(counts: Mapping[str, int]) -> str:
    """`3 × tie, 1 × failed: no value`."""
    return ", ".join(f"{n} × {why}" for why, n in counts.items())


def _juror_line(juror: Juror) -> str:
    """Coverage, replacements, and the jury without this judge."""
    what = "reserve " if juror.reserve else ""
    parts = [f"called on {juror.called} of {juror.runs} runs"]
    if juror.failures:
        parts.append(f"no score on {juror.called - juror.scored} ({causes(juror.failures)})")
    if juror.replaced:
        parts.append(f"a reserve took its seat on {juror.replaced}")
    parts.append(f"alone {_short(juror.alone)}")
    ties = f" (no verdict on {juror.without_unsettled}, a tie worth its mean)" if juror.without_unsettled else ""
    parts.append(f"the jury without it {_short(juror.without)}{ties}")
    if juror.adds.value is not None:
        parts.append(f"so it adds {_short(juror.adds)}")
    return f"  {what}{juror.judge}: " + "; ".join(parts)


def _short(statistic: Statistic) -> str:
    if statistic.value is None:
        return f"unknown ({statistic.reason})"
    return statistic_text(statistic) if statistic.low is not None else f"{decimals(statistic.value)} [none]"
