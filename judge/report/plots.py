"""Plots as SVG text to stand inside a page: no script, no font file, no address.

Colours hold on white and on dark pages alike, words take the page's own `--soft`; every plot has a title and labelled
axes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")

INK = "#5b6472"
BLUE = "#3b7dd8"
GREEN = "#2f9e62"
RED = "#d1495b"
AMBER = "#d98e04"
GREY = "#9aa3af"
DARK = "#1c2430"

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "judge",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
}


@dataclass(frozen=True)
class Span:
    """A value with its interval, and the threshold it is held to; None where there is none."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    threshold: float | None = None
    state: str = "plain"


FAR_APART = 20
"""Prices whose ratio is above this stand on a logarithmic axis."""
MOST_TICKS = 12

STATE_COLOURS = {"met": GREEN, "missed": RED, "undecided": AMBER, "not_tested": GREY, "plain": BLUE}


def _styled(plot: Callable[P, str]) -> Callable[P, str]:
    """Draws in our style without touching the process's own."""

    @wraps(plot)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> str:
        import matplotlib

        style: Any = STYLE
        with matplotlib.rc_context(style):
            return plot(*args, **kwargs)

    return drawn


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _svg(figure: Figure, title: str) -> str:
    for axes in figure.axes:  # over the axes alone, a long title is cut where names take room on the left
        axes.set_title("", loc="left")
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold", color=INK)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, f"var(--soft, {INK})")
    # Fixed sizes in points become a width that shrinks on a phone and never grows, so that all plots share one size of
    # text; metadata names addresses that nobody needs.
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    style = f'role="img" style="max-width:{figure.get_figwidth():g}in"'
    text = re.sub(r'<svg ([^>]*?)width="[^"]*"', rf"<svg \1{style}", text, count=1)
    text = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", text, count=1)
    return text.strip()


@_styled
def confusion(counts: Sequence[Sequence[int]], names: Sequence[str], *, title: str = "Judge against people") -> str:
    """Rows are what people said, columns what the judge said; `counts` has shape (k, k)."""
    size = 1.4 + 0.55 * len(names)
    figure, axes = _figure(max(4.6, size + 0.8), max(2.6, size))
    total = max(1, max(max(row) for row in counts))
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            colour = GREEN if i == j else RED
            axes.add_patch(_square(j, i, colour, 0.08 + 0.72 * count / total if count else 0.0))
            axes.text(j, i, str(count), ha="center", va="center", fontsize=10)
    axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5), xlabel="judge", ylabel="people", title=title)
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.set_aspect("equal")
    axes.tick_params(length=0)
    return _svg(figure, title)


def _square(x: float, y: float, colour: str | tuple[float, float, float], alpha: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, facecolor=colour, alpha=alpha, linewidth=0)


def _tint(colour: str, share: float) -> tuple[float, float, float]:
    """A colour mixed with white and opaque, so that dark text on it reads on any page."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue)


def _short(name: str, most: int = 32) -> str:
    """A name that leaves room for the plot: its beginning and its end."""
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most // 2) :]}"


@_styled
def spans(rows: Sequence[Span], *, title: str, label: str, limits: tuple[float, float] | None = None) -> str:
    """Values with intervals, a line each; a short mark shows the threshold, the colour the state.

    `limits` are widened where a value or an interval lies beyond them.
    """
    figure, axes = _figure(6.4, 0.9 + 0.32 * max(1, len(rows)))
    for y, row in enumerate(rows):
        colour = STATE_COLOURS[row.state]
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [y, y], color=colour, linewidth=3, alpha=0.45, solid_capstyle="round")
        if row.value is not None:
            axes.plot([row.value], [y], marker="o", color=colour, markersize=5)
        else:
            axes.text(0.02, y, "unknown", transform=axes.get_yaxis_transform(), va="center", fontsize=8, color=INK)
        if row.threshold is not None:
            axes.plot([row.threshold] * 2, [y - 0.32, y + 0.32], color=INK, linewidth=1.4)
    axes.set_yticks(range(len(rows)), [_short(row.name, 48) for row in rows])
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel=label, title=title)
    if limits:
        shown = [x for row in rows for x in (row.value, row.low, row.high, row.threshold) if x is not None]
        axes.set_xlim(min([limits[0], *(x - 0.02 for x in shown)]), max([limits[1], *(x + 0.02 for x in shown)]))
    axes.grid(axis="x", alpha=0.25)
    axes.tick_params(axis="y", length=0)
    return _svg(figure, title)


@_styled
def reliability(
    points: Sequence[tuple[float, float, float, float, int]], *, title: str, xlabel: str, diagonal: bool
) -> str:
    """Share that people passed at each score: (score, share, low, high, n) a point; size follows n."""
    figure, axes = _figure(4.6, 3.2)
    if diagonal:
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    for x, share, low, high, n in points:
        axes.plot([x, x], [low, high], color=BLUE, linewidth=2, alpha=0.4)
        axes.plot([x], [share], marker="o", color=BLUE, markersize=4 + min(6.0, n**0.5 / 2))
        axes.annotate(f"n={n}", (x, high), xytext=(0, 4), textcoords="offset points", ha="center", fontsize=7)
    axes.set(ylim=(-0.03, 1.12), xlabel=xlabel, ylabel="share people passed", title=title)
    axes.grid(alpha=0.25)
    return _svg(figure, title)


@_styled
def bars(values: Mapping[str, float], *, title: str, xlabel: str, ylabel: str) -> str:
    """One bar a name, in the order given."""
    figure, axes = _figure(4.6, 2.8)
    axes.bar(range(len(values)), list(values.values()), color=BLUE, alpha=0.75, width=0.7)
    axes.set_xticks(range(len(values)), list(values))
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.grid(axis="y", alpha=0.25)
    return _svg(figure, title)


@_styled
def curve(
    points: Sequence[tuple[float, float]], *, title: str, xlabel: str, ylabel: str, mark: float | None = None
) -> str:
    """A line through (x, y) points, with an optional horizontal mark."""
    figure, axes = _figure(4.6, 2.8)
    axes.plot([x for x, _ in points], [y for _, y in points], marker="o", color=BLUE, markersize=4)
    if mark is not None:
        axes.axhline(mark, color=INK, linewidth=1, linestyle="--")
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.set_xticks([x for x, _ in points], [f"{x:g}" for x, _ in points])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    return _svg(figure, title)


@_styled
def ranks(rows: Sequence[tuple[str, float, float, float]], *, title: str) -> str:
    """Rank of each agent with its interval: (name, rank, low, high); 1 is best and stands on the left."""
    figure, axes = _figure(5.4, 0.9 + 0.3 * max(1, len(rows)))
    for y, (_, rank, low, high) in enumerate(rows):
        axes.plot([low, high], [y, y], color=BLUE, linewidth=4, alpha=0.4, solid_capstyle="round")
        axes.plot([rank], [y], marker="o", color=BLUE, markersize=5)
    axes.set_yticks(range(len(rows)), [_short(row[0]) for row in rows])
    axes.set(xlim=(0.5, len(rows) + 0.5), ylim=(len(rows) - 0.4, -0.6), xlabel="rank (1 is best)", title=title)
    axes.set_xticks(range(1, len(rows) + 1, 1 if len(rows) <= MOST_TICKS else 2))
    axes.grid(axis="x", alpha=0.25)
    axes.tick_params(axis="y", length=0)
    return _svg(figure, title)


@_styled
def frontier(points: Sequence[tuple[str, float, float, bool]], *, title: str, xlabel: str, ylabel: str) -> str:
    """Price against agreement: (name, price, agreement, on the frontier) a point; the frontier is a line.

    Prices that lie far apart stand on a logarithmic axis. A name that would cover another is left out; a point on the
    frontier always has its name.
    """
    figure, axes = _figure(6.4, 4.4)
    best = sorted((x, y) for _, x, y, on in points if on)
    axes.plot([x for x, _ in best], [y for _, y in best], color=GREEN, linewidth=1.2, alpha=0.7)
    for _, x, y, on in points:
        axes.plot([x], [y], marker="o", color=GREEN if on else GREY, markersize=6)
    prices = [x for _, x, _, _ in points]
    far = min(prices) > 0 and max(prices) > FAR_APART * min(prices)
    axes.set(title=title, xlabel=f"{xlabel}, logarithmic" if far else xlabel, ylabel=ylabel)
    if far:
        axes.set_xscale("log")
    axes.margins(x=0.2, y=0.14)
    axes.grid(alpha=0.25)
    _name_points(axes, sorted(points, key=lambda point: not point[3]))
    return _svg(figure, title)


def _name_points(axes: Axes, points: Sequence[tuple[str, float, float, bool]]) -> None:
    """Writes names beside points, each on the first side where it covers no other name and no point."""
    points_per_pixel = 72 / axes.figure.dpi
    left = axes.get_window_extent().x0 * points_per_pixel
    places = [axes.transData.transform((x, y)) * points_per_pixel for _, x, y, _ in points]
    taken = [(px - 3, py - 3, px + 3, py + 3) for px, py in places]
    for (name, x, y, always), (px, py) in zip(points, places, strict=True):
        text = _short(name)
        width, height = 4.2 * len(text), 8.0
        sides = [(5.0, 4.0), (-5.0 - width, 4.0), (5.0, -10.0), (-5.0 - width, -10.0)]
        within = [side for side in sides if px + side[0] > left]
        free = next((side for side in within if not _covers(px + side[0], py + side[1], width, height, taken)), None)
        if free is None and not always:
            continue
        dx, dy = free or sides[0]
        taken.append((px + dx, py + dy, px + dx + width, py + dy + height))
        axes.annotate(text, (x, y), xytext=(dx, dy), textcoords="offset points", fontsize=7)


def _covers(
    x: float, y: float, width: float, height: float, taken: Sequence[tuple[float, float, float, float]]
) -> bool:
    return any(x < right and x + width > left and y < top and y + height > low for left, low, right, top in taken)


@_styled
def matrix(values: Sequence[Sequence[float | None]], names: Sequence[str], *, title: str) -> str:
    """Shares in [0, 1] between every two names, darker where higher; None is left blank."""
    side = 2.2 + 0.34 * len(names)
    figure, axes = _figure(side + 0.8, side)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if value is None:
                continue
            axes.add_patch(_square(j, i, _tint(BLUE, max(0.0, min(1.0, value)) ** 2 * 0.8), 1.0))
            if len(names) <= 24:
                text = f"{value:.2f}".removeprefix("0")
                axes.text(j, i, text, ha="center", va="center", fontsize=7, color=DARK)
    axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5), title=title)
    shown = [_short(name) for name in names]
    axes.set_xticks(range(len(names)), shown, rotation=90, fontsize=7)
    axes.set_yticks(range(len(names)), shown, fontsize=7)
    axes.set_aspect("equal")
    axes.tick_params(length=0)
    return _svg(figure, title)
