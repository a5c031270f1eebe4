"""Issues certificates, seals them against change, and says whether one covers a verdict.

The seal is a sha256 over the canonical JSON of the body. It shows that a file was changed, not who
wrote it; a signature (ed25519, optional) shows that too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from judge.calibration.claims import Judged
from judge.errors import FingerprintMismatch, MissingExtra
from judge.types.calibration_set import Population, Profile
from judge.types.certificate import CalibratedScore, Certificate, Revocation, Scope
from judge.types.record import fingerprint
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Calibrated, JudgeSpec, Trust

PINNED_DAYS = 90
"""How long a certificate of a pinned model holds, in days."""
ALIAS_DAYS = 7
"""How long one of a moving alias ("-latest") holds: the provider may change what it serves at any time."""
CANARY_SIZE = 100


def issue(
    scope: Scope,
    judged: Judged,
    *,
    profile: Profile,
    n_labels: int,
    n_groups: int,
    now: datetime,
    label_uses: int = 1,
    pass_mark: float | None = None,
    calibrated: Sequence[CalibratedScore] = (),
    canary: Mapping[str, float] | None = None,
    fingerprints: Mapping[str, str] | None = None,
    versions: Mapping[str, str] | None = None,
    days: int | None = None,
) -> Certificate:
    """A sealed certificate of what was found, whatever the decision: a refusal is kept as well."""
    holds = days if days is not None else ALIAS_DAYS if is_alias(scope.judge) else PINNED_DAYS
    body = Certificate(
        scope=scope,
        profile=profile,
        claims=judged.claims,
        required=judged.required,
        not_tested=judged.not_tested,
        decision=judged.decision,
        reasons=judged.reasons,
        n_labels=n_labels,
        n_groups=n_groups,
        label_uses=label_uses,
        pass_mark=pass_mark,
        calibrated=tuple(calibrated),
        canary=dict(canary or {}),
        fingerprints=dict(fingerprints or {}),
        versions=dict(versions or {}),
        issued_at=now.astimezone(UTC).isoformat(timespec="seconds"),
        expires_at=(now.astimezone(UTC) + timedelta(days=holds)).isoformat(timespec="seconds"),
    )
    seal = seal_of(body)
    return body.model_copy(update={"seal": seal, "id": seal[:16]})


def seal_of(certificate: Certificate) -> str:
    """sha256 of everything but the id, the seal and the signature."""
    body = certificate.to_json()
    for key in ("id", "seal", "signature"):
        body.pop(key, None)
    return fingerprint(body)


def verify(certificate: Certificate) -> None:
    """Checks seal, id and, where there is one, signature.

    Raises:
        FingerprintMismatch: The certificate was changed after it was issued.
    """
    seal = seal_of(certificate)
    if seal != certificate.seal or certificate.id != seal[:16]:
        raise FingerprintMismatch(
            f"Certificate {certificate.id!r} was changed after it was issued: its body hashes to {seal[:16]}, "
            f"its seal says {certificate.seal[:16]}.",
            hint="Calibrate again; a certificate is never edited.",
        )
    if certificate.signature is not None:
        _verify_signature(certificate)


def sign(certificate: Certificate, private_key: bytes) -> Certificate:
    """The certificate with an ed25519 signature of its seal.

    Args:
        private_key: 32 raw bytes.
    """
    keys = _ed25519()
    key = keys.Ed25519PrivateKey.from_private_bytes(private_key)
    return certificate.model_copy(
        update={
            "signature": {
                "algorithm": "ed25519",
                "public_key": key.public_key().public_bytes_raw().hex(),
                "value": key.sign(certificate.seal.encode("ascii")).hex(),
            }
        }
    )


def _verify_signature(certificate: Certificate) -> None:
    from cryptography.exceptions import InvalidSignature

    signature = certificate.signature or {}
    try:
        key = _ed25519().Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature["public_key"]))
        key.verify(bytes.fromhex(signature["value"]), certificate.seal.encode("ascii"))
    except (InvalidSignature, ValueError, KeyError):
        raise FingerprintMismatch(f"The signature of certificate {certificate.id!r} does not fit its seal.") from None


def need_signatures() -> None:
    """Raises MissingExtra where nothing can be signed here."""
    _ed25519()


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra(
            "Signatures need the package cryptography.", hint='Install it with: pip install "trajudge[sign]".'
        ) from None
    return ed25519


def is_alias(spec: JudgeSpec) -> bool:
    """Whether a model name, of a jury any, may serve another model tomorrow: it ends in "latest"."""
    return any(one.model.casefold().endswith("latest") for one in (spec, *(spec.members or ())))


def differences(scope: Scope, spec: JudgeSpec, rubric: Rubric) -> tuple[str, ...]:
    """What is not as it was when the certificate was issued, in words; empty when nothing changed."""
    changed = []
    if rubric.fingerprint != scope.rubric_fingerprint:
        was, now = scope.rubric_version, rubric.version
        version = f" (version {was!r} then, {now!r} now)" if was != now else f" (version {now!r} both times)"
        changed.append(f"The rubric {rubric.id!r} has changed{version}.")
    then, today = scope.judge.to_json(), spec.to_json()
    for key in then | today:
        if key == "sampling":
            parts = then.get(key, {}) | today.get(key, {})
            for part in parts:
                before, after = then.get(key, {}).get(part), today.get(key, {}).get(part)
                if before != after:
                    changed.append(f"{part}: {_said(before)} when certified, {_said(after)} now.")
        elif then.get(key) != today.get(key):
            changed.append(f"{key}: {_said(then.get(key))} when certified, {_said(today.get(key))} now.")
    return tuple(changed)


def _said(value: object) -> str:
    text = str(value)
    return "not set" if value is None else text if len(text) <= 40 else f"{text[:12]}…"


def outside(population: Population, trajectory: Trajectory) -> tuple[str, ...]:
    """Why a run is not one that the certificate speaks of; empty when it is."""
    reasons = []
    names = {agent.name for agent in trajectory.agents} | {step.agent for step in trajectory.steps if step.agent}
    if population.agents and not names:
        reasons.append(f"The run names no agent; certified are {', '.join(population.agents)}.")
    if population.agents and not names <= set(population.agents):
        strangers = ", ".join(sorted(names - set(population.agents)))
        reasons.append(f"Agent {strangers} is not among those certified: {', '.join(population.agents)}.")
    steps = len(trajectory.steps)
    if population.min_steps is not None and steps < population.min_steps:
        reasons.append(f"{steps} steps; certified from {population.min_steps}.")
    if population.max_steps is not None and steps > population.max_steps:
        reasons.append(f"{steps} steps; certified up to {population.max_steps}.")
    return tuple(reasons)


def trust(
    spec: JudgeSpec,
    rubric: Rubric,
    certificates: Sequence[Certificate],
    *,
    now: datetime,
    revocations: Sequence[Revocation] = (),
    trajectory: Trajectory | None = None,
    served_models: Sequence[str] = (),
    score: float | None = None,
) -> Trust:
    """The trust status of a verdict: which certificate covers it, or what stands in the way.

    Args:
        certificates: Already verified; see `verify`.
        trajectory, served_models, score: Of the verdict; leave out to ask about the judge before it runs.
    """
    own = [c for c in certificates if c.scope.judge.name == spec.name and c.scope.rubric == rubric.id]
    if not own:
        return Trust(state="uncertified", reasons=(f"No certificate for {spec.name} under rubric {rubric.id!r}.",))
    exact = [c for c in own if not differences(c.scope, spec, rubric)]
    if not exact:
        nearest = min(own, key=lambda c: (len(differences(c.scope, spec, rubric)), -_time(c.issued_at).timestamp()))
        return Trust(state="out_of_scope", certificate=nearest.id, reasons=differences(nearest.scope, spec, rubric))
    # the newest counts; of two in one second, the one that does not trust
    found = max(exact, key=lambda c: (_time(c.issued_at), c.decision != "certified"))
    revoked = [
        f"The certificate was revoked on {r.at}: {reason}"
        for r in revocations
        if r.certificate == found.id
        for reason in r.reasons
    ]
    if revoked:
        return Trust(state="refused", certificate=found.id, reasons=tuple(revoked))
    if found.decision == "refused":
        return Trust(state="refused", certificate=found.id, reasons=found.reasons)
    if found.decision == "undecided":
        return Trust(state="uncertified", certificate=found.id, reasons=("Undecided: " + found.reasons[0],))
    if now >= _time(found.expires_at):
        return Trust(state="expired", certificate=found.id, reasons=(f"Expired on {found.expires_at}.",))
    reasons = list(outside(found.scope.population, trajectory)) if trajectory else []
    strangers = sorted(set(served_models) - set(found.scope.served_models))
    if strangers and found.scope.served_models:
        reasons.append(
            f"The provider served {', '.join(strangers)}; certified was {', '.join(found.scope.served_models)}."
        )
    if reasons:
        return Trust(state="out_of_scope", certificate=found.id, reasons=tuple(reasons))
    return Trust(state="certified", certificate=found.id, calibrated=_calibrated(found, score))


def _calibrated(certificate: Certificate, score: float | None) -> Calibrated | None:
    level = next((c for c in certificate.calibrated if c.score == score), None)
    return Calibrated(probability=level.probability, low=level.low, high=level.high) if level else None


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
