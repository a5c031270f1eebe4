"""What probes found of exactly a compared judge: from a probe's report, or from the judge's certificate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from judge.calibration.probes.report import CLAIMS_OF, probe_claims
from judge.errors import FingerprintMismatch
from judge.store.certificates import read_shelf
from judge.types.certificate import Certificate
from judge.types.comparison import ProbeFindings
from judge.types.estimate import Statistic
from judge.types.probe import ProbeReport

CLAIMS = frozenset(name for names in CLAIMS_OF.values() for name in names)


class ProbesKnown:
    """Every probe at hand; says which of them is of a judge. A report goes before a certificate."""

    def __init__(self, reports: Sequence[ProbeReport], certificates: Path) -> None:
        self._reports = list(reports)
        self._certificates = read_shelf(certificates).certificates
        self._used: set[int] = set()

    def of(self, judge: str, rubric: str) -> ProbeFindings | None:
        """What was found of the judge under the rubric, both by fingerprint; None where it was not probed."""
        for place, report in enumerate(self._reports):
            if report.fingerprints == {"judge": judge, "rubric": rubric}:
                self._used.add(place)
                return ProbeFindings(source="probe report", decision=report.decision, claims=probe_claims(report))
        own = [c for c in self._certificates if c.scope.rubric_fingerprint == rubric and _probed(c)]
        of_judge = [c for c in own if c.scope.judge.fingerprint == judge]
        if not of_judge:
            return None
        newest = max(of_judge, key=lambda c: c.issued_at)
        return ProbeFindings(source=f"certificate {newest.id}", decision=None, claims=_probed(newest))

    def refuse_strangers(self) -> None:
        """Raises FingerprintMismatch when a report is of none of the judges asked about."""
        for place, report in enumerate(self._reports):
            if place not in self._used:
                raise FingerprintMismatch(
                    f"A probe is of {report.judge} under rubric {report.rubric!r}, which is none of the compared "
                    "judges with exactly that model, sampling, votes and rubric.",
                    hint="Probe each judge as it is compared, or leave that --probes out.",
                )


def _probed(certificate: Certificate) -> dict[str, Statistic]:
    return {c.name: c.estimate for c in certificate.claims if c.name in CLAIMS and c.estimate is not None}
