"""`judge plan`: how many votes this judge needs, from its own wobble, and what they cost."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, note, say


def plan(
    rubric: options.Rubric = None,
    judge: options.Judge = None,
    set_names: Annotated[
        list[str] | None, typer.Option("--set", help="Calibration set to draw votes on; all shipped ones by default.")
    ] = None,
    target_flip: Annotated[
        float, typer.Option("--target-flip", min=0.0, max=1.0, help="Highest share of verdicts that may flip.")
    ] = 0.02,
    repeats: Annotated[int, typer.Option("--repeats", min=2, help="Votes to draw on each run; cached ones count.")] = 6,
    criterion: Annotated[str | None, typer.Option("--criterion", help="Of the rubric; its first by default.")] = None,
    temperature: options.Temperature = None,
    base_url: options.BaseUrl = None,
    concurrency: options.Concurrency = None,
    max_usd: options.MaxUsd = None,
    no_cache: options.NoCache = False,
    cache: options.Cache = None,
    cache_optional: options.CacheOptional = False,
    policy_text: options.PolicyText = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """How many votes bring flipped verdicts below a target, and at what price (exit 1 when none does)."""
    from judge.calibration.sets import load_set
    from judge.calibration.sets import set_names as shipped
    from judge.cli import reading
    from judge.cli.progress import progress
    from judge.config import load_settings
    from judge.engine.facade import rubric_of
    from judge.engine.probing import runs_of_sets
    from judge.engine.vote_plan import plan_votes
    from judge.report.numbers import plural
    from judge.report.vote_plan import vote_plan_text

    settings = load_settings(
        {
            "judge": judge,
            "rubric": rubric,
            "temperature": temperature,
            "base_url": base_url,
            "concurrency": concurrency,
            "max_usd": max_usd,
            **options.cache_flags(cache, no_cache, cache_optional),
        }
    )
    used = rubric_of(None, settings)
    what = runs_of_sets([load_set(name) for name in set_names or shipped()], used)
    total = min(limit or len(what.runs), len(what.runs))
    note(f"{plural(total, 'run')}, {repeats} votes each.")
    with progress("judged", total) as advance:
        made = plan_votes(
            what,
            used,
            settings=settings,
            target=target_flip,
            repeats=repeats,
            criterion=criterion,
            limit=limit,
            policy=reading.text_file(policy_text, "policy"),
            progress=advance,
        )
    if as_json:
        emit(made.to_json())
    else:
        say(vote_plan_text(made))
    if made.votes is None:
        raise typer.Exit(1)
