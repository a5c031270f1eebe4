"""`judge certificates`: what was shown of which judge, whether it still holds, and re-runs of the anchors."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, note, say, table

if TYPE_CHECKING:
    from judge.types.certificate import Certificate

app = typer.Typer(help="List, show, check and revoke certificates.", no_args_is_help=True)


def _folder(given: str | None) -> Path:
    from judge.config import load_settings

    return load_settings({"certificates": given}).certificates


@app.command("list")
def list_(certificates: options.Certificates = None, as_json: options.AsJson = False) -> None:
    """Every certificate with its state today; broken files are named."""
    from judge.store.certificates import read_shelf

    folder = _folder(certificates)
    shelf = read_shelf(folder)
    revoked = {r.certificate for r in shelf.revocations}
    now = datetime.now(UTC)
    rows = [
        [c.id, _state(c, now, revoked), c.scope.judge.name, c.scope.rubric, c.scope.label_set, c.expires_at]
        for c in sorted(shelf.certificates, key=lambda c: c.issued_at)
    ]
    if as_json:
        keys = ("id", "state", "judge", "rubric", "label_set", "expires_at")
        emit({
            "certificates": [dict(zip(keys, row, strict=True)) for row in rows],
            "broken": [{"file": name, "reason": why} for name, why in shelf.broken],
        })  # fmt: skip
        return
    say(table(rows, header=["certificate", "state", "judge", "rubric", "labels", "expires"]) if rows else "none")
    for name, why in shelf.broken:
        say(f"broken: {name}: {why}")


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="Id, or how it begins.")],
    certificates: options.Certificates = None,
    as_json: options.AsJson = False,
) -> None:
    """One certificate: whether it is in force, its scope, its claims, and what was not tested."""
    from judge.report.calibration import DECISION_WORDS, claims_text
    from judge.store.certificates import find_certificate, read_shelf

    folder = _folder(certificates)
    found = find_certificate(name, folder)
    if as_json:
        emit(found.to_json())
        return
    scope = found.scope
    revoked = {r.certificate: r for r in read_shelf(folder).revocations}
    state = _state(found, datetime.now(UTC), set(revoked))
    if state == "revoked":
        say(f"REVOKED on {revoked[found.id].at}, and covers nothing: {'; '.join(revoked[found.id].reasons)}")
    elif state == "expired":
        say(f"EXPIRED on {found.expires_at}, and covers nothing.")
    say(f"{scope.judge.name} under rubric {scope.rubric} version {scope.rubric_version or 'unknown'}")
    say(DECISION_WORDS[found.decision])
    say("\n".join(f"  {reason}" for reason in found.reasons))
    say(
        f"Labels: {scope.label_set}, {found.n_labels} runs of {found.n_groups} tasks, by {', '.join(scope.label_kinds)}"
    )
    say("\n".join(claims_text(found)))


@app.command("check")
def check(
    name: Annotated[str | None, typer.Argument(help="Id, or how it begins; all that are valid by default.")] = None,
    certificates: options.Certificates = None,
    look: Annotated[int, typer.Option("--look", min=1, help="Which look this is.")] = 1,
    looks: Annotated[int, typer.Option("--looks", min=1, help="Looks planned; they share the false alarms.")] = 12,
    base_url: options.BaseUrl = None,
    as_json: options.AsJson = False,
) -> None:
    """Score the frozen anchors again. An alarm voids the certificate (exit 1); nothing re-run is exit 3."""
    from judge.config import load_settings
    from judge.engine.canary import check_certificate
    from judge.engine.facade import budget_of
    from judge.store.certificates import find_certificate, read_shelf

    folder = _folder(certificates)
    now = datetime.now(UTC)
    shelf = read_shelf(folder)
    revoked = {r.certificate for r in shelf.revocations}
    chosen = [find_certificate(name, folder)] if name else [
        c for c in shelf.certificates if _state(c, now, revoked) == "certified"
    ]  # fmt: skip
    results = []
    budget = budget_of(load_settings({}))  # one cap for all of them
    for certificate in chosen:
        settings = load_settings({"judge": certificate.scope.judge.name, "base_url": base_url})
        note(f"{certificate.id}: asking {certificate.scope.judge.name} about its anchors again")
        results.append(
            check_certificate(certificate, folder, settings=settings, now=now, look=look, looks=looks, budget=budget)
        )
    if as_json:
        emit({"checks": [result.to_json() for result in results]})
    else:
        rows = [[r.certificate, r.judge, r.state.replace("_", " "), r.reason] for r in results]
        say(table(rows, header=["certificate", "judge", "state", "reason"]) if rows else "No valid certificate here.")
    if any(result.state == "alarm" for result in results):
        raise typer.Exit(1)
    if not any(result.state == "held" for result in results):
        raise typer.Exit(3)


@app.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="Id, or how it begins.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is shown wherever trust is asked for.")],
    certificates: options.Certificates = None,
    as_json: options.AsJson = False,
) -> None:
    """Withdraw a certificate; the file stays, a revocation is written beside it."""
    from judge.store.certificates import find_certificate, save_revocation
    from judge.types.certificate import Revocation

    folder = _folder(certificates)
    found = find_certificate(name, folder)
    path = save_revocation(
        Revocation(certificate=found.id, at=datetime.now(UTC).isoformat(timespec="seconds"), reasons=(reason,)), folder
    )
    if as_json:
        emit({"revoked": found.id, "path": str(path)})
    else:
        say(f"{found.id} is revoked: {path}")


def _state(certificate: Certificate, now: datetime, revoked: set[str]) -> str:
    if certificate.id in revoked:
        return "revoked"
    if certificate.decision == "certified" and now >= datetime.fromisoformat(certificate.expires_at):
        return "expired"
    return certificate.decision
