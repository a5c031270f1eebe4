"""`judge score`: judge trajectories under a rubric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli import options
from judge.cli.output import emit, note, say
from judge.errors import BudgetReached, JudgeError, ProviderError, TerminalError, TrustRequired, UsageError

if TYPE_CHECKING:
    from judge.config import Settings
    from judge.engine.run import Progress
    from judge.types import Trajectory
    from judge.voting import Summary


def score(
    traces: options.Traces,
    rubric: options.Rubric = None,
    judge: options.Judge = None,
    samples: options.Samples = None,
    stop_risk: Annotated[
        float | None,
        typer.Option(
            "--stop-risk",
            min=0.0,
            max=0.49,
            help="Draw votes one by one, until more would change the verdict with at most this chance; 0 for none.",
        ),
    ] = None,
    max_samples: Annotated[
        int | None, typer.Option("--max-samples", min=1, help="Most votes with --stop-risk; odd, 5 by default.")
    ] = None,
    vote: options.Vote = None,
    reference: options.Reference = None,
    policy_text: options.PolicyText = None,
    require_trust: options.RequireTrust = False,
    certificates: options.Certificates = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Append each verdict to this JSON Lines file.")] = None,
    show_prompt: options.ShowPrompt = False,
    dry_run: options.DryRun = False,
    base_url: options.BaseUrl = None,
    temperature: options.Temperature = None,
    top_p: Annotated[float | None, typer.Option("--top-p", min=0.0, max=1.0, help="Nucleus sampling share.")] = None,
    seed: options.Seed = None,
    max_output_tokens: options.MaxOutputTokens = None,
    thinking_tokens: Annotated[
        int | None, typer.Option("--thinking-tokens", min=0, help="Budget for hidden reasoning (Anthropic).")
    ] = None,
    reasoning_effort: Annotated[
        str | None, typer.Option("--reasoning-effort", help="Effort of a reasoning model, e.g. low.")
    ] = None,
    logprobs: Annotated[bool, typer.Option("--logprobs", help="Ask for token probabilities.")] = False,
    concurrency: options.Concurrency = None,
    max_usd: options.MaxUsd = None,
    min_coverage: options.MinCoverage = None,
    escalate_to: options.EscalateTo = None,
    escalate_guarantee: options.EscalateGuarantee = None,
    escalate_queue: options.EscalateQueue = None,
    no_cache: options.NoCache = False,
    cache: options.Cache = None,
    cache_optional: options.CacheOptional = False,
    format: options.Format = None,
    mapping: options.Mapping = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Judge trajectories: a score, a reason that cites steps, the votes, and whether the judge may be trusted."""
    from judge.cli import reading
    from judge.config import load_settings

    settings = load_settings(
        {
            "judge": judge,
            "rubric": rubric,
            "samples": samples,
            "stop": _stop(stop_risk, max_samples, samples),
            "vote": vote,
            "temperature": temperature,
            "top_p": top_p,
            "seed": seed,
            "max_output_tokens": max_output_tokens,
            "thinking_tokens": thinking_tokens,
            "reasoning_effort": reasoning_effort,
            "logprobs": logprobs or None,
            "concurrency": concurrency,
            "max_usd": max_usd,
            "min_coverage": min_coverage,
            "certificates": certificates,
            **options.cache_flags(cache, no_cache, cache_optional),
            "base_url": base_url,
        }
    )
    settings = options.with_escalation(settings, escalate_to, escalate_guarantee, escalate_queue)
    runs = reading.trajectories(traces, format=format, mapping=mapping, limit=limit)
    extra: dict[str, Any] = {
        "reference": reading.references(reference),
        "policy": reading.text_file(policy_text, "policy"),
    }
    if show_prompt or dry_run:
        _preview(runs, settings, extra, show_prompt=show_prompt, as_json=as_json)
        return
    _judge(runs, settings, extra, require_trust=require_trust, out=out, as_json=as_json)


def _stop(risk: float | None, most: int | None, samples: int | None) -> dict[str, float | int] | None:
    """The stop rule that the options ask for, or None."""
    if risk is None and most is None:
        return None
    if risk is None or samples is not None:
        found = "--max-samples without --stop-risk" if risk is None else "--samples beside --stop-risk"
        raise UsageError(f"Found {found}.", hint="Give --stop-risk with or without --max-samples, or --samples alone.")
    rule: dict[str, float | int] = {"risk": risk}
    if most is not None:
        rule |= {"most": most, "least": min(2, most)}
    return rule


def _judge(
    runs: Iterator[Trajectory],
    settings: Settings,
    extra: dict[str, Any],
    *,
    require_trust: bool,
    out: str | None,
    as_json: bool,
) -> None:
    from contextlib import ExitStack

    from judge.cli.progress import progress
    from judge.engine.facade import score_many
    from judge.report.verdicts import summary_text, verdict_text
    from judge.store.jsonl import VerdictWriter
    from judge.types.escalation import PERSON
    from judge.voting import VerdictSums

    stopped: TerminalError | BudgetReached | None = None
    kept: list[dict[str, Any]] = []
    sums = VerdictSums(settings.stop if settings.samples is None else None)
    missing_trust: dict[str, None] = {}
    last: Progress | None = None

    def watch(now: Progress) -> None:
        nonlocal last
        last = now

    with ExitStack() as stack:
        writer = stack.enter_context(VerdictWriter(out)) if out else None
        queue = settings.escalate.queue
        people = stack.enter_context(VerdictWriter(queue)) if queue is not None else None
        advance = stack.enter_context(progress("judged", None))
        try:
            for count, verdict in enumerate(
                score_many(
                    runs,
                    settings=settings,
                    require_trust=require_trust,
                    escalate=settings.escalate,
                    progress=watch,
                    **extra,
                ),
                start=1,
            ):
                if writer:
                    writer.append(verdict)
                if people and verdict.escalation is not None and verdict.escalation.to == PERSON:
                    people.append(verdict)
                sums.add(verdict)
                advance(count)
                if verdict.trust.state != "certified":
                    missing_trust |= dict.fromkeys(verdict.trust.reasons or (verdict.trust.state,))
                if as_json:
                    kept.append(verdict.to_json())
                else:
                    say(verdict_text(verdict))
        except (TerminalError, BudgetReached) as error:
            stopped = error
    summary = sums.summary(min_coverage=settings.min_coverage)
    if last is not None:
        summary = summary.model_copy(update={"cache_failures": last.cache_failures})
    if as_json:
        emit({"results": kept, "summary": summary.to_json()})
    else:
        say()
        say(summary_text(summary))
    if stopped is not None:
        raise stopped
    if require_trust and missing_trust:
        raise TrustRequired(
            f"Trust was required and is missing: {' '.join(missing_trust)}",
            hint="Run `judge calibrate` on labels of your own, or leave out --require-trust.",
        )
    code = exit_code(summary)
    if code == 4:
        raise all_failed(summary.errors, "trajectory")
    if code:
        raise typer.Exit(code)


def all_failed(kinds: Iterable[str], each: str) -> JudgeError:
    """The error of a run without any score: a cap where that alone was in the way, else the judge.

    Args:
        kinds: Of the failures; `each`: what was judged.
    """
    if set(kinds) == {"item_budget"}:
        return BudgetReached(
            f"Budget reached: max_usd_per_item leaves no room for a verdict on any {each}.",
            hint="Raise it, draw fewer samples, or lower max_output_tokens.",
        )
    return ProviderError(f"The judge failed on every {each}.", hint="The errors listed say why.")


def exit_code(summary: Summary) -> int:
    """0 scored and passed, 1 a gate failed or coverage is too low, 4 every judgement failed (see `all_failed`)."""
    if summary.total and sum(summary.errors.values()) == summary.total:
        return 4
    return 1 if summary.gate == "fail" or summary.failed else 0


def _preview(
    runs: Iterator[Trajectory], settings: Settings, extra: dict[str, Any], *, show_prompt: bool, as_json: bool
) -> None:
    from judge.engine.plan import plan

    made = plan(runs, settings=settings, payloads=show_prompt, **extra)
    if as_json:
        emit(made.to_json())
        return
    if show_prompt:
        for prompt in made.prompts:
            say(prompt.text())
    if not show_prompt:
        say(made.text())
    if settings.escalate.second is not None:
        note(f"Not counted: what is sent on to {settings.escalate.second}.")
