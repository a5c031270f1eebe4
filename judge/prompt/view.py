"""The numbered steps that a judge reads: every part shown, linked, and shortened only where it says so.

Left out on purpose: labels, meta, extra, diagnostics, ids, groups, usage, and the agent's private
reasoning unless the rubric asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from judge.prompt.marks import lines_of, prefixed
from judge.prompt.steps import Block, heading
from judge.types.rubric import ViewSettings
from judge.types.trajectory import Message, Reasoning, Step, Trajectory

VIEW_VERSION = "view/1"
"""Raised with every change of the text that a step is turned into."""

LEAST = 200
"""Characters of a text that shortening always keeps."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Longest text shown whole, in characters; None for no limit.

    Attributes:
        result: For each part of a tool result.
        message: For what is said between the first request and the final answer.
    """

    result: int | None = None
    message: int | None = None


@dataclass(frozen=True, slots=True)
class View:
    """Steps as text.

    Attributes:
        text: One step after the other; a step opens a line with its number in brackets.
        cuts: What was left out, one sentence each; empty when all is shown.
    """

    text: str
    cuts: tuple[str, ...]


def is_shown(step: Step, settings: ViewSettings) -> bool:
    """Whether a judge sees this step at all."""
    if isinstance(step, Reasoning):
        return settings.reasoning
    if isinstance(step, Message):
        return settings.system or step.role not in ("system", "developer")
    return True


def shown_steps(trajectory: Trajectory, settings: ViewSettings) -> tuple[int, ...]:
    """Indices of the steps that a judge sees and may cite."""
    return tuple(step.index for step in trajectory.steps if is_shown(step, settings))


def view(trajectory: Trajectory, settings: ViewSettings, caps: Caps | None = None, *, letter: str = "S") -> View:
    """The run as numbered steps.

    Args:
        trajectory: Any run; one without a step that is shown gives an empty text.
        settings: What is shown. `result_chars` is obeyed beside `caps`.
        caps: Limits that make the text fit; none when None.
        letter: Stands before the number of a step.
    """
    caps = caps or Caps()
    result_cap = _tighter(caps.result, settings.result_chars)
    named = len({step.agent for step in trajectory.steps if step.agent}) > 1
    asked = first_request(trajectory)
    out: list[str] = []
    cuts: list[str] = []
    for step in trajectory.steps:
        if not is_shown(step, settings):
            continue
        cap = result_cap if step.kind == "tool_result" else caps.message
        if cap is not None and (step.index == asked or step.kind in _WHOLE or _is_rule(step)):
            cap = None
        head, blocks = heading(step, named, letter)
        _write(out, cuts, f"{letter}{step.index}", step, head, blocks, cap)
    return View(text="\n".join(out), cuts=tuple(cuts))


def step_text(step: Step, letter: str = "S") -> str:
    """One step as a judge reads it, uncut; twice where its agent may be named or not. Quotes are looked up in it."""
    out: list[str] = []
    for named in (False, True) if step.agent else (False,):
        head, blocks = heading(step, named, letter)
        _write(out, [], f"{letter}{step.index}", step, head, blocks, None)
    return "\n".join(out)


def longest(trajectory: Trajectory, settings: ViewSettings, *, results: bool) -> int:
    """Characters of the longest text that a cap on results (or else on messages) could shorten; 0 without one."""
    asked = first_request(trajectory)
    return max(
        (
            len(block.text)
            for step in trajectory.steps
            if is_shown(step, settings)
            and (step.kind == "tool_result") is results
            and not (step.index == asked or step.kind in _WHOLE or _is_rule(step))
            for block in heading(step, False)[1]
        ),
        default=0,
    )


_WHOLE = frozenset({"tool_call", "final", "approval", "retry"})


def _is_rule(step: Step) -> bool:
    return isinstance(step, Message) and step.role in ("system", "developer")


def first_request(trajectory: Trajectory) -> int | None:
    """Index of the first user message, which states the task; None without one."""
    for step in trajectory.steps:
        if isinstance(step, Message) and step.role == "user":
            return step.index
    return None


def _tighter(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _write(
    out: list[str], cuts: list[str], number: str, step: Step, head: str, blocks: list[Block], cap: int | None
) -> None:
    opening = f"[{number}] {head}"
    if not blocks:
        out.append(opening)
        return
    first = blocks[0]
    if len(blocks) == 1 and not first.note and (cap is None or len(first.text) <= cap):
        lines = lines_of(first.text)
        if len(lines) <= 1:
            out.append(f"{opening}: {lines[0]}" if lines else f"{opening}: (empty)")
            return
        out.append(opening + ":")
        out.extend(prefixed(lines))
        return
    out.append(opening + ":")
    for block in blocks:
        if block.note:
            out.append(f"[{block.note}]")
        if cap is not None and len(block.text) > cap:
            out.extend(_shortened(block.text, cap))
            left = len(block.text) - cap
            cuts.append(
                f"{number} {step.kind.removeprefix('tool_')}: {left:,} of {len(block.text):,} characters left out"
            )
        else:
            out.extend(prefixed(lines_of(block.text)))


def _shortened(text: str, cap: int) -> Iterator[str]:
    head = cap - cap // 3
    yield from prefixed(lines_of(text[:head]))
    yield f"[… {len(text) - cap:,} of {len(text):,} characters left out …]"
    yield from prefixed(lines_of(text[len(text) - cap // 3 :]))
