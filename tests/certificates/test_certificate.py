"""A certificate covers exactly the judge that was measured, until it expires, is voided, or is edited."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from calibration_parts import BAD, GOOD, NOW, RUBRIC, SPEC, certificate, stat

from judge.calibration.certify import ALIAS_DAYS, PINNED_DAYS, differences, is_alias, outside, sign, trust, verify
from judge.errors import FingerprintMismatch, UnknownName
from judge.store.certificates import (
    LEDGER,
    count_use,
    find_certificate,
    read_shelf,
    save_certificate,
    save_revocation,
)
from judge.types.calibration_set import Population
from judge.types.certificate import CalibratedScore, Certificate, Revocation
from judge.types.request import Sampling
from judge.types.trajectory import Trajectory

KEY = bytes(range(32))


def run(steps: int = 2, agent: str = "alpha") -> Trajectory:
    texts = [{"kind": "message", "index": i, "role": "assistant"} for i in range(1, steps + 1)]
    return Trajectory.from_json(
        {"id": "r", "source": {"format": "native"}, "agents": [{"name": agent}], "steps": texts}
    )


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict) and value:
        return [leaf for key in value for leaf in leaves(value[key], (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for i, entry in enumerate(value) for leaf in leaves(entry, (*path, i))]
    return [path]


def edited(body: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    out = json.loads(json.dumps(body))
    inside = out
    for part in path[:-1]:
        inside = inside[part]
    was = inside[path[-1]]
    if isinstance(was, bool):
        inside[path[-1]] = not was
    elif isinstance(was, int | float):
        inside[path[-1]] = was + 1
    elif isinstance(was, str):
        inside[path[-1]] = ("b" if was[:1] == "a" else "a") + was[1:]
    else:
        del inside[path[-1]]
    return out


def test_no_value_of_a_certificate_can_be_edited_unseen() -> None:
    body = certificate(canary={"t1": 1.0}, versions={"numpy": "2"}).to_json()
    paths = [path for path in leaves(body) if path != ("schema",)]
    assert len(paths) > 60
    seen = 0
    for path in paths:
        try:
            found = Certificate.from_json(edited(body, path))
        except ValueError:
            continue  # the schema itself refuses this edit
        if found.to_json() == body:
            continue  # an absent value that was absent before
        seen += 1
        with pytest.raises(FingerprintMismatch):
            verify(found)
    assert seen > 40
    verify(Certificate.from_json(body))


def test_the_id_is_the_beginning_of_the_seal_and_equal_bodies_have_equal_ids() -> None:
    one, other = certificate(), certificate()
    assert one.id == one.seal[:16]
    assert one == other
    assert certificate(n_labels=101).id != one.id


def test_a_signature_holds_and_a_forged_one_does_not() -> None:
    pytest.importorskip("cryptography")
    signed = sign(certificate(), KEY)
    verify(signed)
    assert signed.id == certificate().id
    other = sign(certificate(n_labels=101), KEY)
    forged = signed.model_copy(update={"signature": other.signature})
    with pytest.raises(FingerprintMismatch, match="does not fit its seal"):
        verify(forged)
    for broken in ({}, {"public_key": "zz", "value": "00"}, {"public_key": "00" * 32}):
        with pytest.raises(FingerprintMismatch):
            verify(signed.model_copy(update={"signature": broken}))


def test_a_pinned_model_is_certified_for_long_and_a_moving_alias_for_a_week() -> None:
    assert (NOW + timedelta(days=PINNED_DAYS)).isoformat() == certificate().expires_at
    alias = SPEC.model_copy(update={"model": "some-model-LATEST"})
    assert is_alias(alias)
    assert not is_alias(SPEC)
    assert (NOW + timedelta(days=ALIAS_DAYS)).isoformat() == certificate(scope={"judge": alias}).expires_at
    assert ALIAS_DAYS == 7
    assert (NOW + timedelta(days=2)).isoformat() == certificate(days=2).expires_at


def test_an_unchanged_judge_is_certified_and_its_score_is_calibrated() -> None:
    level = CalibratedScore(score=1.0, probability=0.9, low=0.8, high=0.95, n=40)
    found = trust(SPEC, RUBRIC, [certificate(calibrated=(level,))], now=NOW, score=1.0)
    assert (found.state, found.certificate) == ("certified", certificate(calibrated=(level,)).id)
    assert found.calibrated is not None
    assert (found.calibrated.probability, found.calibrated.low, found.calibrated.high) == (0.9, 0.8, 0.95)
    assert trust(SPEC, RUBRIC, [certificate(calibrated=(level,))], now=NOW, score=0.0).calibrated is None


def test_without_a_certificate_of_this_judge_and_rubric_there_is_no_trust() -> None:
    assert trust(SPEC, RUBRIC, [], now=NOW).state == "uncertified"
    other = RUBRIC.model_copy(update={"id": "other"})
    assert trust(SPEC, other, [certificate()], now=NOW).state == "uncertified"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"samples": 5}, "samples: 3 when certified, 5 now."),
        ({"samples": None}, "samples: 3 when certified, not set now."),
        ({"vote": "majority"}, "vote: auto when certified, majority now."),
        ({"sampling": Sampling(temperature=0.5)}, "temperature: not set when certified, 0.5 now."),
        ({"host": "gpu.example"}, "host: not set when certified, gpu.example now."),
        ({"template": "x"}, "template:  when certified, x now."),
    ],
)
def test_each_change_of_the_judge_is_named(change: dict[str, Any], said: str) -> None:
    spec = SPEC.model_copy(update=change)
    found = trust(spec, RUBRIC, [certificate()], now=NOW)
    assert (found.state, found.reasons) == ("out_of_scope", (said,))


def test_one_changed_character_of_the_rubric_is_named_though_the_version_stayed() -> None:
    criterion = RUBRIC.criteria[0].model_copy(update={"question": "Was the agent polite!"})
    changed = RUBRIC.model_copy(update={"criteria": (criterion,)})
    found = trust(SPEC, changed, [certificate()], now=NOW)
    assert found.state == "out_of_scope"
    assert found.reasons == ("The rubric 'polite' has changed (version '1' both times).",)
    newer = RUBRIC.model_copy(update={"version": "2"})
    assert differences(certificate().scope, SPEC, newer) == (
        "The rubric 'polite' has changed (version '1' then, '2' now).",
    )


def test_a_certificate_expires_to_the_second() -> None:
    end = NOW + timedelta(days=PINNED_DAYS)
    assert trust(SPEC, RUBRIC, [certificate()], now=end - timedelta(seconds=1)).state == "certified"
    assert trust(SPEC, RUBRIC, [certificate()], now=end).state == "expired"


def test_another_served_model_is_out_of_scope() -> None:
    measured = certificate(scope={"served_models": ("some-model-0101",)})
    assert trust(SPEC, RUBRIC, [measured], now=NOW, served_models=("some-model-0101",)).state == "certified"
    found = trust(SPEC, RUBRIC, [measured], now=NOW, served_models=("some-model-0202",))
    assert found.state == "out_of_scope"
    assert "some-model-0202" in found.reasons[0]


def test_a_run_outside_the_population_is_out_of_scope() -> None:
    population = Population(agents=("alpha",), min_steps=2, max_steps=4)
    measured = certificate(scope={"population": population})
    assert trust(SPEC, RUBRIC, [measured], now=NOW, trajectory=run(3)).state == "certified"
    found = trust(SPEC, RUBRIC, [measured], now=NOW, trajectory=run(5, "beta"))
    assert found.state == "out_of_scope"
    assert found.reasons == ("Agent beta is not among those certified: alpha.", "5 steps; certified up to 4.")
    assert outside(population, run(1)) == ("1 steps; certified from 2.",)


def test_a_voided_certificate_is_refused_with_its_reason() -> None:
    void = Revocation(certificate=certificate().id, at=NOW.isoformat(), reasons=("The canary changed.",))
    found = trust(SPEC, RUBRIC, [certificate()], now=NOW, revocations=[void])
    assert (found.state, found.reasons) == (
        "refused",
        (f"The certificate was revoked on {NOW.isoformat()}: The canary changed.",),
    )


def test_a_refused_judge_is_refused_and_an_undecided_one_is_uncertified() -> None:
    assert trust(SPEC, RUBRIC, [certificate(BAD)], now=NOW).state == "refused"
    found = trust(SPEC, RUBRIC, [certificate({"tnr": stat(0.9, 0.7, 0.99)})], now=NOW)
    assert found.state == "uncertified"
    assert found.reasons[0].startswith("Undecided: failed runs caught")


def test_the_newest_certificate_for_exactly_this_judge_counts() -> None:
    old, new = certificate(GOOD), certificate(BAD, now=NOW + timedelta(days=1))
    other = certificate(GOOD, now=NOW + timedelta(days=2), scope={"judge": SPEC.model_copy(update={"samples": 5})})
    late = NOW + timedelta(days=3)
    assert trust(SPEC, RUBRIC, [old, new, other], now=late).certificate == new.id
    assert trust(SPEC, RUBRIC, [old, new, other], now=late).state == "refused"


def test_of_two_in_one_second_the_one_that_does_not_trust_counts() -> None:
    for order in ([certificate(GOOD), certificate(BAD)], [certificate(BAD), certificate(GOOD)]):
        assert trust(SPEC, RUBRIC, order, now=NOW).state == "refused"


def test_a_tampered_file_is_listed_as_broken_and_covers_nothing(tmp_path: Path) -> None:
    path = save_certificate(certificate(BAD), tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace('"refused"', '"certified"'), encoding="utf-8")
    (tmp_path / "junk.json").write_text("{", encoding="utf-8")
    (tmp_path / "other.json").write_text('{"a": 1}', encoding="utf-8")
    shelf = read_shelf(tmp_path)
    assert shelf.certificates == ()
    assert [name for name, _ in shelf.broken] == sorted([path.name, "junk.json", "other.json"])
    assert "was changed after it was issued" in dict(shelf.broken)[path.name]


def test_a_shelf_gives_back_what_was_put_on_it(tmp_path: Path) -> None:
    one, other = certificate(), certificate(n_labels=7)
    void = Revocation(certificate=one.id, at=NOW.isoformat(), reasons=("Withdrawn.",))
    for entry in (one, other):
        save_certificate(entry, tmp_path)
    save_revocation(void, tmp_path)
    shelf = read_shelf(tmp_path)
    assert sorted(found.id for found in shelf.certificates) == sorted([one.id, other.id])
    assert shelf.revocations == (void,)
    assert shelf.broken == ()
    save_revocation(void.model_copy(update={"at": "2030-01-01T00:00:00+00:00", "reasons": ("Leaked.",)}), tmp_path)
    (kept,) = read_shelf(tmp_path).revocations
    assert (kept.at, kept.reasons) == (void.at, ("Withdrawn.", "Leaked."))
    assert find_certificate(one.id[:8], tmp_path) == one
    with pytest.raises(UnknownName, match="No certificate begins with 'zz'"):
        find_certificate("zz", tmp_path)
    with pytest.raises(UnknownName, match="2 certificates begin with ''"):
        find_certificate("", tmp_path)
    assert read_shelf(tmp_path / "none").certificates == ()


def test_the_ledger_counts_each_purpose_once_for_each_set_of_labels(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "shelf"
    uses = [("L", "a"), ("L", "b"), ("L", "a"), ("M", "a")]
    assert [count_use(labels, purpose, "2026-01-01", folder) for labels, purpose in uses] == [1, 2, 2, 1]
    assert len((folder / LEDGER).read_text(encoding="utf-8").splitlines()) == 3
