"""Which format a file is in: every importer's claim, ranked; no guess where two are equally good."""

from __future__ import annotations

from pathlib import Path

from judge.errors import AmbiguousFormat, TraceError
from judge.importers.dialects.classify import MARGIN, contested, tally
from judge.importers.format import Format
from judge.importers.mapping import Vocabulary
from judge.importers.source import open_document
from judge.protocols import Candidate, Head, Importer
from judge.registry import find, names


def detect(path: str | Path) -> tuple[Candidate, ...]:
    """Claims on a file, best first, by its content alone; empty where no importer knows it.

    Raises:
        TraceError: The file cannot be read as JSON.
    """
    return rank(open_document(path).head, Vocabulary())


def rank(head: Head, words: Vocabulary) -> tuple[Candidate, ...]:
    """Claims on the first records of a file, best first."""
    claims: list[Candidate] = []
    records = head.records if head.whole is None else (head.whole,)
    found = tally(records, words.names, words.run)  # once for all formats of our own
    for name in names("importers"):
        importer: Importer = find("importers", name)
        claim = importer.claim(found) if isinstance(importer, Format) else importer.sniff(head)
        if claim is not None and claim.score > 0:
            claims.append(claim)
    return tuple(sorted(claims, key=lambda claim: -claim.score))


def choose(ranked: tuple[Candidate, ...], head: Head, words: Vocabulary, shown: str) -> str:
    """The one format to read a file in, of the ranked claims on it.

    Raises:
        AmbiguousFormat: The same record can be read in two formats equally well.
        TraceError: No importer knows anything in it.
    """
    if not ranked:
        raise unusable(head, shown)
    near = [claim for claim in ranked if claim.score >= ranked[0].score - MARGIN]
    if len(near) > 1:
        records = head.records if head.whole is None else (head.whole,)
        own = [claim.format for claim in near if isinstance(find("importers", claim.format), Format)]
        if len(own) < len(near) or contested(records, own, words.names, words.run):
            listed = "; ".join(f"{claim.format} ({claim.score}: {claim.evidence})" for claim in near)
            raise AmbiguousFormat(f"{shown}: several formats fit: {listed}.", hint="Choose one with --format.")
    return ranked[0].format


def unusable(head: Head, shown: str) -> TraceError:
    """An error for a file in which nothing is part of a run; it says what was found."""
    record = head.records[0] if head.records else head.whole
    if isinstance(record, dict):
        found = f"an object with the keys {', '.join(map(repr, list(record)[:8])) or '(none)'}"
    else:
        found = f"{'an empty list' if record == [] else 'a ' + type(record).__name__}"
    return TraceError(
        f"{shown}, {'line 1' if head.lines else 'top level'}: nothing in it is a trajectory; found {found}.",
        hint="Expected chat messages, an event log, a step list, a list of calls, ATIF or judge.trajectory/1. "
        "A mapping file can name other keys.",
    )
