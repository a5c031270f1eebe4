"""Claims: a bound against a threshold, and what follows."""

from __future__ import annotations

import pytest
from calibration_parts import stat

from judge.calibration.claims import KINDS, MOST_LABELS, Judged, judge_claims, more_labels_text
from judge.errors import ConfigError, UnknownName
from judge.types.calibration_set import Profile, RequiredClaim
from judge.types.certificate import Claim
from judge.types.estimate import Statistic, undefined


def only(name: str, measured: dict[str, Statistic], threshold: float | None = None) -> tuple[Claim, Judged]:
    found = judge_claims(measured, required=[RequiredClaim(name=name, threshold=threshold)])
    return next(claim for claim in found.claims if claim.name == name), found


@pytest.mark.parametrize(
    ("lower", "upper", "state", "decision"),
    [
        (0.80, 0.95, "met", "certified"),
        (0.79, 0.95, "undecided", "undecided"),
        (0.50, 0.79, "missed", "refused"),
        (0.50, 0.80, "undecided", "undecided"),
        (None, None, "undecided", "undecided"),
    ],
)
def test_the_unfavourable_bound_must_pass_and_only_the_favourable_one_refuses(
    lower: float | None, upper: float | None, state: str, decision: str
) -> None:
    claim, found = only("tnr", {"tnr": stat(0.75, lower, upper)})
    assert (claim.state, found.decision) == (state, decision)
    assert (claim.bound, claim.favourable) == (lower, upper)


@pytest.mark.parametrize(("upper", "state"), [(0.10, "met"), (0.11, "undecided")])
def test_a_claim_of_at_most_reads_the_upper_bound(upper: float, state: str) -> None:
    assert only("flip_rate", {"flip_rate": stat(0.05, 0.01, upper)})[0].state == state
    assert only("flip_rate", {"flip_rate": stat(0.3, 0.2, 0.4)})[0].state == "missed"


def test_an_estimate_alone_certifies_nothing() -> None:
    claim, found = only("kappa", {"kappa": undefined("one class only", n=9)})
    assert (claim.state, found.decision) == ("undecided", "undecided")
    assert "one class only" in claim.reason


def test_what_was_not_tested_is_listed_and_blocks_where_it_is_required() -> None:
    claim, found = only("attacks", {"tnr": stat(0.9, 0.9, 0.9)})
    assert (claim.state, claim.met, found.decision) == ("not_tested", None, "undecided")
    assert "judge probe" in found.reasons[0]
    assert set(found.not_tested) == set(KINDS) - {"tnr"}


def test_too_few_labels_never_refuse() -> None:
    for name in ("labels_passed", "labels_failed", "groups"):
        claim, found = only(name, {name: stat(3, 3, 3)})
        assert (claim.state, found.decision) == ("undecided", "undecided")
        assert claim.reason == f"3 found, at least {claim.threshold:g} needed"


@pytest.mark.parametrize(("profile", "tnr", "kappa"), [("strict", 0.9, 0.75), ("default", 0.8, 0.6)])
def test_profiles_differ_in_threshold_and_in_what_they_require(profile: Profile, tnr: float, kappa: float) -> None:
    found = judge_claims({}, profile=profile)
    bars = {claim.name: claim.threshold for claim in found.claims}
    assert (bars["tnr"], bars["kappa"]) == (tnr, kappa)
    assert {"tnr", "tpr", "kappa", "flip_rate", "attacks", "implanted_faults"} <= set(found.required)
    assert ("groups" in found.required) == (profile == "strict")


def test_the_advisory_profile_requires_nothing_and_so_certifies_nothing() -> None:
    found = judge_claims({"tnr": stat(1, 1, 1)}, profile="advisory")
    assert (found.required, found.decision) == ((), "undecided")
    assert found.reasons == ("No claim is required, so nothing can be certified.",)


def test_a_missed_claim_refuses_whatever_else_is_undecided_and_stands_first() -> None:
    found = judge_claims({"tnr": stat(0.5, 0.4, 0.6), "tpr": stat(0.9, 0.7, 0.95)})
    assert found.decision == "refused"
    assert found.reasons[0].startswith("failed runs caught")


def test_an_unknown_claim_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="kapa") as error:
        only("kapa", {})
    assert "kappa" in (error.value.hint or "")


def test_a_threshold_that_no_interval_reaches_is_refused() -> None:
    with pytest.raises(ConfigError, match="no interval from finite labels"):
        only("tnr", {}, threshold=1.0)


def test_a_claim_about_another_criterion_is_not_required_here() -> None:
    wanted = [RequiredClaim(name="tnr", criterion="tone"), RequiredClaim(name="tpr", criterion="path")]
    assert judge_claims({}, required=wanted, criterion="path").required == ("tpr",)


def test_labels_wanted_are_said_by_number_and_class_or_in_words_where_labels_cannot_decide() -> None:
    claims = judge_claims({"tnr": stat(0.9, 0.7, 0.95)}, more_labels={"tnr": 41, "tpr": 3})
    by_name = {claim.name: claim for claim in claims.claims}
    assert more_labels_text(by_name["tnr"]) == "41 more labels of failed runs would do if the estimate stays"
    assert any("41 more labels of failed runs" in reason for reason in claims.reasons)
    far = by_name["tnr"].model_copy(update={"more_labels": MOST_LABELS + 1})
    assert more_labels_text(far).startswith("more than 20,000 labels would be needed")
    assert more_labels_text(by_name["tnr"].model_copy(update={"more_labels": None})) == ""
