"""What certificates say of the judge of a run, and of each of its verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from judge.calibration.certify import trust
from judge.errors import TrustRequired
from judge.store.certificates import Shelf, read_shelf
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import JudgeSpec, Trust


@dataclass(frozen=True, slots=True)
class Standing:
    """The certificates that a run was begun with.

    Attributes:
        base: Trust in the judge itself, before it saw a run.
        now: When the run began; a certificate is held against this time.
    """

    spec: JudgeSpec
    rubric: Rubric
    shelf: Shelf
    now: datetime
    base: Trust

    def of(self, trajectory: Trajectory, served_models: Sequence[str], score: float | None) -> Trust:
        """Trust in one verdict: that in the judge, unless this run or the served model is out of scope."""
        if self.base.state != "certified":
            return self.base
        return trust(
            self.spec,
            self.rubric,
            self.shelf.certificates,
            now=self.now,
            revocations=self.shelf.revocations,
            trajectory=trajectory,
            served_models=served_models,
            score=score,
        )

    def of_judge(self, spec: JudgeSpec) -> Standing:
        """The standing of another judge under the same rubric, by the same certificates."""
        return _standing(spec, self.rubric, self.shelf, self.now)

    def require(self) -> None:
        """Raises when the judge has no valid certificate, before anything is spent.

        Raises:
            TrustRequired: It has none; the message names what is missing or what changed.
        """
        if self.base.state == "certified":
            return
        broken = "".join(f" {name}: {why}" for name, why in self.shelf.broken)
        state = self.base.state.replace("_", " ")
        raise TrustRequired(
            f"Trust was required, and {self.spec.name} under rubric {self.rubric.id!r} is {state}: "
            f"{' '.join(self.base.reasons)}{broken}",
            hint="Run `judge calibrate` on labels of your own, or do not require trust.",
        )


def standing_of(spec: JudgeSpec, rubric: Rubric, folder: Path, now: datetime) -> Standing:
    """The standing of a judge by the certificates in `folder`; a folder that is not there holds none."""
    return _standing(spec, rubric, read_shelf(folder), now)


def _standing(spec: JudgeSpec, rubric: Rubric, shelf: Shelf, now: datetime) -> Standing:
    base = trust(spec, rubric, shelf.certificates, now=now, revocations=shelf.revocations)
    return Standing(spec=spec, rubric=rubric, shelf=shelf, now=now, base=base)
