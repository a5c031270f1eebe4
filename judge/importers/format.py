"""A built-in format: a name, a claim on a file, and the shared way from records to trajectories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from judge.importers.assembly import Runs
from judge.importers.dialects.classify import Claim, tally
from judge.importers.mapping import Vocabulary
from judge.protocols import Candidate, Head
from judge.types.trajectory import Trajectory


class Format:
    """The Importer of one built-in format.

    Attributes:
        versions: Versions whose files were seen, in words.
        reads: What is read, in words.
        unknowable: What cannot be known from the format, e.g. "whether a call failed".
    """

    def __init__(
        self, name: str, title: str, *, versions: str = "", reads: str = "", unknowable: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self.title = title
        self.versions = versions
        self.reads = reads
        self.unknowable = unknowable

    def sniff(self, head: Head, words: Vocabulary | None = None) -> Candidate | None:
        """This format's claim on a file, or None. With a mapping, its names count too."""
        words = words or Vocabulary()
        records = head.records if head.whole is None else (head.whole,)
        return self.claim(tally(records, words.names, words.run))

    def claim(self, found: Mapping[str, Claim]) -> Candidate | None:
        """This format's part in the claims of all formats on a file."""
        claim = found.get(self.name)
        return None if claim is None else Candidate(format=self.name, score=claim.score, evidence=claim.evidence)

    def read(
        self,
        records: Iterable[tuple[str, Any]],
        *,
        path: Path | None,
        mapping: Mapping[str, Any] | None,
        passed_over: Callable[[str], None] | None = None,
    ) -> Iterator[Trajectory]:
        """Trajectories as they come; see `judge.importers.assembly`."""
        return Runs(self.name, path, mapping, passed_over).read(records)
