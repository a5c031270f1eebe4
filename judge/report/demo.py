"""The demonstration as text: numbers first, then what they mean in plain words."""

from __future__ import annotations

from judge.engine.demo import Demo, DemoCalibration, DemoRun, DemoScene
from judge.report.calibration import DECISION_WORDS
from judge.report.numbers import number, steps
from judge.report.verdicts import score_text, vote_text


def demo_text(demo: Demo) -> str:
    """Metrics, both judges' verdicts with votes, and a sentence on each comparison."""
    lines: list[str] = []
    for scene in demo.scenes:
        runs = [run for run in demo.runs if run.scene == scene.set_name]
        lines += [f"## {scene.title}", "", "What rules can measure (no model):"]
        lines += _metrics(runs)
        for judge in demo.judges:
            lines += ["", f"What {judge} says (rubric process):"]
            for run in runs:
                lines += _verdict(run, judge)
        lines += ["", "In plain words:"]
        lines += [f"- {sentence}" for sentence in _sentences(scene, runs, demo.judges)]
        lines.append("")
    lines += [
        "All verdicts above are UNCERTIFIED: nothing has shown yet that either judge agrees with anybody. "
        "A score from an uncertified judge is an opinion, not a measurement. So the judges are measured now:",
        "",
    ]
    if demo.calibrations:
        lines += _calibrations(demo.calibrations)
    return "\n".join(lines)


def _calibrations(found: tuple[DemoCalibration, ...]) -> list[str]:
    lines = [
        "## Calibrating both judges on the shipped set docs_search",
        "",
        "The labels of this set are known by construction: each run was written with a named fault or without one. "
        "None of them is human, so a certificate on it speaks of these faults and of nothing else.",
    ]
    for one in found:
        certificate = one.calibration.certificate
        lines += ["", f"{one.judge}, on {one.title}: {DECISION_WORDS[certificate.decision]}"]
        lines += [f"  {reason}" for reason in certificate.reasons]
        lines += [f"  {sentence}" for sentence in one.calibration.report.sentences[:2]]
        if one.caught:
            shown = ", ".join(f"{fault} {right} of {total}" for fault, (right, total) in sorted(one.caught.items()))
            lines.append(f"  Faults it noticed: {shown}")
        titles = {claim.name: claim.title for claim in certificate.claims}
        lines.append(f"  Not tested: {', '.join(titles[name] for name in certificate.not_tested)}.")
    lines += [
        "",
        "With a certificate saved by `judge calibrate`, `judge score --require-trust` scores with that exact judge and "
        "refuses every other one (exit 3). Change a character of the rubric, or the number of votes, and it refuses.",
    ]
    return lines


def _metrics(runs: list[DemoRun]) -> list[str]:
    names = list(dict.fromkeys(name for run in runs for name in run.metrics))
    width = max(len(name) for name in names)
    columns = [max(len(run.trajectory.id), 10) for run in runs]
    header = "  " + " " * width + "".join(f"  {run.trajectory.id:>{w}}" for run, w in zip(runs, columns, strict=True))
    rows = [header]
    for name in names:
        values = [run.metrics[name].value for run in runs]
        if all(value is None for value in values):
            continue
        cells = "".join(f"  {number(v, absent='n/a'):>{w}}" for v, w in zip(values, columns, strict=True))
        rows.append(f"  {name:<{width}}{cells}")
    return rows


def _verdict(run: DemoRun, judge: str) -> list[str]:
    verdict = run.verdicts[judge]
    shown = score_text(verdict.score, verdict.scale) if verdict.status == "ok" else verdict.status.upper()
    result = verdict.criteria[0] if verdict.criteria else None
    votes = ", ".join(vote_text(vote, result.scale) for vote in result.votes) if result else ""
    lines = [f"  {run.trajectory.id}: {shown}   votes: {votes or 'none'}   trust: {verdict.trust.state}"]
    if verdict.reason:
        cited = f"  {steps(result.evidence)}" if result and result.evidence else ""
        lines.append(f"    {verdict.reason}{cited}")
    lines += [f"    error: {error.kind}: {error.message}" for error in verdict.errors]
    return lines


def _sentences(scene: DemoScene, runs: list[DemoRun], judges: tuple[str, ...]) -> list[str]:
    by_id = {run.trajectory.id: run for run in runs}
    better = by_id[scene.better]
    sentences = []
    finals = {run.trajectory.final for run in runs}
    if len(finals) == 1:
        sentences.append("All three end in the same reply, so a final-answer check cannot tell them apart.")
    for judge in judges:
        for run_id in scene.worse:
            sentences.append(_comparison(judge, better, by_id[run_id]))
    return sentences


def _comparison(judge: str, better: DemoRun, worse: DemoRun) -> str:
    a, b = better.verdicts[judge].score, worse.verdicts[judge].score
    names = (
        f"{better.trajectory.id} ({number(a, absent='no score')})",
        f"{worse.trajectory.id} ({number(b, absent='no score')})",
    )
    if a is None or b is None:
        return f"{judge} gave no score to one of {names[0]} and {names[1]}: nothing can be said."
    if a > b:
        return f"{judge} puts {names[0]} above {names[1]}, as it should: the second path is faulty by construction."
    if a == b:
        return f"{judge} cannot tell {names[0]} from {names[1]}, though the second path is faulty by construction."
    return f"{judge} puts {names[0]} BELOW {names[1]}, the wrong way round: the second path is faulty by construction."
