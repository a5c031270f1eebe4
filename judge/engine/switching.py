"""The certificate of a judge that may take another's place, on the runs that the two were compared on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from judge.calibration.fields import FieldMap
from judge.calibration.observations import Scales
from judge.config import Settings
from judge.engine.budget import Budget
from judge.engine.calibrating import calibrate_files, calibrate_set
from judge.engine.certifying import Calibration, Terms
from judge.engine.comparing import Compared
from judge.types.jury import Jury
from judge.types.probe import ProbeReport


def certify_live(
    found: Compared,
    new: str,
    set_name: str | Path,
    *,
    settings: Settings,
    now: datetime,
    criterion: str | None = None,
    repeats: int | None = None,
    probes: tuple[ProbeReport, ...] = (),
    budget: Budget | None = None,
) -> Calibration:
    """Calibrates the new judge on the set as `judge calibrate` does, and writes its certificate.

    The verdicts of the comparison are in the cache; runs with dev labels alone are judged anew.

    Args:
        new: Its name in the comparison, which says under which rubric it judges.
        probes: Of any of the compared judges; that of the new one joins the certificate.
        budget: That of the comparison; None for one of its own.

    Raises:
        UsageError: The judge was not compared.
    """
    found.runs.place(new)
    origin = found.origins[new]
    row = next(row for row in found.comparison.judges if row.judge == new)
    own = next((p for p in probes if p.fingerprints == origin.fingerprints), None) if row.probes is not None else None
    return calibrate_set(
        set_name,
        settings=settings.model_copy(update={"judge": origin.judge}),
        now=now,
        rubric=origin.rubric,
        criterion=criterion,
        repeats=repeats,
        budget=budget,
        terms=lambda terms: replace(terms, save=settings.certificates, probes=own),
    )


def certify_recorded(
    new: str | Jury,
    verdicts: Path,
    labels: Path,
    *,
    verdict_fields: FieldMap,
    label_fields: FieldMap,
    scale: Scales,
    settings: Settings,
    now: datetime,
    criterion: str | None = None,
    pass_mark: float | None = None,
) -> Calibration:
    """The same from recorded verdicts; the certificate is of the recorded judge, or of the jury of them, alone.

    Raises:
        LabelError: A file does not read.
    """
    return calibrate_files(
        verdicts,
        labels,
        verdict_fields=verdict_fields,
        label_fields=label_fields,
        scale=scale,
        terms=Terms(label_set=labels.name, save=settings.certificates),
        now=now,
        judge_name=new if isinstance(new, str) else None,
        jury=new if isinstance(new, Jury) else None,
        criterion=criterion,
        pass_mark=pass_mark,
        vote=settings.vote,
    )
