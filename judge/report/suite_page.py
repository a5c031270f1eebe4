"""Two results of a suite compared, as one self-contained page: no script, no address."""

from __future__ import annotations

from judge.report.html import page_template
from judge.report.suite import CHANGE_ORDER, share
from judge.types.suite import SuiteDiff

WORDS = {
    "broken": "passed in every attempt of the base and in none of the candidate",
    "fixed": "the reverse",
    "flaky": "passes only sometimes on one side: the difference may be chance",
    "unmeasured": "one side has no measured attempt",
    "unchanged": "the same on both sides",
}


def diff_page(diff: SuiteDiff) -> str:
    """The comparison as HTML, what got worse first. Every text from a suite or a trace is escaped."""
    order = {change: place for place, change in enumerate(CHANGE_ORDER)}
    return page_template("diff").render(
        diff=diff,
        cases=sorted(diff.cases, key=lambda case: (not case.critical, order[case.change])),
        changes=CHANGE_ORDER,
        words=WORDS,
        share=share,
    )
