"""Certificates as files in one folder: ID.json each, ID.revoked.json beside a voided one, uses.jsonl as ledger."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from judge.calibration.certify import verify
from judge.errors import FingerprintMismatch, UnknownName
from judge.store.manifest import write_whole
from judge.types.certificate import Certificate, Revocation

LEDGER = "uses.jsonl"


@dataclass(frozen=True)
class Shelf:
    """What a folder of certificates holds.

    Attributes:
        broken: Files that are no valid certificate, with the reason; they cover nothing.
    """

    certificates: tuple[Certificate, ...]
    revocations: tuple[Revocation, ...]
    broken: tuple[tuple[str, str], ...]


def read_shelf(folder: Path) -> Shelf:
    """Every certificate in `folder`; one that was changed after it was issued is broken and covers nothing."""
    certificates: list[Certificate] = []
    revocations: list[Revocation] = []
    broken: list[tuple[str, str]] = []
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            if path.name.endswith(".revoked.json"):
                revocations.append(Revocation.from_json(value))
                continue
            certificate = Certificate.from_json(value)
            verify(certificate)
            certificates.append(certificate)
        except FingerprintMismatch as error:
            broken.append((path.name, error.message))
        except (ValueError, ValidationError, OSError) as error:
            broken.append((path.name, f"not a certificate: {str(error).splitlines()[0]}"))
    return Shelf(tuple(certificates), tuple(revocations), tuple(broken))


def save_certificate(certificate: Certificate, folder: Path) -> Path:
    """Writes the certificate to its own file, whole or not at all."""
    return _write(folder / f"{certificate.id}.json", certificate.to_json())


def save_revocation(revocation: Revocation, folder: Path) -> Path:
    """Writes a revocation beside its certificate; of one that is there already, the time and the reasons stay."""
    path = folder / f"{revocation.certificate}.revoked.json"
    for before in read_shelf(folder).revocations:
        if before.certificate == revocation.certificate:
            reasons = tuple(dict.fromkeys((*before.reasons, *revocation.reasons)))
            revocation = before.model_copy(update={"reasons": reasons})
    return _write(path, revocation.to_json())


def find_certificate(name: str, folder: Path) -> Certificate:
    """The certificate whose id starts with `name`.

    Raises:
        UnknownName: None does, or several do.
    """
    shelf = read_shelf(folder)
    found = [c for c in shelf.certificates if c.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(c.id for c in shelf.certificates) or "none"
    what = f"{len(found)} certificates begin with" if found else "No certificate begins with"
    raise UnknownName(f"{what} {name!r} in {folder}.", hint=f"Known: {known}.")


def count_use(labels_fingerprint: str, purpose: str, at: str, folder: Path) -> int:
    """Notes that these test labels were used once more, and says how often they now have been.

    Looking at test labels again after a change wears them out: the certificate says how often that was.
    The same purpose (same judge, same rubric) twice counts once.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LEDGER
    uses: Sequence[dict[str, str]] = []
    if path.is_file():
        lines = path.read_text(encoding="utf-8").split("\n")
        uses = [json.loads(line) for line in lines if line.strip()]
    before = {use["purpose"] for use in uses if use["labels"] == labels_fingerprint}
    if purpose not in before:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"labels": labels_fingerprint, "purpose": purpose, "at": at}) + "\n")
            file.flush()
            os.fsync(file.fileno())
    return len(before | {purpose})


def _write(path: Path, value: dict[str, object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    return path
