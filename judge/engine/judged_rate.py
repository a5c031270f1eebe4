"""A judge beside the rules: what it says of each attempt, and a pass rate that never stands raw and alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from judge.calibration.correction import plug_in_interval, rogan_gladen
from judge.calibration.proportions import share
from judge.config import Settings
from judge.engine.facade import budget_of, open_judge, rubric_of, score_many
from judge.engine.loop import PRIVATE
from judge.errors import BudgetReached
from judge.store.certificates import read_shelf
from judge.types.certificate import Certificate
from judge.types.estimate import Statistic, undefined
from judge.types.suite import Attempt, Case, CaseResult, Judged, JudgedRate
from judge.types.trajectory import Trajectory


class Grader:
    """Judges the attempts of the cases that name a rubric; holds one open judge. Close it after use.

    Attributes:
        certificates: Those in the settings' folder, by id.
        reached: The spend cap of all judgements together, once one did not fit under it; None before.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        """
        Args:
            folder: Where the suite file stands; a rubric may be a file beside it.

        Raises:
            UsageError: The judge cannot be opened.
        """
        self._settings = settings
        self._folder = folder
        self._budget = budget_of(settings)
        self.reached: BudgetReached | None = None
        self._opened = open_judge(None, settings)
        self._judge = PRIVATE.run(self._opened.__aenter__())
        self.certificates = {c.id: c for c in read_shelf(settings.certificates).certificates}

    def judge(self, case: Case, trajectory: Trajectory) -> Judged | None:
        """What the judge says; None where the case names no rubric.

        A failed judgement has no score and no pass, and neither has one that the spend cap leaves no room for.
        """
        if case.rubric is None:
            return None
        beside = self._folder / case.rubric.name
        rubric = rubric_of(str(beside) if beside.is_file() else case.rubric.name, self._settings)
        try:
            (verdict,) = score_many(
                [trajectory], rubric, judge=self._judge, settings=self._settings, budget=self._budget
            )
        except BudgetReached as error:
            self.reached = self.reached or error
            return Judged(
                rubric=rubric.id,
                judge=self._judge.name,
                score=None,
                passed=None,
                trust="uncertified",
                reason=error.message,
            )
        decided = verdict.status == "ok" and verdict.score is not None
        return Judged(
            rubric=verdict.rubric,
            judge=verdict.judge,
            score=verdict.score if decided else None,
            passed=(verdict.score or 0.0) >= case.rubric.pass_mark if decided else None,
            trust=verdict.trust.state,
            certificate=verdict.trust.certificate,
            reason=verdict.reason or "; ".join(f"{e.kind}: {e.message}" for e in verdict.errors),
        )

    def close(self) -> None:
        """Closes the judge and its cache."""
        PRIVATE.run(self._opened.__aexit__(None, None, None))


def judged_rates(cases: Sequence[CaseResult], grader: Grader, *, rng: np.random.Generator) -> tuple[JudgedRate, ...]:
    """One rate for each (rubric, judge): raw, and corrected where one certificate covers every verdict of it."""
    found: dict[tuple[str, str], list[tuple[str, Attempt, Judged]]] = defaultdict(list)
    for case in cases:
        for attempt in case.attempts:
            if attempt.judged is not None:
                found[attempt.judged.rubric, attempt.judged.judge].append((case.id, attempt, attempt.judged))
    return tuple(_rate(rubric, judge, rows, grader, rng) for (rubric, judge), rows in found.items())


def _rate(
    rubric: str, judge: str, rows: Sequence[tuple[str, Attempt, Judged]], grader: Grader, rng: np.random.Generator
) -> JudgedRate:
    scored = [(id, judged) for id, _, judged in rows if judged.passed is not None]
    if not scored:
        nothing = undefined("the judge gave no score", n=0, clusters=0)
        return JudgedRate(rubric=rubric, judge=judge, raw=nothing, corrected=nothing)
    flags = [float(bool(judged.passed)) for _, judged in scored]
    raw = share(flags, groups=[id for id, _ in scored], rng=rng)
    covering = {judged.certificate if judged.trust == "certified" else None for _, judged in scored}
    name = next(iter(covering)) if len(covering) == 1 else None
    certificate = grader.certificates.get(name) if name else None
    return JudgedRate(
        rubric=rubric,
        judge=judge,
        raw=raw,
        corrected=_corrected(raw, certificate, len(rows) - len(scored)),
        certificate=certificate.id if certificate else None,
    )


def _corrected(raw: Statistic, certificate: Certificate | None, failed: int) -> Statistic:
    """The rate among people by Rogan & Gladen, from the TPR and TNR that the certificate proves."""
    if certificate is None:
        return undefined("no certificate covers every verdict, so the judge's errors are unknown", n=raw.n)
    if failed:
        return undefined(
            f"attempts that the judge gave no score for, and that may differ from the rest: {failed}", n=raw.n
        )
    claims = {claim.name: claim.estimate for claim in certificate.claims}
    tpr, tnr = claims.get("tpr"), claims.get("tnr")
    if tpr is None or tnr is None or tpr.value is None or tnr.value is None or raw.value is None:
        return undefined("the certificate has no TPR and TNR", n=raw.n)
    made = rogan_gladen(raw.value, tpr.value, tnr.value)
    if made.value is None:
        return undefined(made.reason or "the correction is undefined", n=raw.n)
    # attempts at one task are no independent evidence: as many as there are cases
    size = float(raw.clusters or raw.n)
    interval = plug_in_interval(raw.value, size, tpr.value, tpr.n, tnr.value, tnr.n)
    low, high = interval if interval is not None else (None, None)
    return Statistic(
        value=made.value,
        low=None if low is None else min(low, made.value),
        high=None if high is None else max(high, made.value),
        n=raw.n,
        clusters=raw.clusters,
        method="rogan-gladen; plug-in interval",
        reason=None if interval else "the interval is undefined",
        detail={"raw": made.raw, "clipped": made.clipped, "certificate": certificate.id},
    )
