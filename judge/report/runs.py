"""Run folders and batches as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from judge.report.numbers import number, plural, usd
from judge.report.verdicts import summary_text

if TYPE_CHECKING:
    from judge.engine.batch import BatchResult
    from judge.engine.run import Progress
    from judge.store.index import Counts, Spend
    from judge.store.manifest import Manifest
    from judge.voting import Summary

STOPPED = {
    "interrupt": "interrupted; what was under way is finished and saved",
    "deadline": "the time given is over; what was under way is finished and saved",
    "detached": "the rest is with the provider",
    "budget_reached": "the budget is reached",
    "terminal_error": "the judge takes no further calls",
    "overloaded": "the judge refuses every call, and is waited for no more",
}


def progress_text(progress: Progress, seconds: float) -> str:
    """`1,200 of 5,000, 310/s, 12 s left, $1.20, errors: 3 rate_limit`.

    Args:
        seconds: Since the first call could begin.
    """
    parts = [f"{progress.done:,}" + (f" of {progress.total:,}" if progress.total is not None else "")]
    rate = progress.done / seconds if seconds > 0 else None
    if rate:
        parts.append(f"{number(rate)}/s")
        if progress.total is not None:
            parts.append(f"{duration((progress.total - progress.done) / rate)} left")
    if progress.cost_usd is None:
        parts.append(f"at least {usd(progress.known_usd)}" if progress.known_usd else "cost unknown")
    else:
        parts.append(usd(progress.cost_usd))
    if progress.errors:
        parts.append("errors: " + errors_text(progress.errors))
    return ", ".join(parts)


def errors_text(errors: Mapping[str, int]) -> str:
    """`3 rate_limit, 1 timeout`, the most frequent first."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(errors.items(), key=lambda item: (-item[1], item[0])))


def duration(seconds: float) -> str:
    """`12 s`, `3 min`, `2.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def batch_text(result: BatchResult) -> str:
    """One session of a batch in a few lines."""
    lines = [f"{result.folder}: {result.rubric} by {result.judge}"]
    lines.append(
        f"{plural(result.items, 'trajectory', 'trajectories')}: {result.judged:,} judged now, {result.kept:,} kept, "
        f"{result.pending:,} left{_failed(result)}, in {duration(result.seconds)}"
    )
    if result.stopped is not None:
        on = "" if result.stopped == "detached" else " Go on with --resume."
        lines.append(f"stopped: {STOPPED.get(result.stopped, result.stopped)}.{on}")
    lines.append(summary_text(result.summary))
    if result.judged and result.summary.cache_failures is None:
        lines.append("whether the reply cache failed at times is not known")
    lines.append(spend_text(result.spend))
    if result.spend.calls:
        each = f"cost of a verdict: {usd(result.usd_per_verdict)}"
        lines.append(f"{each}, of a criterion: {usd(result.usd_per_criterion)}")
    return "\n".join(lines)


def _failed(result: BatchResult) -> str:
    """Of what is left, what was judged and failed."""
    failed = min(sum(result.summary.errors.values()), result.pending)
    return f" ({plural(failed, 'error')} to do again)" if failed else ""


def spent(spend: Spend) -> str:
    """`$1.20`, or `at least $1.20` where calls have no price."""
    return usd(spend.known_usd) if not spend.unpriced else f"at least {usd(spend.known_usd)}"


def spend_text(spend: Spend) -> str:
    """What all verdicts ever written to a run cost, for how many calls."""
    unpriced = f", {plural(spend.unpriced, 'verdict')} of unknown cost" if spend.unpriced else ""
    return f"spent on this run in all: {spent(spend)} for {plural(spend.calls, 'call')}{unpriced}"


def run_text(manifest: Manifest, counts: Counts, spend: Spend, summary: Summary) -> str:
    """A run folder in a few lines."""
    lines = [f"{manifest.rubric} by {manifest.judge}, begun {manifest.created}"]
    lines += [f"  input: {file.path} ({file.bytes:,} bytes, sha256 {file.sha256[:12]})" for file in manifest.inputs]
    if counts.input_known:
        lines.append(f"{plural(counts.items, 'trajectory', 'trajectories')}, {counts.pending:,} left to judge")
    else:
        lines.append(
            f"{plural(counts.removed, 'trajectory', 'trajectories')} with a verdict; how many there are is not known "
            "before a session has taken down the input (again, where the index was lost)"
        )
    if counts.unread_lines:
        lines.append(f"lines of the input that hold nothing of a trajectory: {counts.unread_lines:,}")
    if counts.replaced:
        lines.append(f"{plural(counts.replaced, 'older verdict')} replaced by newer ones")
    if counts.removed and counts.input_known:
        lines.append(f"{plural(counts.removed, 'verdict')} of trajectories that are no longer in the input")
    if counts.bad_lines:
        lines.append(f"lines that are no verdict of this run: {counts.bad_lines:,}")
    lines.append(summary_text(summary))
    lines.append(spend_text(spend))
    return "\n".join(lines)
