"""Work on a rubric as text: disagreements, what a model proposes, and the edit beside the present rubric."""

from __future__ import annotations

from judge.engine.rubric_edit import Proposal
from judge.engine.rubric_work import RubricWork
from judge.report.compare import comparison_text
from judge.report.numbers import number, plural, usd


def rubric_work_text(found: RubricWork) -> str:
    """Disagreements by group, and the edit beside the present rubric."""
    n = found.agreed + sum(len(group.runs) for group in found.groups)
    lines = [
        f"== rubric {found.rubric} on the {found.split} split: people and judge agree on {found.agreed} of {n} runs"
    ]
    for group in found.groups:
        said = number(group.said, absent="no score")
        runs = f"{plural(len(group.runs), 'run')} ({', '.join(group.runs[:5])})"
        lines += ["", f"People {number(group.people)}, judge {said}: {runs}"]
        lines += [f"  touches {times} ×: {clause}" for clause, times in group.clauses.items()]
        shown = [(run, reason) for run, reason in group.reasons.items() if reason][:2]
        lines += [f"  {run}: {reason}"[:300] for run, reason in shown]
    if found.proposal is not None:
        lines += ["", *_proposal(found.proposal)]
    if found.edited is not None:
        lines += ["", comparison_text(found.edited, {})]
    if found.proposal is not None and found.proposal.edit is not None:
        lines += [
            "",
            "Nothing is accepted by this. The edit was made from these very runs, so it looks best here.",
            f"Read it first; `judge rubrics improve SET --edit {found.proposal.path} --final` looks at the test split.",
        ]
    if found.looks is not None:
        times = plural(found.looks, "time")
        lines += ["", f"The test split of this set was looked at {times} for rubrics, this one included."]
    return "\n".join(lines)


def _proposal(found: Proposal) -> list[str]:
    price = f"{plural(found.calls, 'call')}, {usd(found.cost_usd)}"
    if found.edit is None:
        return [f"{found.asked} proposed no usable edit ({price}): {found.failure}."]
    edit = found.edit
    lines = [
        f"{found.asked} proposes ({price}) another text for {edit.place!r} of {edit.criterion}, "
        f"written to {found.path} as version {found.version}:",
        f"  - {edit.old}",
        f"  + {edit.new}",
        f"  why: {edit.reason}",
    ]
    lines += [f"  lint: {finding}" for finding in found.findings] or ["  lint: clean"]
    if not found.sound:
        lines.append("  It has errors, so it was not measured.")
    return lines
