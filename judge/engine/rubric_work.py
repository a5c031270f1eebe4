"""Work on a rubric: where judge and people disagree on dev runs, which clause that turns on, and whether an edit helps.

The test split is not judged here unless it is asked for, and each such look is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from judge.calibration.sets import load_set
from judge.config import Settings
from judge.engine.calibrating import set_criterion
from judge.engine.comparing import Compared, compare_set
from judge.engine.facade import budget_of, rubric_of
from judge.engine.rubric_edit import Proposal, propose
from judge.errors import UsageError
from judge.prompt.rubric_edit import Disagreement, clauses
from judge.store.certificates import count_use
from judge.types.comparison import Comparison
from judge.types.label import Split
from judge.types.record import Record, fingerprint
from judge.types.rubric import Criterion

WORD = re.compile(r"[a-z]{4,}")


class DisagreementGroup(Record):
    """Dev runs on which people gave one value and the judge another.

    Attributes:
        said: The judge's value; None where it gave none.
        clauses: Clauses of the criterion that share most words with the judge's reasons, with how many runs each
            touches: where to look first, no proof of a cause.
        reasons: Run to the judge's reason.
    """

    omit_none: ClassVar[bool] = False

    people: float
    said: float | None
    runs: tuple[str, ...]
    clauses: dict[str, int]
    reasons: dict[str, str]


class RubricWork(Record):
    """Attributes:
    groups: Disagreements of the present rubric, the largest group first.
    edited: Present and edited rubric side by side; None without an edit.
    proposal: What a model proposed, where one was asked; `edited` measures it. It is never taken by itself.
    split: Runs that were measured on. `looks`: how often the test split was used for this set, with this one; None on
        dev.
    """

    omit_none: ClassVar[bool] = False

    rubric: str
    split: str
    groups: tuple[DisagreementGroup, ...]
    agreed: int
    edited: Comparison | None = None
    proposal: Proposal | None = None
    looks: int | None = None


def work_on_rubric(
    set_name: str | Path,
    rubric: str | Path | None,
    *,
    settings: Settings,
    now: datetime,
    edit: str | Path | None = None,
    criterion: str | None = None,
    ask: str | None = None,
    out: Path | None = None,
    final: bool = False,
    progress: Callable[[int], None] | None = None,
) -> RubricWork:
    """Judges dev runs under the rubric, groups what people disagree with, and measures an edit on the same runs.

    Args:
        rubric: None for the one that the set's criterion names.
        edit: A changed rubric, with a version of its own.
        ask: Model that is asked for an edit, from the disagreements on dev runs; `out` is the file to write it to.
        final: Measure on the test split instead; counted beside the certificates.

    Raises:
        TooFewLabels: The split has no labels.
        UsageError: An edit is asked for and given too, or would be made from the test split.
        ProviderError: The asked model cannot be reached.
    """
    if ask is not None and (final or edit is not None):
        raise UsageError(
            "An edit is proposed from dev runs alone." if final else "An edit is given already.",
            hint="Ask first, read the proposal, then measure it with --edit FILE, and with --final when done.",
        )
    asked = set_criterion(load_set(set_name), criterion)
    used = rubric_of(rubric if rubric is not None else asked.rubric, settings)
    split: Split = "test" if final else "dev"
    rubrics = [rubric if rubric is not None else asked.rubric, *([edit] if edit is not None else [])]
    judge = settings.default_judge
    # a comparison wants two judges: without an edit the rules stand beside, at no cost
    judges = (
        [judge] if edit is not None else [judge, "rules/process" if judge != "rules/process" else "fake/always-pass"]
    )
    budget = budget_of(settings)
    found = compare_set(
        set_name,
        judges,
        settings=settings,
        rubrics=rubrics,
        criterion=asked.id,
        split=split,
        progress=progress,
        budget=budget,
    )
    asked_of = next(c for c in used.criteria if c.id == (asked.judged_by or asked.id))
    present = found.runs.judges[0]
    groups, agreed = _groups(found, present, asked_of)
    edited = found.comparison if edit is not None else None
    proposal = None
    if ask is not None and groups:
        present_rubric = rubrics[0]
        proposal = propose(
            present_rubric,
            used,
            asked_of,
            [
                Disagreement(people=group.people, judge=group.said, reason=group.reasons.get(run, ""))
                for group in groups
                for run in group.runs
            ],
            asked=ask,
            settings=settings,
            out=out,
            runs=found.runs.items,
            budget=budget,
        )
        if proposal.path is not None and proposal.sound:
            both = [present_rubric, proposal.path]
            edited = compare_set(
                set_name,
                [judge],
                settings=settings,
                rubrics=both,
                criterion=asked.id,
                split=split,
                progress=progress,
                budget=budget,
            ).comparison
    looks = None
    if final:
        look = fingerprint([rubric_of(each, settings).fingerprint for each in rubrics])
        looks = count_use(f"rubric:{Path(set_name).name}", look, now.isoformat(), settings.certificates)
    return RubricWork(
        rubric=used.id,
        split=split,
        groups=groups,
        agreed=agreed,
        edited=edited,
        proposal=proposal,
        looks=looks,
    )


def clauses_of(criterion: Criterion) -> tuple[str, ...]:
    """What the criterion says a judge should hold to: its clauses and the anchors of its levels."""
    return tuple(text for place, text in clauses(criterion).items() if place != "question")


def _groups(found: Compared, judge: str, criterion: Criterion) -> tuple[tuple[DisagreementGroup, ...], int]:
    runs = found.runs
    values = runs.values[runs.place(judge)]
    clauses = clauses_of(criterion)
    grouped: dict[tuple[float, float | None], list[str]] = {}
    for item, label, value in zip(runs.items, runs.labels.tolist(), values.tolist(), strict=True):
        said = None if value != value else value
        if said != label:
            grouped.setdefault((label, said), []).append(item)
    reasons = found.reasons.get(judge, {})
    groups = [
        DisagreementGroup(
            people=people,
            said=said,
            runs=tuple(items),
            clauses=dict(
                Counter(c for item in items if (c := _nearest(reasons.get(item, ""), clauses))).most_common(3)
            ),
            reasons={item: reasons.get(item, "") for item in items},
        )
        for (people, said), items in grouped.items()
    ]
    groups.sort(key=lambda group: (-len(group.runs), group.people))
    return tuple(groups), len(runs.items) - sum(len(group.runs) for group in groups)


def _nearest(reason: str, clauses: tuple[str, ...]) -> str | None:
    """The clause that shares most words of four letters and more with a reason; None where none shares two."""
    words = set(WORD.findall(reason.lower()))
    best = max(clauses, key=lambda clause: len(words & set(WORD.findall(clause.lower()))), default=None)
    return best if best is not None and len(words & set(WORD.findall(best.lower()))) >= 2 else None
