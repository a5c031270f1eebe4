"""Files converted to native JSON Lines, and what was in them: the work of `judge convert`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from judge.importers.export import Target, write_jsonl
from judge.importers.load import open_trace
from judge.protocols import Candidate
from judge.types.record import Record
from judge.types.trajectory import Severity, Trajectory


class DiagnosticCount(Record):
    """How often one diagnostic was met in a file.

    Attributes:
        example: The message of the first.
    """

    code: str
    severity: Severity
    count: int
    example: str


class FileSummary(Record):
    """What was in one file.

    Attributes:
        format: The format that the file was read in.
        steps: Kind to number of steps.
        candidates: Every claim on the file, where asked for.
        agents: Names of the agents, where asked for.
        tokens: Sums over what the file states: of the whole runs, else of their steps; None where it states none.
    """

    omit_none: ClassVar[bool] = False

    path: str
    format: str
    trajectories: int
    steps: dict[str, int]
    diagnostics: tuple[DiagnosticCount, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    agents: tuple[str, ...] = ()
    tokens: dict[str, int | None] = {}

    @property
    def warnings(self) -> int:
        """Number of diagnostics that are more than information."""
        return sum(entry.count for entry in self.diagnostics if entry.severity != "info")

    def text(self, *, explain: bool = False) -> str:
        """The summary in words; with `explain` each claim and each diagnostic on a line of its own."""
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(self.steps.items())) or "no steps"
        runs = f"{self.trajectories} {'trajectory' if self.trajectories == 1 else 'trajectories'}"
        warned = f"{self.warnings} warning{'' if self.warnings == 1 else 's'}"
        lines = [f"{self.path}: {self.format}, {runs} ({kinds}); {warned}"]
        if explain:
            stated = ", ".join(f"{n} {name}" for name, n in self.tokens.items() if n is not None)
            lines.append(f"  tokens: {stated or 'not stated'}")
            lines.append(f"  agents: {', '.join(self.agents) or 'not named'}")
            lines += [f"  {claim.format} {claim.score}: {claim.evidence}" for claim in self.candidates]
            lines += [f"  {note.count} × {note.code} ({note.severity}): {note.example}" for note in self.diagnostics]
        return "\n".join(lines)


class _Counts:
    """Counts trajectories of one file as they pass."""

    def __init__(self, path: str, format: str, candidates: tuple[Candidate, ...] = ()) -> None:
        self._path = path
        self._format = format
        self._candidates = candidates
        self._number = 0
        self._steps: Counter[str] = Counter()
        self._notes: dict[tuple[str, Severity], list[Any]] = {}
        self._agents: dict[str, None] = {}
        self._tokens: dict[str, int | None] = {"input": None, "output": None}

    def passing(self, trajectories: Iterable[Trajectory]) -> Iterator[Trajectory]:
        for trajectory in trajectories:
            self._number += 1
            self._steps.update(step.kind for step in trajectory.steps)
            self._agents.update(dict.fromkeys(agent.name for agent in trajectory.agents))
            self._add_tokens(trajectory)
            for note in trajectory.diagnostics:
                entry = self._notes.setdefault((note.code, note.severity), [0, note.message])
                entry[0] += 1
            yield trajectory

    def _add_tokens(self, trajectory: Trajectory) -> None:
        stated = [trajectory.usage] if trajectory.usage is not None else [step.usage for step in trajectory.steps]
        for name in self._tokens:
            counts = [getattr(usage, f"{name}_tokens") for usage in stated if usage is not None]
            for number in counts:
                if number is not None:
                    self._tokens[name] = (self._tokens[name] or 0) + number

    def summary(self) -> FileSummary:
        return FileSummary(
            path=self._path,
            format=self._format,
            trajectories=self._number,
            steps=dict(sorted(self._steps.items())),
            diagnostics=tuple(
                DiagnosticCount(code=code, severity=severity, count=count, example=example)
                for (code, severity), (count, example) in sorted(self._notes.items())
            ),
            candidates=self._candidates,
            agents=tuple(self._agents),
            tokens=self._tokens,
        )


def summary(path: str | Path, trajectories: Iterable[Trajectory], format: str) -> FileSummary:
    """What is in the trajectories of one file that was read in `format`."""
    counts = _Counts(str(path), format)
    for _ in counts.passing(trajectories):
        pass
    return counts.summary()


def convert_files(
    paths: Sequence[str | Path],
    *,
    out: str | Path | None = None,
    to: Target = "native",
    lost: Counter[str] | None = None,
    format: str | None = None,
    mapping: Mapping[str, Any] | None = None,
    limit: int | None = None,
    detail: bool = False,
) -> tuple[FileSummary, ...]:
    """Reads files in order, at most `limit` trajectories in all, and writes them to `out` where given.

    What the format `to` cannot hold is counted in `lost`.

    Raises:
        TraceError: A file cannot be read; `out` is then untouched.
    """
    counts: list[_Counts] = []

    def everything() -> Iterator[Trajectory]:
        left = limit
        for path in paths:
            opened = open_trace(path, format=format, mapping=mapping, limit=left)
            counts.append(_Counts(str(path), opened.format, opened.candidates if detail else ()))
            for trajectory in counts[-1].passing(opened.trajectories):
                left = None if left is None else left - 1
                yield trajectory
            if left is not None and left <= 0:
                return

    if out is None:
        for _ in everything():
            pass
    else:
        write_jsonl(everything(), out, to=to, lost=lost)
    return tuple(count.summary() for count in counts)
