"""Rubric + trajectory → the request that would be sent, within the judge's context.

Order of the text serves provider prompt caches: fixed rules, rubric, run, closing task. Text of the run
is joined on after the templates have rendered, and stands between two marks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from judge.errors import ContextOverflow, UsageError
from judge.prompt.facts import in_words
from judge.prompt.marks import inline, json_text, lines_of, mark_of, prefixed
from judge.prompt.parse import PARSER_VERSION
from judge.prompt.rubric_text import Frame, frame
from judge.prompt.view import LEAST, VIEW_VERSION, Caps, View, longest, shown_steps, view
from judge.types.metric import MetricResult
from judge.types.record import Record
from judge.types.reference import Reference
from judge.types.request import Request, Sampling, Subject
from judge.types.rubric import Rubric, ViewSettings
from judge.types.trajectory import Final, Message, Text, Trajectory

_FRAMING = 64
"""Tokens set aside for what a provider wraps around messages."""
_FRAMES = 256
"""Rubrics whose fixed tokens are remembered for one judge."""
_FIXED_TOKENS: WeakKeyDictionary[Any, dict[tuple[str, tuple[str, str, str]], int]] = WeakKeyDictionary()


class Prompt(Record):
    """A request ready to be sent, and what was done to make it fit.

    Attributes:
        request: Sample 0, attempt 0. Another draw is `request.model_copy(update={"sample": k})`.
        tokens: Of the whole prompt, by the judge's own count.
        truncated: Whether text of the run was left out.
        cuts: What was left out, one sentence each.
        mark: The line that closes the data; it stands exactly once in the prompt.
    """

    request: Request
    tokens: int
    truncated: bool
    cuts: tuple[str, ...]
    mark: str


def render(
    rubric: Rubric,
    trajectory: Trajectory,
    *,
    count_tokens: Callable[[str], int],
    reference: Reference | None = None,
    facts: Mapping[str, MetricResult] | None = None,
    policy: str | None = None,
    sampling: Sampling | None = None,
    context_tokens: int | None = None,
) -> Prompt:
    """The prompt that asks `rubric` about `trajectory`.

    Args:
        count_tokens: Tokens of a text for the judge.
        reference: Expected answer, state or path; its absence is stated to the judge.
        facts: Metrics by name, told as evidence where they have a value.
        policy: Binding rules, for rubrics that check them.
        sampling: Its `max_output_tokens` and `thinking_tokens` are kept free for the reply.
        context_tokens: Prompt and reply together. None is *unknown*: nothing is assumed and nothing is cut,
            apart from results above the rubric's own `result_chars`.

    Raises:
        ContextOverflow: The run does not fit, even with results and messages shortened as far as allowed.
        UsageError: The rubric needs a policy text and there is none.
        RubricError: The rubric's template does not render.
    """
    require_policy(rubric, policy)
    sampling = sampling or Sampling()
    facts = facts or {}
    fixed = frame(rubric)
    top = _top(trajectory, reference, in_words(facts), policy)
    fixed_tokens = _fixed_tokens(fixed, count_tokens)
    whole = view(trajectory, rubric.view)
    data, mark = _data(top, whole)
    tokens = fixed_tokens + count_tokens(data)
    seen = whole
    if context_tokens is not None:
        room = room_of(context_tokens, sampling)
        if tokens > room:
            asked = tokens
            seen = shortened(
                trajectory, rubric.view, lambda seen: fixed_tokens + count_tokens(_data(top, seen)[0]) <= room
            )
            data, mark = _data(top, seen)
            tokens = fixed_tokens + count_tokens(data)
            if tokens > room:
                raise _overflow(trajectory, asked, tokens, context_tokens, room)
    request = Request(
        system=fixed.system,
        segments=(fixed.rubric, data, fixed.closing),
        reply_schema=fixed.schema,
        sampling=sampling,
        versions={"template": fixed.template, "view": VIEW_VERSION, "parser": PARSER_VERSION},
        subject=Subject(
            trajectory_id=trajectory.id,
            group=trajectory.group,
            rubric=rubric.id,
            criteria=fixed.scales,
            facts=dict(facts),
            steps=shown_steps(trajectory, rubric.view),
        ),
    )
    return Prompt(request=request, tokens=tokens, truncated=bool(seen.cuts), cuts=seen.cuts, mark=mark)


def require_policy(rubric: Rubric, policy: str | None) -> None:
    """Raises UsageError where the rubric needs a policy text and there is none."""
    if rubric.policy and not (policy or "").strip():
        raise UsageError(
            f"Rubric {rubric.id!r} holds a run to a policy text, and none was given.",
            hint="Give it with --policy-text FILE (in Python: policy=...).",
        )


def _fixed_tokens(fixed: Frame, count_tokens: Callable[[str], int]) -> int:
    """Tokens of what is the same for every run, counted once for each judge, which is not kept alive for it."""
    texts = (fixed.system, fixed.rubric, fixed.closing)
    judge = getattr(count_tokens, "__self__", count_tokens)
    try:
        known = _FIXED_TOKENS.setdefault(judge, {})
    except TypeError:  # no weak reference can be made to it, or no hash
        return sum(map(count_tokens, texts))
    key = (getattr(count_tokens, "__name__", ""), texts)
    found = known.get(key)
    if found is None:
        if len(known) >= _FRAMES:
            known.clear()
        found = known[key] = sum(map(count_tokens, texts))
    return found


def _data(top: str, seen: View) -> tuple[str, str]:
    """The data segment and its closing line."""
    declared = ""
    if seen.cuts:
        declared = "Text was left out where a line in brackets says so. Absence there is no evidence.\n"
    body = f"{declared}{top}{seen.text}\n"
    mark = mark_of(body)
    return f"BEGIN DATA {mark}\n{body}END DATA {mark}\n", f"END DATA {mark}"


def _top(trajectory: Trajectory, reference: Reference | None, facts: list[str], policy: str | None) -> str:
    """What stands before the steps: task, policy, reference, facts, tools on offer."""
    out = [task_text(trajectory)]
    if policy and policy.strip():
        out += ["POLICY:", *quoted(policy)]
    out += reference_lines(reference)
    if facts:
        out += ["FACTS FROM CODE:", *(f"- {fact}" for fact in facts)]
    if trajectory.tools:
        out.append(f"TOOLS ON OFFER: {', '.join(inline(tool.name) for tool in trajectory.tools)}")
    ended = trajectory.outcome.status if trajectory.outcome else "unknown"
    if ended in ("aborted", "limit", "incomplete"):
        out.append(f"THE RUN ENDED: {ended}")
    if (answer := unsaid_final(trajectory)) is not None:
        out += ["FINAL ANSWER ON RECORD (no step holds it):", *quoted(answer)]
    out.append(f"RUN, {len(trajectory.steps)} steps:" if trajectory.steps else "RUN: no steps were recorded")
    return "\n".join(out) + "\n"


def quoted(text: str) -> list[str]:
    """Text of a run as prefixed lines."""
    return prefixed(lines_of(text)) or ["(empty)"]


def task_text(trajectory: Trajectory, letter: str = "S") -> str:
    """The task as it stands above the steps; named by the step that states it, where one does word for word."""
    if trajectory.task is None:
        return "TASK: not recorded apart from the steps"
    for step in trajectory.steps:
        if isinstance(step, Message) and step.role == "user":
            if len(step.content) == 1 and isinstance(step.content[0], Text) and step.content[0].text == trajectory.task:
                return f"TASK: what the user says in {letter}{step.index}"
            break
    return "\n".join(["TASK:", *quoted(trajectory.task)])


def reference_lines(reference: Reference | None) -> list[str]:
    """What was expected, or that nothing is known of it."""
    if reference is None:
        return ["REFERENCE: none"]
    status = "authoritative" if reference.status == "authoritative" else "one acceptable answer, others may be right"
    out = [f"REFERENCE ({status}):"]
    if reference.answer is not None:
        out += ["expected answer:", *quoted(reference.answer)]
    if reference.state is not None:
        out += ["expected end state:", *quoted(json_text(reference.state))]
    if reference.sequence is not None:
        out += ["expected events in order:", *quoted(", ".join(reference.sequence) or "(none)")]
    if reference.calls is not None:
        out.append("expected calls:" if reference.calls else "expected calls: none")
        for call in reference.calls:
            arguments = "" if call.arguments is None else f" {json_text(call.arguments)}"
            out += quoted(f"{call.name}{arguments}")
    return out if len(out) > 1 else ["REFERENCE: none"]


def unsaid_final(trajectory: Trajectory) -> str | None:
    """The final answer, where no step shows it."""
    if not trajectory.final:
        return None
    for step in reversed(trajectory.steps):
        if isinstance(step, Final):
            return None
        if isinstance(step, Message) and step.role == "assistant":
            said = "".join(part.text for part in step.content if isinstance(part, Text))
            return None if said.strip() == trajectory.final.strip() else trajectory.final
    return trajectory.final


def room_of(context_tokens: int, sampling: Sampling) -> int:
    """Tokens that a prompt may take: what the reply and the provider's framing leave of the context."""
    room = context_tokens - sampling.max_output_tokens - (sampling.thinking_tokens or 0)
    return room - max(_FRAMING, context_tokens // 100)


def shortened(
    trajectory: Trajectory, settings: ViewSettings, fits: Callable[[View], bool], *, letter: str = "S"
) -> View:
    """The longest view that fits: results give way first, all to one limit, then messages; else the shortest."""

    def seen(caps: Caps) -> View:
        return view(trajectory, settings, caps, letter=letter)

    def fitting(caps: Caps) -> View | None:
        found = seen(caps)
        return found if fits(found) else None

    if (short := fitting(Caps(result=LEAST))) is not None:
        return _widest(short, fitting, lambda cap: Caps(result=cap), longest(trajectory, settings, results=True))
    shortest = Caps(result=LEAST, message=LEAST)
    if (short := fitting(shortest)) is None:
        return seen(shortest)
    most = longest(trajectory, settings, results=False)
    return _widest(short, fitting, lambda cap: Caps(result=LEAST, message=cap), most)


def _widest(best: View, fits: Callable[[Caps], View | None], caps: Callable[[int], Caps], most: int) -> View:
    """Bisects the cap on a ratio scale: `LEAST` gave `best`, `most` does not fit; ends within 2 % of the limit."""
    low, high = LEAST, max(most, LEAST + 1)
    while high - low > 1 and high / low > 1.02:
        middle = max(low + 1, min(high - 1, round((low * high) ** 0.5)))
        seen = fits(caps(middle))
        if seen is None:
            high = middle
        else:
            low, best = middle, seen
    return best


def _overflow(trajectory: Trajectory, asked: int, least: int, context_tokens: int, room: int) -> ContextOverflow:
    return ContextOverflow(
        f"Trajectory {trajectory.id!r} needs {asked:,} tokens whole and {least:,} shortened as far as allowed; the "
        f"judge holds {context_tokens:,}, of which {room:,} are left for the prompt.",
        hint="Use a judge with a larger context, or lower max_output_tokens.",
    )
