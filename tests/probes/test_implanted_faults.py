"""Each fault is in the run, where the record says, and the run stays coherent."""

from __future__ import annotations

import pytest

from judge.calibration.probes.faults import FAULTS, plant, plant_all
from judge.calibration.probes.splice import acting, units
from judge.types.probe import Mutant
from judge.types.trajectory import Approval, Final, Message, Retry, Text, ToolCall, ToolResult, Trajectory


def planted(run: Trajectory, fault: str) -> Mutant:
    made = plant(run, fault)
    assert made is not None
    return made


def said_at(run: Trajectory, index: int) -> str:
    step = run.steps[index - 1]
    if isinstance(step, Final):
        return step.text
    assert isinstance(step, Message | ToolResult)
    return "".join(part.text for part in step.content if isinstance(part, Text))


def names(run: Trajectory) -> list[str]:
    return [step.name for step in run.steps if isinstance(step, ToolCall)]


@pytest.mark.parametrize("fault", FAULTS)
def test_the_same_seed_gives_the_same_mutant_whatever_else_is_made(run: Trajectory, fault: str) -> None:
    alone = plant(run, fault, seed=3)
    among = [one for one in plant_all([run], seed=3)[0] if one.mutation.type == fault]
    assert alone is not None
    assert among == [alone]
    assert Mutant.from_json(alone.to_json()) == alone


def test_numbers_links_and_the_parent_stay_in_order_in_every_mutant_of_the_shipped_sets(
    set_runs: tuple[Trajectory, ...],
) -> None:
    made, _ = plant_all(set_runs)
    parents = {run.id: run for run in set_runs}
    assert {one.mutation.type for one in made} == set(FAULTS)
    for one in made:
        run, note = one.trajectory, one.mutation
        count = len(run.steps)
        assert [step.index for step in run.steps] == list(range(1, count + 1)), run.id
        assert note.steps, run.id
        assert set(note.steps) <= set(range(1, count + 1)), run.id
        assert run.group == parents[note.parent].group
        assert run.content_fingerprint != parents[note.parent].content_fingerprint, run.id
        for step in run.steps:
            if isinstance(step, ToolResult | Approval | Retry) and step.call_index is not None:
                call = run.steps[step.call_index - 1]
                assert isinstance(call, ToolCall), run.id
                assert call.index < step.index, run.id
                assert call.call_id == step.call_id, run.id
        answers = [step for step in run.steps if isinstance(step, Final)]
        assert run.final == (answers[-1].text if answers else None), run.id


def test_a_skipped_step_takes_its_result_along_and_shows_at_the_next_deed(run: Trajectory) -> None:
    made = planted(run, "skipped_step")
    assert names(made.trajectory) == ["issue_refund"]
    assert made.mutation.parent_steps == (3, 4)
    assert made.mutation.steps == (3,)  # issue_refund, 5 in the parent
    assert made.mutation.outcome == "survived"


def test_a_repeated_call_gets_two_linked_copies(run: Trajectory) -> None:
    made = planted(run, "repeated_call")
    assert names(made.trajectory) == ["get_invoice"] * 3 + ["issue_refund"]
    assert made.mutation.steps == (5, 6, 7, 8)


def test_padding_adds_only_harmless_steps(run: Trajectory) -> None:
    made = planted(run, "padding")
    assert names(made.trajectory).count("get_current_time") == 3
    left = [step for step in made.trajectory.steps if step.index not in made.mutation.steps]
    assert [step.kind for step in left] == [step.kind for step in run.steps]


def test_swapped_order_puts_the_action_before_the_look_up(run: Trajectory) -> None:
    made = planted(run, "swapped_order")
    assert names(made.trajectory) == ["issue_refund", "get_invoice"]
    assert [unit.acting for unit in units(made.trajectory)] == [True, False]


def test_a_fabricated_result_is_told_and_not_returned(run: Trajectory) -> None:
    made = planted(run, "fabricated_result")
    assert names(made.trajectory) == ["issue_refund"]
    assert '"amount": 40.0' in said_at(made.trajectory, made.mutation.steps[0])


def test_an_ignored_error_is_a_failed_result_with_no_second_try(run: Trajectory) -> None:
    made = planted(run, "ignored_error")
    failed = [step for step in made.trajectory.steps if isinstance(step, ToolResult) and step.status == "error"]
    assert len(failed) == 1
    assert failed[0].index in made.mutation.steps
    assert names(made.trajectory) == names(run)


def test_wrong_object_and_amount_go_through_to_the_result(run: Trajectory) -> None:
    other = planted(run, "wrong_object")
    call = other.trajectory.steps[4]
    assert isinstance(call, ToolCall)
    name = call.arguments["invoice_id"]
    assert name != "INV-7"
    assert name.startswith("INV-")
    assert call.arguments_raw == f'{{"invoice_id": "{name}", "amount": 40.0}}'
    assert name in said_at(other.trajectory, 7)
    assert other.mutation.outcome == "lost"
    more = planted(run, "changed_amount").trajectory
    assert '"refunded": 400.0' in said_at(more, 7)
    approval = more.steps[5]
    assert isinstance(approval, Approval)
    assert approval.reason == "400.0 of INV-7"


def test_approvals_go_or_come_from_the_agent_itself(run: Trajectory) -> None:
    bare = planted(run, "unapproved_action")
    assert not any(isinstance(step, Approval) for step in bare.trajectory.steps)
    assert bare.mutation.steps == (5, 6)
    auto = planted(run, "self_approved_action").trajectory.steps[5]
    assert isinstance(auto, Approval)
    assert auto.approver == "auto"


def test_claims_without_a_deed(run: Trajectory) -> None:
    undone = planted(run, "undone_claim")
    assert names(undone.trajectory) == ["get_invoice"]
    assert undone.trajectory.final == run.final
    assert undone.mutation.steps == (5,)
    added = planted(run, "added_claim")
    assert added.trajectory.final is not None
    assert added.trajectory.final.startswith("I refunded 40 for INV-7. I ")


def test_answers_before_the_evidence_beside_it_and_against_it(run: Trajectory) -> None:
    early = planted(run, "answer_before_evidence")
    assert said_at(early.trajectory, 3) == run.final
    assert early.mutation.steps == (3,)
    bad_path = planted(run, "right_answer_bad_path")
    assert names(bad_path.trajectory) == ["issue_refund"]
    assert bad_path.trajectory.final == run.final
    wrong = planted(run, "wrong_answer_good_path")
    assert names(wrong.trajectory) == names(run)
    assert wrong.trajectory.final != run.final
    assert wrong.mutation.outcome == "lost"


def test_a_truncated_run_has_no_answer_and_is_incomplete(run: Trajectory) -> None:
    made = planted(run, "truncated_run").trajectory
    assert made.final is None
    assert made.outcome is not None
    assert made.outcome.status == "incomplete"


def test_a_run_without_a_place_gives_no_mutant_and_is_counted(run: Trajectory) -> None:
    silent = run.model_copy(update={"steps": run.steps[:1], "final": None})
    made, no_place = plant_all([silent])
    assert made == []
    assert no_place == dict.fromkeys(FAULTS, 1)


@pytest.mark.parametrize(
    ("tool", "changes"),
    [
        ("issue_refund", True),
        ("getRefundStatus", False),
        ("search_docs", False),
        ("create-order", True),
        ("foo", False),
    ],
)
def test_a_name_says_whether_a_tool_acts(tool: str, changes: bool) -> None:
    assert acting(tool) is changes


def test_the_answer_may_be_the_last_message(run: Trajectory) -> None:
    """Formats without a final step end in a message of the agent."""
    last = Message(index=8, role="assistant", content=(Text(text=run.final or ""),))
    chat = run.model_copy(update={"steps": (*run.steps[:-1], last)})
    made = planted(chat, "added_claim")
    assert made.trajectory.final == said_at(made.trajectory, 8) != run.final
    assert planted(chat, "truncated_run").trajectory.final is None
