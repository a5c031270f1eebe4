"""`judge show`: a trajectory as numbered steps, as a judge sees it, or as a page."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, note, printable, say

if TYPE_CHECKING:
    from judge.types import Trajectory

_STYLES = {
    "message": "default",
    "reasoning": "magenta",
    "tool_call": "bold blue",
    "tool_result": "cyan",
    "approval": "yellow",
    "retry": "yellow",
    "context_edit": "yellow",
    "error": "bold red",
    "final": "bold green",
}
_FAILED = frozenset({"error", "denied", "timeout", "cancelled"})
_STEP = re.compile(r"\[S(\d+)\] ")


def show(
    traces: options.Traces,
    reasoning: Annotated[bool, typer.Option("--reasoning", help="Show private reasoning too.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", help="Write a page with the tree of agents and tools to this file.")
    ] = None,
    format: options.Format = None,
    mapping: options.Mapping = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Print trajectories as numbered steps, the way a judge sees them."""
    from judge.cli import reading
    from judge.report.numbers import plural

    read = reading.trajectories(traces, format=format, mapping=mapping, limit=limit)
    if html is not None:
        kept = list(read)
        _write_page(html, kept)
        if not as_json:
            say(f"Wrote {plural(len(kept), 'trajectory', 'trajectories')} to {html}.")
            return
        read = iter(kept)
    if as_json:
        emit({"results": [trajectory.to_json() for trajectory in read]})
        return
    for trajectory in read:
        _print(trajectory, reasoning=reasoning)


def _print(trajectory: Trajectory, *, reasoning: bool) -> None:
    """On a terminal each step in the colour of its kind; plain lines elsewhere."""
    from judge.prompt import view
    from judge.types import ViewSettings

    text = view(trajectory, ViewSettings(reasoning=reasoning)).text
    say(f"== {trajectory.id}")
    if trajectory.task:
        say(f"task: {trajectory.task}")
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        console = Console(soft_wrap=True, highlight=False)
        for style, line in _coloured(trajectory, text):
            console.print(Text(printable(line), style=style))
    else:
        say(text)
    for diagnostic in trajectory.diagnostics:
        where = f" [S{diagnostic.step}]" if diagnostic.step else ""
        say(f"{diagnostic.severity}{where} {diagnostic.code}: {diagnostic.message}")
    say()


def _coloured(trajectory: Trajectory, text: str) -> Iterator[tuple[str, str]]:
    """(style, line) of each line of a view. Lines of a trace's own text never begin like a step."""
    steps = {step.index: step for step in trajectory.steps}
    style = "default"
    for line in text.split("\n"):
        found = _STEP.match(line)
        step = steps.get(int(found[1])) if found else None
        if step is not None:
            style = _STYLES.get(step.kind, "dim")
            if step.kind == "tool_result" and step.status in _FAILED:
                style = "red"
        yield style, line


def _write_page(path: str, trajectories: list[Trajectory]) -> None:
    from judge.errors import UsageError
    from judge.report.trajectory_page import trajectory_page

    try:
        Path(path).write_text(trajectory_page(trajectories), encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path!r} cannot be written: {error}.") from None
    if not trajectories:
        note("The page is empty: no trajectory was read.")
