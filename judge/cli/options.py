"""Options that several commands share, declared once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from judge.errors import UsageError

if TYPE_CHECKING:
    from judge.config import Settings

Traces = Annotated[list[str], typer.Argument(help="Trace files of any format; - is stdin.", metavar="TRACE...")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Format = Annotated[str | None, typer.Option("--format", help="Name of the trace format; detected by default.")]
Mapping = Annotated[
    str | None, typer.Option("--mapping", help="YAML file that maps your own field names (docs/mapping.md).")
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Take the first N trajectories.")]
Reference = Annotated[
    str | None,
    typer.Option("--reference", help="Expected answer, state, calls or sequence: a JSON file, or JSON itself."),
]
Judge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        "-j",
        help="anthropic/MODEL, openai/MODEL, litellm/ANY, local/NAME, rules/process, replay/FILE, fake/always-N, "
        "jury/NAME. By default that of judge.toml or JUDGE_MODEL, else local/smollm2-135m.",
    ),
]
Rubric = Annotated[
    str | None, typer.Option("--rubric", "-r", help="Name of a shipped rubric, or a path; process by default.")
]
PolicyText = Annotated[
    str | None, typer.Option("--policy-text", help="File with the rules that the agent was bound by.")
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples",
        "-n",
        min=1,
        help="Votes for one verdict; by default 1 where all criteria are binary, else 2, and a third if they differ.",
    ),
]
Vote = Annotated[str | None, typer.Option("--vote", help="auto, median, mean, majority, trimmed_mean or expected.")]
Temperature = Annotated[
    float | None, typer.Option("--temperature", min=0.0, help="Sampling temperature; the provider's own by default.")
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed, where the provider has one.")]
MaxOutputTokens = Annotated[int | None, typer.Option("--max-output-tokens", min=16, help="Longest reply, in tokens.")]
Certificates = Annotated[
    str | None, typer.Option("--certificates", help="Folder of certificates; .judge/certificates by default.")
]
RequireTrust = Annotated[
    bool, typer.Option("--require-trust", help="Refuse a judge without a valid certificate (exit 3).")
]
ShowPrompt = Annotated[bool, typer.Option("--show-prompt", help="Print exactly what would be sent, and send nothing.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the number of calls, tokens and the cost; send nothing.")
]
MinCoverage = Annotated[
    float | None, typer.Option("--min-coverage", min=0.0, max=1.0, help="Least share that must be scored (exit 1).")
]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", "-c", min=1, help="Trajectories under way at once; 8 by default.")
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", help="Send every call of this judge there, and nowhere else.")
]
MaxUsd = Annotated[
    float | None, typer.Option("--max-usd", min=0.0, help="Hard spend cap in US dollars (exit 5); none by default.")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the reply cache.")]
Cache = Annotated[
    str | None,
    typer.Option(
        "--cache",
        metavar="URL",
        help="Cache that machines share: redis://HOST:PORT/DB or rediss://. A password belongs into JUDGE_CACHE.",
    ),
]
CacheOptional = Annotated[
    bool, typer.Option("--cache-optional", help="Go on without the shared cache where it does not answer.")
]
Labels = Annotated[str | None, typer.Option("--labels", help="Labels: CSV, JSON or JSON Lines.")]
Columns = Annotated[
    str | None, typer.Option("--map", help="Columns of the verdicts, e.g. id=task_id,value=score,source=judge.")
]
Scale = Annotated[str | None, typer.Option("--scale", help="binary, 1-5, or words worst to best: bad,ok,good.")]
PassMark = Annotated[float | None, typer.Option("--pass-mark", help="Lowest value that counts as passed.")]
EscalateTo = Annotated[
    list[str] | None,
    typer.Option(
        "--escalate-to",
        metavar="JUDGE|person",
        help="Send doubtful verdicts on: to a judge, to a person, or (given twice) to a judge and then a person.",
    ),
]
EscalateGuarantee = Annotated[
    str | None,
    typer.Option("--escalate-guarantee", metavar="FILE", help="What `judge escalate --out` wrote for this judge."),
]
EscalateQueue = Annotated[
    str | None,
    typer.Option("--escalate-queue", metavar="FILE", help="JSON Lines of the verdicts that wait for a person."),
]


def with_escalation(settings: Settings, to: list[str] | None, guarantee: str | None, queue: str | None) -> Settings:
    """The settings with what the options on escalation say over [escalate] of judge.toml.

    Raises:
        UsageError: They do not fit together.
    """
    from pydantic import ValidationError

    from judge.types.escalation import EscalationRules

    given: dict[str, object] = {"to": tuple(to) if to else None, "guarantee": guarantee, "queue": queue}
    known = {name: getattr(settings.escalate, name) for name in EscalationRules.model_fields}
    try:
        rules = EscalationRules(**{**known, **{name: value for name, value in given.items() if value is not None}})
    except ValidationError as error:
        said = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise UsageError(
            f"--escalate-to: {said}.", hint="E.g. --escalate-to openai/MODEL --escalate-to person."
        ) from None
    if (guarantee or queue) and not rules.to:
        raise UsageError("Found options on escalation without --escalate-to.", hint="Say who decides what is sent on.")
    return settings.model_copy(update={"escalate": rules})


def cache_flags(cache: str | None, no_cache: bool, cache_optional: bool) -> dict[str, object]:
    """The settings that the options on the cache stand for.

    Raises:
        UsageError: A cache is named and turned off.
    """
    if no_cache and cache is not None:
        raise UsageError("Found --cache beside --no-cache.", hint="Give one of them.")
    return {"cache": False if no_cache else cache, "cache_optional": cache_optional or None}
