"""Builds the runs of the docs agent: each kind of run is one function of a task."""

from __future__ import annotations

from collections.abc import Iterator

from judge.types import Trajectory
from set_builder.built import Built, Kind, agent_for
from set_builder.docs_tasks import TASKS, DocsTask
from set_builder.quillstone import PAGES, SEARCH, search
from set_builder.recorder import Recorder

AGENTS = ("docs-agent-a", "docs-agent-b", "docs-agent-c")

KINDS = {
    "clean": Kind(5, None, "One search, and an answer from the page that it found."),
    "two_search_but_sensible": Kind(5, None, "A question in two parts: two different searches, both needed."),
    "recovered": Kind(4, None, "A search fails or finds nothing; the agent changes the query and answers."),
    "wandering": Kind(4, "wandering", "One search beside the point before the right one. Counted as passed."),
    "wasteful_repeat": Kind(3, "wasteful_repeat", "Three searches that hardly differ, though the first found it."),
    "wasteful_reworded": Kind(3, "wasteful_reworded", "The same question in other words, though it was answered."),
    "half_searched": Kind(2, "half_searched", "Two parts, one search; the other half of the answer is made up."),
    "gave_up": Kind(1, "gave_up", "Answers without a search."),
    "ungrounded": Kind(2, "ungrounded", "Searches, and answers against what the page says."),
    "stalled": Kind(2, "stalled", "Sends the same failing search again and again, and then gives up."),
}

FIRST_IDS = ("docs-clean", "docs-wasteful", "docs-no-search")
EMPTY_HANDED = (
    "I could not find anything about this in the documentation.",
    "The documentation search gave me nothing on this, so I cannot say.",
    "Sorry, I have no answer: the search kept coming back without a page.",
)
OPENERS = ("Let me look that up.", "I will check the documentation.", "Checking the docs for this.", None, None)


def look(run: Recorder, query: str, say: str | None = None) -> None:
    """One search that works."""
    run.result(run.call(SEARCH.name, {"query": query}, say), search(query))


def _clean(run: Recorder, task: DocsTask, turn: int) -> Trajectory:
    # the first run of the set is bare: one call, one answer
    say = run.draw.one_of(OPENERS) if turn else None
    look(run, task.parts[0].queries[turn % 3], say)
    return run.final(task.answers[turn % 2])


def _two(run: Recorder, task: DocsTask, turn: int) -> Trajectory:
    parts = task.parts if turn % 2 == 0 else task.parts[::-1]
    look(run, parts[0].queries[turn % 3], run.draw.one_of(OPENERS))
    look(run, parts[1].queries[0], "Now the other part." if turn % 2 else None)
    return run.final(task.answers[turn % 2])


def _recovered(run: Recorder, task: DocsTask, turn: int) -> Trajectory:
    first = task.parts[0]
    if turn % 3 == 2:
        call = run.call(SEARCH.name, {"query": first.queries[1]})
        run.failure(call, "SearchTimeout", "search did not answer within 10 s", status="timeout")
        look(run, first.reworded[0], "The search timed out; I will try a shorter query.")
    else:
        run.result(run.call(SEARCH.name, {"query": first.dead}), search(first.dead))
        look(run, first.queries[turn % 3], run.draw.one_of(("Nothing under those words, trying others.", None)))
    for part in task.parts[1:]:
        look(run, part.queries[0])
    return run.final(task.answers[turn % 2])


def _wandering(run: Recorder, task: DocsTask, turn: int) -> Trajectory:
    look(run, task.parts[0].off[turn % 2], run.draw.one_of(OPENERS))
    for part in task.parts:
        look(run, part.queries[0])
    return run.final(task.answers[turn % 2])


def _wasteful(run: Recorder, task: DocsTask, turn: int) -> Trajectory:
    for part in task.parts[1:]:
        look(run, part.queries[0])
    for query in task.parts[0].queries:
        look(run, query, run.draw.one_of(("Let me search once more to be sure.", None)) if turn else None)
    return run.final(task.answers[0])


def _reworded(run: Recorder, task: DocsTask, turn: int) -> Trajectory:
    part = task.parts[0]
    for query in (part.queries[0], *part.reworded):
        look(run, query)
    return run.final(task.answers[1])


def _half(run: Recorder, task: DocsTask, turn: int) -> Trajectory:
    look(run, task.parts[0].queries[turn % 3], run.draw.one_of(OPENERS))
    return run.final(task.wrong)


def _gave_up(run: Recorder, task: DocsTask, turn: int) -> Trajectory:
    return run.final(task.guess)


def _ungrounded(run: Recorder, task: DocsTask, turn: int) -> Trajectory:
    look(run, task.parts[0].queries[turn % 3], run.draw.one_of(OPENERS))
    return run.final(task.wrong)


def _stalled(run: Recorder, task: DocsTask, turn: int) -> Trajectory:
    part = task.parts[0]
    timed_out = turn % 2 == 1
    query = part.queries[0] if timed_out else part.dead
    for attempt in range(3 + turn % 2):
        call = run.call(SEARCH.name, {"query": query}, attempt=attempt + 1)
        if timed_out:
            run.failure(call, "IndexUnavailable", "search index is being rebuilt, query rejected")
        else:
            run.result(call, search(query))
    return run.final(EMPTY_HANDED[turn % 3])


WAYS = {
    "clean": _clean,
    "two_search_but_sensible": _two,
    "recovered": _recovered,
    "wandering": _wandering,
    "wasteful_repeat": _wasteful,
    "wasteful_reworded": _reworded,
    "half_searched": _half,
    "gave_up": _gave_up,
    "ungrounded": _ungrounded,
    "stalled": _stalled,
}


def _check(task: DocsTask) -> None:
    """The words of a task do what they are for, by the search tool itself."""
    for part in task.parts:
        if part.fact not in PAGES[part.page][1]:
            raise ValueError(f"{task.group}: {part.fact!r} is not on page {part.page!r}")
        for query in (*part.queries, *part.reworded):
            found = [hit["id"] for hit in search(query)]
            if part.page not in found:
                raise ValueError(f"{task.group}: {query!r} does not find {part.page!r}")
            if any(other.page in found for other in task.parts if other is not part):
                raise ValueError(f"{task.group}: {query!r} finds the other part as well, {found!r}")
        if search(part.dead):
            raise ValueError(f"{task.group}: {part.dead!r} should find nothing, found {search(part.dead)[0]['id']!r}")
        for query in part.off:
            found = [hit["id"] for hit in search(query)]
            if not found or part.page in found:
                raise ValueError(f"{task.group}: {query!r} should find other pages, found {found!r}")


def runs() -> Iterator[Built]:
    """Every run of the set, in the order of the file."""
    turns: dict[str, int] = {}
    counts = {True: 0, False: 0}
    for task in TASKS:
        _check(task)
        for place, kind in enumerate(task.plan):
            turn = turns.get(kind, 0)
            turns[kind] = turn + 1
            first = task is TASKS[0] and place < len(FIRST_IDS)
            id = FIRST_IDS[place] if first else f"{task.group}-{place + 1}"
            passed = KINDS[kind].passed
            agent = agent_for(counts[passed], passed, AGENTS)
            counts[passed] += 1
            run = Recorder(id, task.group, task.question, (SEARCH,), agent)
            yield Built(WAYS[kind](run, task, turn), kind, task.split)
