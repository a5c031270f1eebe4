"""A calibration as a folder: report.html to read, report.json for programs, report.txt for a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from judge.calibration.findings import CalibrationReport
from judge.report.calibration import calibration_text
from judge.report.page import calibration_page
from judge.types.certificate import Certificate


def write_calibration(
    report: CalibrationReport, certificate: Certificate, folder: Path, label_next: Sequence[str] = ()
) -> tuple[Path, ...]:
    """Writes the files, each whole or not at all, and says which."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "report.html": calibration_page(report, certificate),
        "report.json": json.dumps(report.to_json(), ensure_ascii=False, indent=2) + "\n",
        "report.txt": calibration_text(report, certificate, label_next) + "\n",
        "certificate.json": json.dumps(certificate.to_json(), ensure_ascii=False, indent=2) + "\n",
    }
    written = []
    for name, text in texts.items():
        temporary = folder / f".new-{name}"
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(folder / name)
        written.append(folder / name)
    return tuple(written)
