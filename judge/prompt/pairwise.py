"""Rubric + two runs of one task → the request that asks which is better, within the judge's context.

The run that stands first is X, the other Y; its steps are [X1] and [Y1]. The names go with the place and not with the
run: asked in the other order, everything that could be preferred for its place changes sides. Who made a run is not
told: ids are left out, and agents within a run are numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from judge.errors import ContextOverflow
from judge.prompt.facts import in_words
from judge.prompt.marks import inline, mark_of
from judge.prompt.pairwise_text import FIRST, SECOND, pair_frame
from judge.prompt.render import (
    Prompt,
    quoted,
    reference_lines,
    require_policy,
    room_of,
    shortened,
    task_text,
    unsaid_final,
)
from judge.prompt.view import VIEW_VERSION, View, shown_steps, view
from judge.types.metric import MetricResult
from judge.types.reference import Reference
from judge.types.request import Request, Sampling, Subject
from judge.types.rubric import Rubric
from judge.types.trajectory import AgentTransfer, Approval, Step, Trajectory

PAIR_PARSER_VERSION = "pair-parse/1"
"""Raised with every change that can turn a reply into another vote."""
_SEAM = 16
"""Tokens set aside for what joining two halves may cost beside their own counts."""


def render_pair(
    rubric: Rubric,
    x: Trajectory,
    y: Trajectory,
    *,
    count_tokens: Callable[[str], int],
    reference: Reference | None = None,
    facts: tuple[Mapping[str, MetricResult], Mapping[str, MetricResult]] = ({}, {}),
    policy: str | None = None,
    sampling: Sampling | None = None,
    context_tokens: int | None = None,
) -> Prompt:
    """The prompt that asks which of two runs does better under `rubric`, `x` standing first.

    Where it does not fit whole, each run has half of the room, and what one leaves over is the other's; each is then
    shortened as a single run would be.

    Args:
        count_tokens: Tokens of a text for the judge.
        facts: Of `x` and of `y`, by name, told as evidence where they have a value.
        reference, policy: Of the task, told once.
        sampling: Its `max_output_tokens` and `thinking_tokens` are kept free for the reply.
        context_tokens: Prompt and reply together; None is unknown, and nothing is cut.

    Raises:
        ContextOverflow: The runs do not fit, even shortened as far as allowed.
        UsageError: The rubric needs a policy text and there is none.
    """
    require_policy(rubric, policy)
    sampling = sampling or Sampling()
    fixed = pair_frame(rubric)
    halves = (_half(x, FIRST, rubric, facts[0]), _half(y, SECOND, rubric, facts[1]))
    top = _top(halves, reference, policy)
    around = sum(map(count_tokens, (fixed.system, fixed.rubric, fixed.closing)))
    data, mark = _data(top, halves, [half.whole for half in halves])
    seen = tuple(half.whole for half in halves)
    tokens = around + count_tokens(data)
    if context_tokens is not None and tokens > (room := room_of(context_tokens, sampling)):
        asked = tokens
        left = room - around - count_tokens(_data(top, halves, [View("", ("cut",))] * 2)[0]) - _SEAM
        seen = _fitted(rubric, halves, left, count_tokens)
        data, mark = _data(top, halves, seen)
        tokens = around + count_tokens(data)
        if tokens > room:
            raise ContextOverflow(
                f"The runs {x.id!r} and {y.id!r} need {asked:,} tokens whole and {tokens:,} shortened as far as "
                f"allowed; the judge holds {context_tokens:,}, of which {room:,} are left for the prompt.",
                hint="Use a judge with a larger context, or lower max_output_tokens.",
            )
    cuts = tuple(cut for one in seen for cut in one.cuts)
    request = Request(
        system=fixed.system,
        segments=(fixed.rubric, data, fixed.closing),
        reply_schema=fixed.schema,
        reply_name="comparison",
        sampling=sampling,
        versions={
            "template": fixed.template,
            "view": VIEW_VERSION,
            "parser": PAIR_PARSER_VERSION,
            "order": order_of(x, y),
        },
        subject=Subject(
            trajectory_id=x.id,
            against=y.id,
            group=x.group,
            rubric=rubric.id,
            criteria=fixed.scales,
            steps=shown_steps(x, rubric.view),
        ),
    )
    return Prompt(request=request, tokens=tokens, truncated=bool(cuts), cuts=cuts, mark=mark)


def order_of(x: Trajectory, y: Trajectory) -> str:
    """Which order of the pair this is, "1" or "2", whichever run the user names first.

    The text of a prompt holds its order already, except where both runs say the same.
    """
    return "1" if (x.content_fingerprint, x.id) <= (y.content_fingerprint, y.id) else "2"


def anonymous(trajectory: Trajectory) -> Trajectory:
    """The run with its agents numbered in the order in which they appear, so that no name tells who made it."""
    names: dict[str, str] = {}

    def number(name: str | None) -> str | None:
        return None if name is None else names.setdefault(name, f"agent-{len(names) + 1}")

    own = {agent.name for agent in trajectory.agents}
    steps: list[Step] = []
    for step in trajectory.steps:
        change: dict[str, str | None] = {}
        if step.agent is not None:
            change["agent"] = number(step.agent)
        if isinstance(step, AgentTransfer):
            change |= {"from_agent": number(step.from_agent), "to_agent": number(step.to_agent)}
        if isinstance(step, Approval) and step.approver in own:
            change["approver"] = number(step.approver)
        steps.append(step.model_copy(update=change) if change else step)
    return trajectory.model_copy(update={"steps": tuple(steps)})


@dataclass(frozen=True, slots=True)
class _Half:
    """One run as it stands in the prompt: what comes before its steps, and its steps uncut."""

    run: Trajectory
    letter: str
    task: str
    above: tuple[str, ...]
    whole: View


def _half(run: Trajectory, letter: str, rubric: Rubric, facts: Mapping[str, MetricResult]) -> _Half:
    run = anonymous(run)
    above: list[str] = []
    if told := in_words(facts):
        above += [f"FACTS FROM CODE ABOUT RUN {letter}:", *(f"- {fact}" for fact in told)]
    if run.tools:
        above.append(f"TOOLS ON OFFER: {', '.join(inline(tool.name) for tool in run.tools)}")
    ended = run.outcome.status if run.outcome else "unknown"
    if ended in ("aborted", "limit", "incomplete"):
        above.append(f"THE RUN ENDED: {ended}")
    if (answer := unsaid_final(run)) is not None:
        above += ["FINAL ANSWER ON RECORD (no step holds it):", *quoted(answer)]
    shown = view(run, rubric.view, letter=letter)
    return _Half(run, letter, task_text(run, letter), tuple(above), shown)


def _top(halves: tuple[_Half, _Half], reference: Reference | None, policy: str | None) -> str:
    """What both runs share: the task where it is worded alike, policy, reference."""
    out = [halves[0].task] if halves[0].task == halves[1].task else []
    if policy and policy.strip():
        out += ["POLICY:", *quoted(policy)]
    return "\n".join([*out, *reference_lines(reference)]) + "\n"


def _data(top: str, halves: tuple[_Half, _Half], seen: Sequence[View]) -> tuple[str, str]:
    """The data segment and its closing line."""
    out = []
    if any(one.cuts for one in seen):
        out.append("Text was left out where a line in brackets says so. Absence there is no evidence.\n")
    out.append(top)
    shared = halves[0].task == halves[1].task
    for half, one in zip(halves, seen, strict=True):
        count = len(half.run.steps)
        out.append(f"RUN {half.letter}, {count} steps:" if count else f"RUN {half.letter}: no steps were recorded")
        out.append("\n" + "".join(f"{line}\n" for line in (*(() if shared else (half.task,)), *half.above)))
        out.append(f"{one.text}\nEND OF RUN {half.letter}\n")
    body = "".join(out)
    mark = mark_of(body)
    return f"BEGIN DATA {mark}\n{body}END DATA {mark}\n", f"END DATA {mark}"


def _fitted(
    rubric: Rubric, halves: tuple[_Half, _Half], room: int, count_tokens: Callable[[str], int]
) -> tuple[View, View]:
    """Both runs within `room` tokens of steps: half for each, and what one leaves over for the other."""
    needs = [count_tokens(half.whole.text) for half in halves]
    shares = (max(room // 2, room - needs[1]), max(room // 2, room - needs[0]))

    def fitted(half: _Half, need: int, share: int) -> View:
        if need <= share:
            return half.whole
        return shortened(half.run, rubric.view, lambda seen: count_tokens(seen.text) <= share, letter=half.letter)

    return fitted(halves[0], needs[0], shares[0]), fitted(halves[1], needs[1], shares[1])
