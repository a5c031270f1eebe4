"""`judge batch`: judge many trajectories into a run folder; come back to one whose batches are at a provider."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from judge.cli import options
from judge.cli.output import emit, note, say

if TYPE_CHECKING:
    from judge.engine.batch import BatchOutcome
    from judge.engine.run import Progress

TERMINAL_EVERY_S = 0.2
PLAIN_EVERY_S = 10.0
INTERRUPTED = 130
ITSELF = "batch"
"""Name of the command that the group stands for."""

Folder = Annotated[str, typer.Argument(help="Folder of a run with --engine provider-batch.", metavar="DIR")]
Deadline = Annotated[
    float | None, typer.Option("--deadline", min=0.0, help="Seconds after which nothing new begins (exit 5).")
]
Detach = Annotated[
    bool,
    typer.Option("--detach", help="With --engine provider-batch: hand the batches in and leave; `attach` comes back."),
]
Log = Annotated[str | None, typer.Option("--log", help="Append what happens as JSON Lines to this file; - is stderr.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


class _WithDefault(TyperGroup):
    """A group that is a command itself: `judge batch attach DIR` is one of its commands, `judge batch IN...` is it."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the group where a command of it is named, else that of the command it stands for."""
        if args and args[0] in self.commands and args[0] != ITSELF:
            return super().make_context(info_name, args, parent, **extra)
        return self.commands[ITSELF].make_context(info_name, args, parent, **extra)


app = typer.Typer(cls=_WithDefault, help="Judge many trajectories into a folder, and come back to it.")


@app.command(
    ITSELF,
    epilog="With --engine provider-batch: `judge batch attach DIR` comes back to a run, `judge batch cancel DIR` ends "
    "its batches. Each has a --help of its own.",
)
def batch(
    traces: Annotated[
        list[str], typer.Argument(help="Trace files of any format; they are read twice.", metavar="IN...")
    ],
    out: Annotated[str, typer.Option("--out", "-o", help="Folder of the run; new, or with --resume an earlier one.")],
    rubric: options.Rubric = None,
    judge: options.Judge = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run: redo errors, judge what is missing, keep the rest.")
    ] = False,
    new_input: Annotated[
        bool, typer.Option("--new-input", help="With --resume: take inputs that changed; what is new is judged.")
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="What carries the batch out: local is this process, ray a cluster, provider-batch the batch API of "
            "OpenAI or Anthropic (half the price, within a day).",
        ),
    ] = "local",
    detach: Detach = False,
    address: Annotated[
        str | None,
        typer.Option("--address", help="With --engine ray: HOST:PORT of a Ray cluster, or auto; else one is started."),
    ] = None,
    samples: options.Samples = None,
    vote: options.Vote = None,
    reference: options.Reference = None,
    policy_text: options.PolicyText = None,
    require_trust: options.RequireTrust = False,
    concurrency: options.Concurrency = None,
    max_usd: options.MaxUsd = None,
    max_usd_per_item: Annotated[
        float | None, typer.Option("--max-usd-per-item", min=0.0, help="Spend cap of one trajectory.")
    ] = None,
    max_usd_per_day: Annotated[
        float | None,
        typer.Option(
            "--max-usd-per-day", min=0.0, help="Spend cap of a day (UTC) over all runs of this user (exit 5)."
        ),
    ] = None,
    count_earlier: Annotated[
        bool, typer.Option("--count-earlier", help="Count earlier sessions of this folder towards --max-usd.")
    ] = False,
    deadline: Deadline = None,
    min_coverage: options.MinCoverage = None,
    temperature: options.Temperature = None,
    seed: options.Seed = None,
    max_output_tokens: options.MaxOutputTokens = None,
    base_url: options.BaseUrl = None,
    escalate_to: options.EscalateTo = None,
    escalate_guarantee: options.EscalateGuarantee = None,
    escalate_queue: options.EscalateQueue = None,
    no_cache: options.NoCache = False,
    cache: options.Cache = None,
    cache_optional: options.CacheOptional = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the calls, tokens and cost of what is left; send nothing.")
    ] = False,
    log: Log = None,
    quiet: Quiet = False,
    format: options.Format = None,
    mapping: options.Mapping = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Judge many trajectories into a folder: each verdict is saved at once, a kill at any moment loses none."""
    from judge.cli import reading
    from judge.cli.interrupts import draining
    from judge.cli.logs import logging_to
    from judge.config import load_settings
    from judge.engine.batch import judge_batch
    from judge.engine.batch_plan import plan_batch
    from judge.engine.control import Control

    settings = load_settings(
        {
            "judge": judge,
            "rubric": rubric,
            "samples": samples,
            "vote": vote,
            "temperature": temperature,
            "seed": seed,
            "max_output_tokens": max_output_tokens,
            "concurrency": concurrency,
            "max_usd": max_usd,
            "max_usd_per_item": max_usd_per_item,
            "max_usd_per_day": max_usd_per_day,
            "min_coverage": min_coverage,
            **options.cache_flags(cache, no_cache, cache_optional),
            "base_url": base_url,
        }
    )
    settings = options.with_escalation(settings, escalate_to, escalate_guarantee, escalate_queue)
    if dry_run:
        made = plan_batch(
            traces,
            out=out,
            reference=reading.references(reference),
            policy=reading.text_file(policy_text, "policy"),
            resume=resume,
            engine=engine,
            format=format,
            mapping=reading.mapping_file(mapping),
            limit=limit,
            settings=settings,
        )
        emit(made.to_json()) if as_json else say(made.text())
        return
    control = Control(deadline_s=deadline)
    with logging_to(log), draining(control.drain), _progress(quiet) as progress:
        outcome = judge_batch(
            traces,
            out=out,
            reference=reading.references(reference),
            policy=reading.text_file(policy_text, "policy"),
            require_trust=require_trust,
            resume=resume,
            new_input=new_input,
            count_earlier=count_earlier,
            engine=engine,
            address=address,
            format=format,
            mapping=reading.mapping_file(mapping),
            limit=limit,
            settings=settings,
            control=control,
            progress=progress,
            detach=detach,
            notice=note,
        )
    _end(outcome, as_json)


@app.command("attach")
def attach(
    run: Folder,
    detach: Annotated[
        bool, typer.Option("--detach", help="Wait for nothing: take what has come, hand in what follows, and leave.")
    ] = False,
    max_usd: options.MaxUsd = None,
    deadline: Deadline = None,
    log: Log = None,
    quiet: Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Come back to a run whose batches are at a provider: wait for them, fetch what came, and finish the run."""
    from judge.cli.interrupts import draining
    from judge.cli.logs import logging_to
    from judge.engine.attached import attach_batch
    from judge.engine.control import Control

    control = Control(deadline_s=deadline)
    with logging_to(log), draining(control.drain), _progress(quiet) as progress:
        outcome = attach_batch(
            run, changes={"max_usd": max_usd}, control=control, progress=progress, detach=detach, notice=note
        )
    _end(outcome, as_json)


@app.command("cancel")
def cancel(run: Folder, as_json: options.AsJson = False) -> None:
    """Ask the provider to end the batches of a run; what is done by then is billed, and `attach` fetches it."""
    from judge.engine.attached import cancel_batches

    done = cancel_batches(run)
    if as_json:
        emit(done.to_json())
        return
    told = {
        "canceled": ", ".join(done.canceled),
        "had ended": ", ".join(done.ended),
        "never received": ", ".join(map(str, done.never_received)),
        "not to be told yet, ask again": ", ".join(map(str, done.unclear)),
    }
    say("\n".join(f"{what}: {which}" for what, which in told.items() if which) or "Nothing is under way.")
    if done.canceled or done.ended:
        note(f"`judge batch attach {run}` fetches what was done and is billed.")


def _end(outcome: BatchOutcome, as_json: bool) -> None:
    """Prints a session's result and leaves with its exit status."""
    from judge.cli.score import all_failed, exit_code
    from judge.report.runs import batch_text

    result = outcome.result
    if as_json:
        emit(result.to_json())
    else:
        say(batch_text(result))
    if outcome.error is not None:
        raise outcome.error
    if result.stopped == "detached":
        return
    if result.stopped is not None:
        note(f"{result.pending:,} left; run again with --resume.")
        raise typer.Exit(INTERRUPTED if result.stopped == "interrupt" else 5)
    code = exit_code(result.summary)
    if code == 4:
        raise all_failed(result.summary.errors, "trajectory")
    if code:
        raise typer.Exit(code)


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Rate, time left, cost and errors: one line that is written over on a terminal, a line now and then elsewhere."""
    if quiet:
        yield None
        return
    from judge.report.runs import progress_text

    terminal = sys.stderr.isatty()
    every = TERMINAL_EVERY_S if terminal else PLAIN_EVERY_S
    started: float | None = None
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal started, last
        now = time.monotonic()
        started = now if started is None else started
        if now - last < every:
            return
        last = now
        text = f"judged {progress_text(progress, now - started)}"
        sys.stderr.write(f"\r{text}\x1b[K" if terminal else f"{text}\n")
        sys.stderr.flush()

    try:
        yield show
    finally:
        if terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
