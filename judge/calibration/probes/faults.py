"""All implanted faults by name, and how they are planted in runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from judge.calibration.probes import action_faults, answer_faults, evidence_faults, path_faults
from judge.calibration.probes.planted import Mutator, generator, mutant
from judge.types.probe import Mutant
from judge.types.trajectory import Trajectory

FAULTS: dict[str, Mutator] = {
    "skipped_step": path_faults.skipped_step,
    "repeated_call": path_faults.repeated_call,
    "padding": path_faults.padding,
    "swapped_order": path_faults.swapped_order,
    "fabricated_result": evidence_faults.fabricated_result,
    "ignored_error": evidence_faults.ignored_error,
    "wrong_argument": action_faults.wrong_argument,
    "wrong_object": action_faults.wrong_object,
    "changed_amount": action_faults.changed_amount,
    "unapproved_action": action_faults.unapproved_action,
    "self_approved_action": action_faults.self_approved_action,
    "undone_claim": evidence_faults.undone_claim,
    "added_claim": answer_faults.added_claim,
    "answer_before_evidence": answer_faults.answer_before_evidence,
    "right_answer_bad_path": path_faults.right_answer_bad_path,
    "wrong_answer_good_path": answer_faults.wrong_answer_good_path,
    "truncated_run": path_faults.truncated_run,
}


def plant(run: Trajectory, fault: str, *, seed: int = 0) -> Mutant | None:
    """The run with one fault of that type, or None where it has no place for it or would stay as it is.

    The same run, fault and seed give the same mutant, whatever else is planted.

    Raises:
        KeyError: No such fault; `FAULTS` has their names.
    """
    planted = FAULTS[fault](run, generator(seed, "fault", fault, run.id))
    if planted is None:
        return None
    made = mutant(run, "fault", fault, planted, seed=seed)
    return made if made.mutation.steps and made.trajectory.steps != run.steps else None


def plant_all(
    runs: Sequence[Trajectory], *, seed: int = 0, types: Sequence[str] | None = None
) -> tuple[list[Mutant], dict[str, int]]:
    """Each fault in each run, and how many runs had no place for a fault, by type."""
    made: list[Mutant] = []
    no_place: Counter[str] = Counter()
    for run in runs:
        for fault in types if types is not None else FAULTS:
            one = plant(run, fault, seed=seed)
            if one is None:
                no_place[fault] += 1
            else:
                made.append(one)
    return made, dict(no_place)
