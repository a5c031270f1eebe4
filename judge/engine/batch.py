"""Judge many trajectories into a run folder: resumable, under a budget, by any engine."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from judge.config import Settings
from judge.engine.batch_engine import DETACHING, BatchEngine, BatchJob, batch_engine
from judge.engine.bench import Bench, make_bench
from judge.engine.connection import JudgeLike, Opened, OpenJury
from judge.engine.control import Control
from judge.engine.escalating import escalating
from judge.engine.facade import open_judge, rubric_of, settings_of
from judge.engine.guarantee import with_guarantee
from judge.engine.intake import as_reference
from judge.engine.loop import PRIVATE
from judge.engine.observed import observed
from judge.engine.provider_batch import ProviderBatchEngine
from judge.engine.run import Progress, References
from judge.engine.setup import Setup
from judge.errors import JudgeError, UsageError
from judge.importers import load
from judge.store.batch_ledger import check_nothing_at_provider
from judge.store.index import Spend
from judge.store.jsonl import write_verdicts
from judge.store.manifest import MANIFEST, InputFile, Manifest, input_file, read_manifest, versions
from judge.store.run_folder import PEOPLE, RunFolder
from judge.types.escalation import PERSON
from judge.types.record import Record, fingerprint
from judge.types.reference import Reference
from judge.types.rubric import Rubric
from judge.types.stop_rule import StopRule
from judge.types.trajectory import Diagnostic, Trajectory
from judge.types.verdict import Verdict
from judge.voting import Summary, VerdictSums
from judge.voting.exact import exact

LOG = logging.getLogger("judge.batch")


class BatchResult(Record):
    """What a session of a batch came to.

    Attributes:
        folder: Of the run.
        summary: Of the newest valid verdict of every trajectory that has one, earlier sessions included.
        items: Trajectories of the input; `judged` in this session, `kept` from earlier ones, `pending` still
            without a verdict or with an error.
        spend: Of all verdicts ever written to the folder.
        usd_per_verdict: Mean cost of the verdicts that calls were made for; None where one is not known, or no call
            was made. `usd_per_criterion` is that over the rubric's criteria, which share one call.
        stopped: Why the session ended early: "interrupt", "deadline", or the kind of an error such as
            "budget_reached"; None when it came to its end.
        seconds: Of this session.
    """

    omit_none: ClassVar[bool] = False

    folder: str
    rubric: str
    judge: str
    summary: Summary
    items: int
    judged: int
    kept: int
    pending: int
    spend: Spend
    usd_per_verdict: float | None
    usd_per_criterion: float | None
    stopped: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The result of a session, and the error that ended it early (a budget, the provider, the disk) or None."""

    result: BatchResult
    error: JudgeError | None


def judge_batch(
    inputs: Sequence[str | Path],
    rubric: str | Path | Rubric | None = None,
    *,
    out: str | Path,
    judge: JudgeLike | None = None,
    reference: Any = None,
    policy: str | None = None,
    require_trust: bool = False,
    resume: bool = False,
    new_input: bool = False,
    count_earlier: bool = False,
    engine: str = "local",
    address: str | None = None,
    format: str | None = None,
    mapping: Mapping[str, Any] | None = None,
    limit: int | None = None,
    settings: Settings | None = None,
    control: Control | None = None,
    progress: Callable[[Progress], None] | None = None,
    detach: bool = False,
    notice: Callable[[str], None] | None = None,
    **options: Any,
) -> BatchOutcome:
    """Judges every trajectory of the inputs into the run folder `out`; what is done is never paid for again.

    Every verdict is on disk before it counts as done. With `resume`, trajectories whose newest verdict is an error, or
    was given on other content, are judged again, and those never judged; the rest is kept.

    Args:
        inputs: Trace files; they are read twice, so standard input is none.
        out: Folder of the run; it must be new unless `resume` is given.
        new_input: With `resume`, take an input that has changed since.
        count_earlier: Count the cost of earlier sessions of this folder towards `max_usd`.
        engine: "local", or the name of another engine.
        address: Of the cluster that the engine is to use; None for one of its own.
        control: Lets the caller end the run early.
        detach: Leave the work where it goes on without this process, and return; with the engine "provider-batch".
        notice: Takes what a person should read at once, such as the id of a batch at a provider.

    Raises:
        UsageError: An input, the rubric, the judge or a setting is wrong; the folder cannot be used; ids stand
            twice; the input has changed.
        FingerprintMismatch: The folder's rubric, judge, policy or references were others.
        TrustRequired: Trust was required and is not there.
    """
    if detach and engine not in DETACHING:
        raise UsageError(
            f"The engine {engine!r} judges in this process, which cannot leave its work.",
            hint="Give --engine provider-batch, or leave out --detach.",
        )
    chosen = settings_of(settings, options)
    run = _Session(
        inputs=[Path(path) if str(path) != "-" else path for path in inputs],
        folder=Path(out),
        rubric=rubric_of(rubric, chosen),
        settings=chosen,
        references=as_reference(reference),
        policy=policy,
        reading={"format": format, "mapping": mapping, "limit": limit},
        control=control or Control(),
        progress=progress,
        detach=detach,
        notice=notice or LOG.info,
    )
    return PRIVATE.run(
        run.judge(
            judge,
            engine=batch_engine(engine, address=address),
            resume=resume,
            new_input=new_input,
            count_earlier=count_earlier,
            require_trust=require_trust,
        )
    )


class _Session:
    """One session of a run. Use once."""

    def __init__(
        self,
        *,
        inputs: Sequence[str | Path],
        folder: Path,
        rubric: Rubric,
        settings: Settings,
        references: References,
        policy: str | None,
        reading: dict[str, Any],
        control: Control,
        progress: Callable[[Progress], None] | None,
        detach: bool,
        notice: Callable[[str], None],
    ) -> None:
        self._inputs = inputs
        self._path = folder
        self._rubric = rubric
        self._settings = settings
        self._references = references
        self._policy = policy
        self._reading = reading
        self._control = control
        self._progress = progress
        self._detach = detach
        self._notice = notice

    async def judge(
        self,
        judge: JudgeLike | None,
        *,
        engine: BatchEngine,
        resume: bool,
        new_input: bool,
        count_earlier: bool,
        require_trust: bool,
    ) -> BatchOutcome:
        begun = time.monotonic()
        async with open_judge(judge, self._settings) as opened:
            bench = make_bench(opened, self._rubric, self._settings, policy=self._policy)
            setup = bench.setup
            if require_trust:
                setup.standing.require()
            await self._check_escalation(bench, engine, require_trust=require_trust)
            manifest = self._manifest(setup, resume=resume)
            if resume and not (self._path / MANIFEST).is_file():
                self._notice(f"There is no run in {str(self._path)!r} to go on with: a new one begins.")
            async with engine.ready(opened, self._settings):
                with RunFolder.start(self._path, manifest, resume=resume, new_input=new_input) as folder:
                    if not isinstance(engine, ProviderBatchEngine):
                        check_nothing_at_provider(self._path)
                    unread: Counter[str] = Counter()
                    if folder.scan(self._trajectories(lambda line: unread.update([line.code]))):
                        folder.unread(unread.total())
                    return await self._run(folder, engine, opened, setup, count_earlier=count_earlier, begun=begun)

    async def _check_escalation(self, bench: Bench, engine: BatchEngine, *, require_trust: bool) -> None:
        """Refuses now what would fail later, and writes into the rules what their guarantee shows."""
        rules = self._settings.escalate
        if not rules.to:
            return
        if isinstance(engine, ProviderBatchEngine):
            raise UsageError(
                f"Verdicts are to be sent on to {', '.join(rules.to)}, and the engine provider-batch asks one judge.",
                hint="Take another engine, or leave out --escalate-to and [escalate] in judge.toml.",
            )
        async with escalating(
            bench, rules, self._rubric, self._settings, policy=self._policy, require_trust=require_trust
        ):
            self._settings = self._settings.model_copy(update={"escalate": with_guarantee(rules, bench.setup)})

    async def _run(
        self,
        folder: RunFolder,
        engine: BatchEngine,
        opened: Opened,
        setup: Setup,
        *,
        count_earlier: bool,
        begun: float,
    ) -> BatchOutcome:
        pending = folder.n_pending()
        counts = folder.counts()
        kept = counts.items - pending
        if counts.unread_lines:
            self._notice(
                f"Lines of the input that hold nothing of a trajectory, and are in no count: {counts.unread_lines} "
                "(`judge convert IN --json` shows the first)."
            )
        totals = _Totals(folder, self._settings.stop if self._settings.samples is None else None)
        error: JudgeError | None = None
        if pending:
            job = BatchJob(
                judge=opened.jury if isinstance(opened, OpenJury) else opened.name,
                rubric=self._rubric,
                settings=self._settings,
                policy=self._policy,
                references=self._references,
                connection=observed(opened, self._settings),
                setup=setup,
                folder=self._path,
                spent=counted_usd(folder.spend()) if count_earlier else 0.0,
                pending=pending,
                inputs=tuple(map(str, self._inputs)),
                reading=self._reading,
                detach=self._detach,
                notice=self._notice,
            )
            if not isinstance(engine, ProviderBatchEngine):  # which knows of its batches more than verdicts tell
                self._tell_earlier(folder.spend(), setup.max_usd, counted=count_earlier)
            LOG.info("batch begins", extra={"facts": {"folder": str(self._path), "pending": pending, "kept": kept}})
            try:
                await engine.run(
                    job,
                    _Pending(lambda: folder.pending(self._trajectories())),
                    control=self._control,
                    done=totals.keep,
                    progress=self._progress,
                )
            except JudgeError as cause:
                error = cause
        lost = engine.cache_failures(opened) if pending else 0
        if pending and set(self._settings.escalate.to) - {PERSON}:
            lost = None  # the second judge has a cache of its own, and nobody counts there
        result = self._result(folder, totals, kept=kept, error=error, lost=lost, seconds=time.monotonic() - begun)
        facts = {"folder": result.folder, "judged": result.judged, "pending": result.pending, "stopped": result.stopped}
        LOG.info("batch ends", extra={"facts": facts})
        return BatchOutcome(result, error)

    def _tell_earlier(self, spend: Spend, cap: float | None, *, counted: bool) -> None:
        """Says whether the cap counts what earlier sessions cost, where there is a cap and they cost something."""
        if cap is None or not (spend.known_usd or spend.unpriced):
            return
        cost = f"${spend.known_usd:.4f}"
        counts = "they count towards it"
        if spend.unpriced:
            cost = f"at least {cost} (verdicts of unknown cost: {spend.unpriced})"
            counts = f"they count towards it with ${counted_usd(spend):.4f}, the most that they may have cost"
        if spend.uncounted:
            counts = f"${counted_usd(spend):.4f} counts towards it, and {spend.uncounted} of these verdicts cannot"
        if not counted:
            counts = "it is for this session alone (--count-earlier)"
        self._notice(f"max_usd = {cap}; earlier sessions of this run cost {cost}: {counts}.")

    def _result(
        self,
        folder: RunFolder,
        totals: _Totals,
        *,
        kept: int,
        error: JudgeError | None,
        lost: int | None,
        seconds: float,
    ) -> BatchResult:
        counts = folder.counts()
        summary, each = totals.of(self._settings.min_coverage)
        stopped = error.kind if error is not None else self._control.reason if counts.pending else None
        result = BatchResult(
            folder=str(self._path),
            rubric=self._rubric.id,
            judge=folder.manifest.judge,
            summary=summary.model_copy(update={"cache_failures": lost}),
            items=counts.items,
            judged=totals.judged,
            kept=kept,
            pending=counts.pending,
            spend=folder.spend(),
            usd_per_verdict=each,
            usd_per_criterion=None if each is None else each / len(self._rubric.criteria),
            stopped=stopped,
            seconds=seconds,
        )
        rules = self._settings.escalate
        if totals.judged and PERSON in rules.to:
            waiting = (v for v in folder.verdicts() if v.escalation is not None and v.escalation.to == PERSON)
            write_verdicts(rules.queue or self._path / PEOPLE, waiting)
        if totals.judged or folder.saved_summary() is None:
            with contextlib.suppress(UsageError):  # a full disk: the verdicts are there, and the summary is derived
                folder.save_summary({"min_coverage": self._settings.min_coverage, "result": result.to_json()})
        return result

    def _trajectories(self, unread: Callable[[Diagnostic], None] | None = None) -> Iterator[Trajectory]:
        left = self._reading["limit"]
        for path in self._inputs:
            if left is not None and left <= 0:
                return
            how = {name: self._reading[name] for name in ("format", "mapping")}
            found = load(path, **how, unique=False, unread=unread)
            for trajectory in found if left is None else islice(found, left):
                yield trajectory
                if left is not None:
                    left -= 1

    def _manifest(self, setup: Setup, *, resume: bool) -> Manifest:
        if not self._inputs:
            raise UsageError("A batch needs at least one file of trajectories, and none was given.")
        prints = dict(setup.fingerprints)
        rules = self._settings.escalate
        if rules.to:
            prints["escalation"] = rules.model_copy(update={"queue": None}).fingerprint
        if self._references is not None:
            prints["reference"] = _reference_print(self._references)
        known: tuple[InputFile, ...] = ()
        if resume and (self._path / MANIFEST).is_file():
            known = read_manifest(self._path).inputs
        mapping = self._reading["mapping"]
        return Manifest(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            rubric=self._rubric.id,
            judge=setup.spec.name,
            fingerprints=prints,
            spec=setup.spec,
            inputs=tuple(input_file(path, known=known) for path in self._inputs),
            reading={**self._reading, "mapping": None if mapping is None else fingerprint(dict(mapping))},
            settings=self._settings.model_dump(mode="json", exclude={"keys"}),
            versions=versions(),
        )


@dataclass(frozen=True, slots=True)
class _Pending:
    """The trajectories without a verdict; read anew each time they are gone over."""

    read: Callable[[], Iterator[Trajectory]]

    def __iter__(self) -> Iterator[Trajectory]:
        return self.read()


def counted_usd(spend: Spend) -> float:
    """What a cap that counts earlier sessions takes them for: what is known, and the most of what is not."""
    return spend.known_usd + spend.untold_usd


class _Totals:
    """Sums over the verdicts that count: as they come where no earlier session left any, else read at the end."""

    def __init__(self, folder: RunFolder, stop: StopRule | None) -> None:
        self.judged = 0
        self._folder = folder
        self._fresh = not folder.resumed
        self._stop = stop
        self._sums = _Sums(stop)

    def keep(self, verdict: Verdict) -> None:
        """Writes a verdict, and counts it once it is written."""
        self._folder.append(verdict)
        self.judged += 1
        if self._fresh:
            self._sums.add(verdict)

    def of(self, min_coverage: float) -> tuple[Summary, float | None]:
        """The summary, and the mean cost of a verdict."""
        unjudged = self._folder.counts().unjudged
        if not self.judged:
            saved = self._folder.saved_summary()
            if saved is not None and saved.get("min_coverage") == min_coverage:
                result = BatchResult.from_json(saved["result"])
                if result.summary.unjudged == unjudged:
                    return result.summary, result.usd_per_verdict
        sums = self._sums
        if not self._fresh or self._folder.counts().replaced:
            sums = _Sums(self._stop)
            for verdict in self._folder.verdicts():
                sums.add(verdict)
        return sums.verdicts.summary(min_coverage=min_coverage, unjudged=unjudged), sums.usd_per_verdict()


def summary_of(folder: RunFolder) -> Summary:
    """The summary of a run: what its last session saved, unless verdicts have come since; else from every verdict."""
    settings = folder.manifest.settings
    stop = settings.get("stop") if settings.get("samples") is None else None
    totals = _Totals(folder, StopRule.from_json(stop) if stop else None)
    return totals.of(settings.get("min_coverage") or 0.0)[0]


class _Sums:
    def __init__(self, stop: StopRule | None) -> None:
        self.verdicts = VerdictSums(stop)
        self._paid = 0
        self._usd: Fraction | None = Fraction(0)

    def add(self, verdict: Verdict) -> None:
        self.verdicts.add(verdict)
        if verdict.calls:
            self._paid += 1
            if self._usd is not None:
                self._usd = None if verdict.cost_usd is None else self._usd + exact(verdict.cost_usd)

    def usd_per_verdict(self) -> float | None:
        return float(self._usd / self._paid) if self._paid and self._usd is not None else None


def _reference_print(references: Reference | Mapping[str, Reference]) -> str:
    if isinstance(references, Reference):
        return references.fingerprint
    return fingerprint({name: reference.fingerprint for name, reference in references.items()})
