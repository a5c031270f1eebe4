"""How numbers and steps are written for people. An absent number is a word, never 0."""

from __future__ import annotations

from collections.abc import Sequence


def number(value: bool | float | str | None, *, absent: str = "unknown") -> str:
    """`value` with at most four significant digits; true and false as yes and no."""
    if value is None:
        return absent
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:.4g}"


def usd(value: float | None) -> str:
    """A price in US dollars, or "unknown"."""
    if value is None:
        return "unknown"
    return f"${value:.2f}" if value >= 1 or value == 0 else f"${value:.2g}"


def steps(indices: Sequence[int]) -> str:
    """Steps as judges see them: [S2] [S5]."""
    return " ".join(f"[S{index}]" for index in indices)


def plural(count: int, word: str, plural_form: str | None = None) -> str:
    """`1 vote`, `3 votes`."""
    return f"{count:,} {word if count == 1 else plural_form or word + 's'}"
