"""An escalation plan, and an escalated verdict, as text."""

from __future__ import annotations

from judge.engine.guarantee import EscalationPlan
from judge.report.calibration import statistic_text
from judge.report.numbers import number, plural


def escalation_text(plan: EscalationPlan) -> str:
    """What was chosen, what became of it, and what each reason finds."""
    chosen = plan.guarantee.chosen
    lines = [
        f"== {plan.judge} under rubric {plan.rubric}, criterion {plan.criterion} of {plan.label_set}",
        f"{plural(plan.dev_tasks, 'dev task')} chose, {plural(plan.test, 'test run')} checked",
    ]
    lines += [f"  left out: {n} × {reason}" for reason, n in plan.left_out.items()]
    lines.append("")
    wanted = f"at most {chosen.allowed:.0%} of the verdicts that stand are wrong, at {1 - chosen.delta:.0%}"
    if chosen.threshold is None:
        lines.append(f"No threshold is shown to be safe ({wanted}): {chosen.reason}.")
    else:
        lines += [
            f"A verdict stands from {number(chosen.threshold)} of its votes on ({wanted}):",
            f"  on dev   {chosen.coverage:.1%} stand, {chosen.disagreement or 0:.1%} of them wrong",
            f"  on test  share that stands: {statistic_text(plan.guarantee.coverage)}",
            f"           people agree with them: {statistic_text(plan.guarantee.agreement)}",
            f"  the promise {'holds' if plan.guarantee.holds else 'does NOT hold: ' + plan.guarantee.reason}",
        ]
    lines += ["", f"Sent on for other reasons, on test: {statistic_text(plan.sent_on)}"]
    lines += [f"  {row.reason:<22} {row.n:>5}  wrong: {statistic_text(row.wrong)}" for row in plan.reasons]
    lines.append(f"People agree with what no reason sends on: {statistic_text(plan.agreement)}")
    if plan.cascade is not None:
        cascade = plan.cascade
        verdict = "may go first" if cascade.allowed else "may NOT go first"
        lines += [
            "",
            f"Its FAIL is right: {statistic_text(cascade.precision)}; {cascade.needed:.0%} is needed.",
            f"The judge {verdict}: {cascade.reason}.",
        ]
        if cascade.saved is not None:
            lines.append(f"The second judge need not see {cascade.saved:.1%} of the runs.")
    return "\n".join(lines)
