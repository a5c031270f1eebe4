"""A report as a folder: HTML to read, JSON for programs, text for a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.calibration.findings import CalibrationReport
from judge.calibration.jury_errors import JuryErrors
from judge.errors import UsageError
from judge.report.calibration import calibration_text
from judge.report.jury import jury_lines
from judge.report.page import calibration_page
from judge.types.certificate import Certificate


def write_calibration(
    report: CalibrationReport,
    certificate: Certificate,
    folder: Path,
    label_next: Sequence[str] = (),
    jury: JuryErrors | None = None,
) -> tuple[Path, ...]:
    """Writes the files, each whole or not at all, and says which."""
    seats = {} if jury is None else {"jury": jury.to_json()}
    texts = {
        "report.html": calibration_page(report, certificate, jury),
        "report.json": json.dumps({**report.to_json(), **seats}, ensure_ascii=False, indent=2) + "\n",
        "report.txt": whole_text(report, certificate, label_next, jury) + "\n",
        "certificate.json": json.dumps(certificate.to_json(), ensure_ascii=False, indent=2) + "\n",
    }
    return write_texts(texts, folder)


def whole_text(
    report: CalibrationReport, certificate: Certificate, label_next: Sequence[str], jury: JuryErrors | None
) -> str:
    """A calibration as text, with the judges of a jury one by one."""
    text = calibration_text(report, certificate, label_next)
    return text if jury is None else "\n".join([text, "", *jury_lines(report.judge, jury)])


def write_comparison(
    page: str, document: Mapping[str, Any], text: str, folder: Path, *, name: str = "compare"
) -> tuple[Path, ...]:
    """Writes NAME.html, .json and .txt, each whole or not at all, and says which."""
    texts = {
        f"{name}.html": page,
        f"{name}.json": json.dumps(document, ensure_ascii=False, indent=2) + "\n",
        f"{name}.txt": text + "\n",
    }
    return write_texts(texts, folder)


def write_texts(texts: Mapping[str, str], folder: Path) -> tuple[Path, ...]:
    """Writes files by name, each whole or not at all, and says which.

    Raises:
        UsageError: The folder cannot be made, or a file not be written.
    """
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            temporary = folder / f".new-{name}"
            temporary.write_text(text, encoding="utf-8", newline="\n")
            temporary.replace(folder / name)
            written.append(folder / name)
    except OSError as error:
        raise UsageError(
            f"Reports cannot be written to {str(folder)!r}: {error.strerror or error}.",
            hint="Name another folder with --out; replies that are in the cache are not paid for again.",
        ) from None
    return tuple(written)
