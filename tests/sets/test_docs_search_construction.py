"""What the labels of docs_search say was built in is there to see, checked by hand-written rules on the runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

import pytest

from judge.calibration.sets import load_set
from judge.types import ToolCall, ToolResult, Trajectory

SET = load_set("docs_search")
NOTES = {label.trajectory_id: label.note for label in SET.labels}

# What the answer to each task rests on (words of the pages found), and what a right answer has to say.
FACTS: dict[str, tuple[tuple[str, ...], str]] = {
    "docs-backup-retention": (("kept for 21 days",), r"\b21 days\b.*\b90\b"),
    "docs-sync-conflict": (("kept as a conflict copy",), r"conflict copy"),
    "docs-sso-down": (("only password owners can log in, at /auth/local",), r"\bowner.*/auth/local|/auth/local.*only"),
    "docs-rate-limit": (("120 requests a minute",), r"\b120 requests a minute\b.*Retry-After"),
    "docs-key-rotation": (("create the second key first, deploy it, then revoke",), r"(?i)\bkey.*deploy.*revok"),
    "docs-export-comments": (("Comments are not part of an export, except in HTML",), r"HTML"),
    "docs-failed-payment": (("after 3, 7 and 14 days",), r"3, 7 and 14 days.*read-only"),
    "docs-attachments": (("256 MB on the Campus plan", "off by default"), r"256 MB.*backup\.attachments"),
    "docs-keys-and-webhooks": (("expire after 180 days", "30 webhooks"), r"180 days.*\b30\b"),
    "docs-session-and-offline": (("end after 12 hours", "up to 14 days"), r"12 hours.*14 days"),
    "docs-upgrade": (("older than 3.0 must go through 3.2 first",), r"\b3\.2\b.*current release"),
    "docs-port": (("listens on port 7420 unless QUILL_PORT",), r"7420.*QUILL_PORT"),
    "docs-note-length": (("A note may hold 400,000 characters",), r"400,000 characters"),
    "docs-proxy": (("must allow upgrades on /live",), r"upgrades.*/live"),
    "docs-default-role": (("sso.default_role, which is reader",), r"\breader\b.*sso\.default_role"),
    "docs-restore": (("running database is renamed, not deleted",), r"quill restore.*(renamed|another name)"),
    "docs-campus-price": (("Campus 4 USD with at least 200 people",), r"4 USD.*1,400 USD"),
    "docs-large-export": (("larger than 2 GB are split",), r"split"),
    "docs-sqlite": (
        ("SQLite is for trials only and refuses more than five accounts",),
        r"(?i)^no.*five.*PostgreSQL 14",
    ),
    "docs-backup-hour": (("Change the hour with backup.schedule",), r"02:30.*backup\.schedule"),
    "docs-background-sync": (("once an hour in the background",), r"once an hour.*45 seconds"),
    "docs-callback-and-admin-key": (
        ("/auth/sso/return on your own host", "only owners can create admin keys"),
        r"/auth/sso/return.*\bowner",
    ),
    "docs-lost-key": (("A key is shown once",), r"shown (only )?once.*Settings, Developers"),
    "docs-export-link": (("link stays valid for 72 hours",), r"72 hours.*(again|new link)"),
    "docs-seats-removed": (("seats removed take effect at renewal",), r"at renewal.*(not before|July)"),
    "docs-notebook-and-hardware": (
        ("holds up to 20,000 notes", "2 CPU cores and 1.5 GB of memory"),
        r"20,000.*2 CPU cores and 1\.5 GB",
    ),
}


def built(note: str) -> list[Any]:
    """The runs whose note is `note`, as parameters of a test."""
    found = [pytest.param(run, id=run.id) for run in SET.trajectories if NOTES[run.id] == note]
    assert found, note
    return found


def calls(run: Trajectory) -> list[ToolCall]:
    return [step for step in run.steps if step.kind == "tool_call"]


def results(run: Trajectory) -> list[ToolResult]:
    return [step for step in run.steps if step.kind == "tool_result"]


def pages(result: ToolResult) -> list[str]:
    return [page["id"] for page in result.structured or []]


def likeness(run: Trajectory) -> Iterator[float]:
    """Shared words over all words, for each pair of queries."""
    queries = [set(re.findall(r"\w+", call.arguments["query"].lower())) for call in calls(run)]
    for a, b in combinations(queries, 2):
        yield len(a & b) / len(a | b)


def found_text(run: Trajectory) -> str:
    return " ".join(page["text"] for result in results(run) for page in result.structured or [])


def rests_on_what_was_found(run: Trajectory) -> bool:
    facts, says = FACTS[run.group or ""]
    return all(fact in found_text(run) for fact in facts) and bool(re.search(says, run.final or ""))


SOUND = [note for note in sorted(set(NOTES.values())) if note.startswith("no fault") or note == "fault: wandering"]


@pytest.mark.parametrize("note", SOUND)
def test_passing_runs_answer_rightly_from_what_they_found(note: str) -> None:
    for parameter in built(note):
        assert rests_on_what_was_found(parameter.values[0]), parameter.id


@pytest.mark.parametrize("run", built("no fault; built as clean"))
def test_clean_runs_search_once(run: Trajectory) -> None:
    assert len(calls(run)) == 1


@pytest.mark.parametrize("run", built("no fault; built as two_search_but_sensible"))
def test_sensible_runs_need_both_searches(run: Trajectory) -> None:
    first, second = results(run)
    assert pages(first)[0] != pages(second)[0]
    assert max(likeness(run)) < 0.5
    for only in (first, second):  # neither result alone holds both facts
        text = " ".join(page["text"] for page in only.structured)
        assert not all(fact in text for fact in FACTS[run.group or ""][0])


@pytest.mark.parametrize("run", built("no fault; built as recovered"))
def test_recovered_runs_change_the_query_after_a_failure(run: Trajectory) -> None:
    first, second = results(run)[:2]
    assert first.status != "ok" or first.structured == []
    assert calls(run)[0].arguments != calls(run)[1].arguments
    assert second.status == "ok"
    assert second.structured


@pytest.mark.parametrize("run", built("fault: wandering"))
def test_wandering_runs_search_beside_the_point_first(run: Trajectory) -> None:
    facts = FACTS[run.group or ""][0]
    first = " ".join(page["text"] for page in results(run)[0].structured)
    assert first
    assert facts[0] not in first
    assert len(calls(run)) == len(facts) + 1


@pytest.mark.parametrize("run", built("fault: wasteful_repeat"))
def test_wasteful_runs_repeat_a_search_that_had_found_it(run: Trajectory) -> None:
    facts = FACTS[run.group or ""][0]
    repeated = results(run)[len(facts) - 1 :]  # the searches for other parts come first
    assert len(repeated) == 3
    assert all(facts[0] in " ".join(page["text"] for page in result.structured) for result in repeated)
    again = calls(run)[len(facts) - 1 :]
    asked = [set(re.findall(r"\w+", call.arguments["query"].lower())) for call in again]
    for place in (1, 2):  # each repeat hardly differs from an earlier one
        assert max(len(asked[place] & old) / len(asked[place] | old) for old in asked[:place]) >= 0.5
    assert len({call.arguments["query"] for call in calls(run)}) == len(calls(run))
    assert rests_on_what_was_found(run)


@pytest.mark.parametrize("run", built("fault: wasteful_reworded"))
def test_reworded_runs_ask_the_same_in_other_words(run: Trajectory) -> None:
    facts = FACTS[run.group or ""][0]
    assert all(facts[0] in " ".join(page["text"] for page in result.structured) for result in results(run))
    assert len(calls(run)) == 3
    assert max(likeness(run)) < 0.5


@pytest.mark.parametrize("run", built("fault: half_searched"))
def test_half_searched_runs_never_saw_one_of_the_facts(run: Trajectory) -> None:
    facts = FACTS[run.group or ""][0]
    assert len(facts) == 2
    assert len(calls(run)) == 1
    assert [fact in found_text(run) for fact in facts] == [True, False]
    assert not rests_on_what_was_found(run)


@pytest.mark.parametrize("run", built("fault: gave_up"))
def test_runs_that_gave_up_use_no_tool_and_answer_all_the_same(run: Trajectory) -> None:
    assert calls(run) == []
    assert len(run.final or "") > 40


@pytest.mark.parametrize("run", built("fault: stalled"))
def test_stalled_runs_repeat_a_failing_search_unchanged(run: Trajectory) -> None:
    assert len(calls(run)) >= 3
    assert all(a.arguments == b.arguments for a, b in pairwise(calls(run)))
    assert all(result.status == "error" or result.structured == [] for result in results(run))


CONTRADICTED = {
    "docs-sync-conflict-5": ("the earlier one is kept as a conflict copy", "the earlier edit is overwritten"),
    "docs-export-comments-4": ("not part of an export, except in HTML", "PDF, which includes comments"),
    "docs-large-export-3": ("larger than 2 GB are split", "split only above 10 GB"),
    "docs-export-link-4": ("link stays valid for 72 hours", "link stays valid for seven days"),
}


@pytest.mark.parametrize("run", built("fault: ungrounded"))
def test_ungrounded_runs_say_what_the_page_found_denies(run: Trajectory) -> None:
    page, answer = CONTRADICTED[run.id]
    assert page in found_text(run)
    assert answer in (run.final or "")


def test_every_note_has_a_rule_here() -> None:
    known = {"wandering", "wasteful_repeat", "wasteful_reworded", "half_searched", "gave_up", "stalled", "ungrounded"}
    assert {note.removeprefix("fault: ") for note in NOTES.values() if note.startswith("fault: ")} == known
    assert len(SOUND) == 4
