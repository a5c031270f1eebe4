"""`judge escalate`: which verdicts of a judge may stand, chosen on dev labels and checked on test labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import check_target, emit, note, say


def escalate(
    set_name: Annotated[str, typer.Option("--set", help="Calibration set whose labels choose and check.")],
    judge: options.Judge = None,
    rubric: Annotated[
        str | None, typer.Option("--rubric", "-r", help="Rubric; the criterion's own by default.")
    ] = None,
    criterion: Annotated[
        str | None, typer.Option("--criterion", help="Of the set; the first that says passed or failed by default.")
    ] = None,
    samples: options.Samples = None,
    allowed: Annotated[
        float, typer.Option("--allowed", min=0.001, max=0.999, help="Most of the verdicts that stand may be wrong.")
    ] = 0.1,
    delta: Annotated[
        float, typer.Option("--delta", min=0.001, max=0.5, help="Chance that the promise does not hold.")
    ] = 0.05,
    cheap_first: Annotated[
        bool, typer.Option("--cheap-first", help="Ask whether the judge may go first, its FAIL standing alone.")
    ] = False,
    needed: Annotated[
        float, typer.Option("--needed", min=0.5, max=0.999, help="With --cheap-first: least share of right FAILs.")
    ] = 0.9,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Write the guarantee for --escalate-guarantee to this file.")
    ] = None,
    policy_text: options.PolicyText = None,
    temperature: options.Temperature = None,
    base_url: options.BaseUrl = None,
    concurrency: options.Concurrency = None,
    max_usd: options.MaxUsd = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the draw of one run a task, and of the bounds.")] = 0,
    no_cache: options.NoCache = False,
    cache: options.Cache = None,
    cache_optional: options.CacheOptional = False,
    as_json: options.AsJson = False,
) -> None:
    """Choose on dev labels which verdicts may stand, and check the promise on test labels (exit 1 if it fails)."""
    from judge.cli import reading
    from judge.cli.progress import progress
    from judge.config import load_settings
    from judge.engine.escalation_plan import plan_escalation
    from judge.engine.guarantee import save_plan
    from judge.report.escalation import escalation_text

    settings = load_settings(
        {
            "judge": judge,
            "samples": samples,
            "temperature": temperature,
            "base_url": base_url,
            "concurrency": concurrency,
            "max_usd": max_usd,
            **options.cache_flags(cache, no_cache, cache_optional),
        }
    )
    check_target(out, folder=False)
    with progress("judged", None) as advance:
        plan = plan_escalation(
            set_name,
            settings=settings,
            rubric=rubric,
            criterion=criterion,
            allowed=allowed,
            delta=delta,
            cheap=cheap_first,
            needed=needed,
            policy=reading.text_file(policy_text, "policy"),
            seed=seed,
            progress=advance,
        )
    if out is not None:
        save_plan(Path(out), plan)
        note(f"wrote {out}")
    if as_json:
        emit(plan.to_json())
    else:
        say(escalation_text(plan))
    if not plan.holds:
        raise typer.Exit(1)
