"""Jobs under way: batches, calibrations, comparisons; in threads, resumed after a restart, cancelled on request."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge.engine.batch import judge_batch
from judge.engine.calibrating import calibrate_set
from judge.engine.certifying import Terms
from judge.engine.comparing import compare_set
from judge.engine.control import Control
from judge.engine.run import Progress
from judge.errors import JudgeError
from judge.report.compare_page import comparison_page
from judge.report.page import calibration_page
from judge.server.problems import displaced
from judge.server.service import Service
from judge.server.sets import labelled
from judge.store.jobs import Job, JobKind, new_id
from judge.types.calibration_set import RequiredClaim
from judge.types.trajectory import Trajectory

LOG = logging.getLogger("judge.server")
EVERY_S = 0.25
"""Least time between two records of a job's progress."""
CANCELLED, SHUTDOWN = "cancelled", "shutdown"


class Workers:
    """Runs the jobs of a service, some at a time."""

    def __init__(self, service: Service, *, at_once: int = 2) -> None:
        self._service = service
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="judge-job")
        self._lock = threading.Lock()
        self._controls: dict[str, Control] = {}

    def start(self) -> int:
        """Takes up what an earlier server left unfinished; returns how many jobs that are.

        A service that does not hold its data alone takes up nothing: another one may be at it.
        """
        if self._service.sole is None:
            return 0
        self._service.kept.release()
        left = self._service.jobs.unfinished()
        for job in left:
            self._submit(job)
        return len(left)

    def add_batch(self, owner: str, runs: Sequence[Trajectory], request: dict[str, Any], key: str | None = None) -> Job:
        """A new batch: its input is on disk before the job exists, so that a restart finds all of it."""
        self._refuse_when_displaced()
        name = new_id("batch")
        folder = self.folder(name)
        folder.mkdir(parents=True)
        text = "".join(json.dumps(run.to_json(), ensure_ascii=True) + "\n" for run in runs)
        (folder / "input.jsonl").write_text(text, encoding="utf-8")
        return self._submit(self._service.jobs.add("batch", owner, request | {"items": len(runs)}, id=name, key=key))

    def add_job(self, kind: JobKind, owner: str, request: dict[str, Any], key: str | None = None) -> Job:
        """A new calibration or comparison; `key` as of `Jobs.add`."""
        self._refuse_when_displaced()
        return self._submit(self._service.jobs.add(kind, owner, request, key=key))

    def cancel(self, id: str, kind: JobKind) -> Job:
        """Ends a job early; what a batch has judged is kept. An ended job stays as it is."""
        self._service.jobs.get(id, kind)
        with self._lock:
            control = self._controls.get(id)
        if control is not None:
            control.drain(CANCELLED)
        self._service.jobs.change(id, "cancelled")
        return self._service.jobs.get(id, kind)

    def folder(self, id: str) -> Path:
        """Where a batch keeps its input and its run."""
        return self._service.deployment.batches / id

    def hold(self) -> None:
        """Makes sure that the database is still held; where another server has it, jobs end here and none begins.

        They stay unfinished, and are the other server's to take up.

        Raises:
            SQLAlchemyError: The database does not answer, so nobody can tell.
        """
        service = self._service
        if service.sole is None or service.displaced or service.sole.keep():
            return
        service.displaced = True
        LOG.error("another server has taken the database; jobs end here", extra={"facts": {"displaced": True}})
        self._drain()

    def close(self) -> None:
        """Lets nothing new begin and waits for judge calls under way; unfinished jobs go on with the next start."""
        self._drain()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _refuse_when_displaced(self) -> None:
        if self._service.displaced:
            raise displaced()

    def _drain(self) -> None:
        with self._lock:
            for control in self._controls.values():
                control.drain(SHUTDOWN)

    def _submit(self, job: Job) -> Job:
        control = Control()
        with self._lock:
            self._controls[job.id] = control
        self._pool.submit(self._run, job, control)
        return job

    def _run(self, job: Job, control: Control) -> None:
        jobs = self._service.jobs
        try:
            if control.reason is not None or not jobs.change(job.id, "running"):
                return
            if job.kind == "batch":
                self._batch(job, control)
            elif job.kind == "calibration":
                self._calibrate(job, control)
            else:
                self._compare(job, control)
        except _Stopped:
            return  # cancelled, which stands in the job, or left for the next start
        except JudgeError as error:
            jobs.change(job.id, "failed", error={"kind": error.kind, "message": error.message, "hint": error.hint})
        except Exception as error:
            LOG.exception("a job broke")
            told = {"kind": "internal_error", "message": f"{type(error).__name__} inside the service; see its log."}
            jobs.change(job.id, "failed", error=told)
        finally:
            with self._lock:
                self._controls.pop(job.id, None)

    def _batch(self, job: Job, control: Control) -> None:
        service, asked = self._service, job.request
        folder = self.folder(job.id)
        told = _Told(service, job.id)
        outcome = judge_batch(
            [folder / "input.jsonl"],
            service.rubric(asked["rubric"]),
            out=folder / "run",
            judge=service.judge_name(asked["judge"]),
            reference=asked["reference"],
            policy=asked["policy"],
            require_trust=asked["require_trust"] or service.deployment.require_trust,
            resume=(folder / "run" / "manifest.json").is_file(),
            format="native",
            settings=service.deployment.settings,
            control=control,
            progress=told.progress,
            **{name: asked[name] for name in ("samples", "vote", "temperature")},
        )
        if control.reason == SHUTDOWN and outcome.result.pending:
            return
        result = outcome.result.to_json()
        result.pop("folder")
        progress = {"done": result["items"] - result["pending"], "total": result["items"]}
        if outcome.error is not None:
            error = outcome.error
            said = {"kind": error.kind, "message": error.message, "hint": error.hint}
            service.jobs.change(job.id, "failed", result=result, error=said, progress=progress)
        else:
            service.jobs.change(job.id, "done", result=result, progress=progress)

    def _calibrate(self, job: Job, control: Control) -> None:
        service, asked = self._service, job.request
        settings = service.deployment.settings
        settings = settings.model_copy(
            update={"judge": service.judge_name(asked["judge"]), "samples": asked["samples"] or settings.samples}
        )
        chosen, rubric = labelled(service, asked)
        told = _Told(service, job.id, control)
        asked_terms: dict[str, Any] = {}
        if asked["profile"] is not None:
            asked_terms["profile"] = asked["profile"]
        if asked["claims"] is not None:
            asked_terms["claims"] = tuple(RequiredClaim(name=name) for name in asked["claims"])

        def held(terms: Terms) -> Terms:
            told.stop()  # the last moment before a certificate is written
            return replace(terms, save=settings.certificates, **asked_terms)

        found = calibrate_set(
            chosen,
            settings=settings,
            now=datetime.now(UTC),
            rubric=rubric,
            criterion=asked["criterion"],
            repeats=asked["repeats"],
            terms=held,
            progress=told.judged,
        )
        result = {"decision": found.certificate.decision, **found.to_json()}
        page = calibration_page(found.report, found.certificate, found.jury)
        service.jobs.change(job.id, "done", result=result, page=page, progress=told.last)

    def _compare(self, job: Job, control: Control) -> None:
        service, asked = self._service, job.request
        told = _Told(service, job.id, control)
        chosen, rubric = labelled(service, asked)
        found = compare_set(
            chosen,
            [service.judge_name(name) for name in asked["judges"]],
            settings=service.deployment.settings,
            rubrics=[rubric],
            criterion=asked["criterion"],
            progress=told.judged,
        )
        page = comparison_page(found.comparison, found.juries)
        juries = {name: errors.to_json() for name, errors in found.juries.items()}
        result = {**found.comparison.to_json(), "juries": juries}
        service.jobs.change(job.id, "done", result=result, page=page, progress=told.last)


class _Stopped(Exception):
    """A calibration or comparison was cancelled, or the service ends."""


class _Told:
    """Writes a job's progress down, not more often than `EVERY_S`; `last` is the newest, written or not."""

    def __init__(self, service: Service, id: str, control: Control | None = None) -> None:
        self._control = control
        self._service = service
        self._id = id
        self._at = 0.0
        self._before = Progress(0, None, 0, 0, 0, 0.0)
        self.last: dict[str, Any] = {}

    def progress(self, now: Progress) -> None:
        before, self._before = self._before, now
        self._service.counters.spend_more(
            now.calls - before.calls, now.unpriced - before.unpriced, now.known_usd - before.known_usd
        )
        self._write({
            "done": now.done, "total": now.total, "failed": now.failed, "calls": now.calls, "cached": now.cached,
            "cost_usd": now.cost_usd, "known_usd": now.known_usd, "errors": dict(now.errors),
        })  # fmt: skip

    def judged(self, done: int) -> None:
        self._write({"done": done})
        self.stop()

    def stop(self) -> None:
        """Raises `_Stopped` when the job is to end."""
        if self._control is not None and self._control.reason is not None:
            raise _Stopped

    def _write(self, progress: dict[str, Any]) -> None:
        self.last = progress
        if time.monotonic() - self._at >= EVERY_S:
            self._at = time.monotonic()
            self._service.jobs.change(self._id, progress=progress)
