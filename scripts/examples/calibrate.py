"""Find out whether a judge can be trusted on a set of labelled runs, and keep the certificate.

    python scripts/examples/calibrate.py refunds [JUDGE] [FOLDER]

The set is a shipped one or a folder (`judge label` makes one). Verdicts given later with this folder as `certificates`
carry the state of the certificate.
"""

from __future__ import annotations

import sys

import judge


def main(label_set: str, name: str = "rules/process", folder: str = ".judge/certificates") -> None:
    """Prints the decision and each claim with its interval."""
    certificate = judge.calibrate(label_set, judge=name, save=folder).certificate
    print(f"{name} on {label_set}: {certificate.decision} ({certificate.n_labels} labels)")
    for claim in certificate.claims:
        got = claim.estimate  # None where the claim was not tested: no number stands for what is not known
        if got is None or got.value is None:
            print(f"  {claim.name}: {claim.reason or 'not tested'}")
        else:
            needed = f"{claim.direction.replace('_', ' ')} {claim.threshold}"
            print(f"  {claim.name}: {got.value:.2f} from {got.n} runs; its bound {claim.bound} is needed {needed}")
    for reason in certificate.reasons:
        print(f"  {reason}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
