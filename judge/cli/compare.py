"""`judge compare`: which of these judges, and may one take another's place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli import options
from judge.cli.output import emit, note, say
from judge.cli.recorded import field_map, fields_file, scale_of
from judge.errors import UsageError

if TYPE_CHECKING:
    from judge.engine.comparing import Compared
    from judge.types.comparison import Work


def compare(
    set_name: Annotated[str | None, typer.Option("--set", help="A shipped calibration set or a folder.")] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            "-j",
            help="A judge, or a jury: jury/NAME or jury:FILE.yaml. Repeatable; of recorded files all by default.",
        ),
    ] = None,
    rubric: Annotated[
        list[str] | None, typer.Option("--rubric", "-r", help="Rubrics to compare, with --set. Repeatable.")
    ] = None,
    verdicts: Annotated[
        list[str] | None, typer.Option("--verdicts", help="Recorded verdicts: CSV, JSON or JSONL. Repeatable.")
    ] = None,
    labels: Annotated[str | None, typer.Option("--labels", help="Labels: CSV, JSON or JSON Lines.")] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option("--fields", help="YAML with `verdicts:`, `labels:`, `scale:`; one for all or one a file."),
    ] = None,
    map: Annotated[
        str | None, typer.Option("--map", help="Columns of the verdicts, e.g. id=task_id,value=score,source=judge.")
    ] = None,
    label_map: Annotated[str | None, typer.Option("--label-map", help="Columns of the labels, likewise.")] = None,
    scale: Annotated[
        str | None, typer.Option("--scale", help="binary, 1-5, or words worst to best: bad,ok,good.")
    ] = None,
    pass_mark: Annotated[float | None, typer.Option("--pass-mark", help="Lowest value that counts as passed.")] = None,
    criterion: Annotated[str | None, typer.Option("--criterion", help="Criterion of the set or the files.")] = None,
    dev_share: Annotated[
        float | None, typer.Option("--dev-share", help="Share of tasks set aside as dev, for juries that learn.")
    ] = None,
    old: Annotated[str | None, typer.Option("--old", help="Judge in use; with --new, asks whether to switch.")] = None,
    new: Annotated[str | None, typer.Option("--new", help="Judge that may take its place.")] = None,
    margin: Annotated[float, typer.Option("--margin", help="Largest loss of agreement that --new may bring.")] = 0.05,
    price: Annotated[
        list[str] | None, typer.Option("--price", help="NAME=USD a verdict, where it is not measured. Repeatable.")
    ] = None,
    samples: Annotated[int | None, typer.Option("--samples", "-n", min=1, help="Votes for one verdict.")] = None,
    repeats: Annotated[int | None, typer.Option("--repeats", min=2, help="Samples a run, to see the wobble.")] = None,
    vote: Annotated[str | None, typer.Option("--vote", help="Vote rule; auto by default.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Folder for compare.html, .json and .txt.")] = None,
    base_url: options.BaseUrl = None,
    no_cache: options.NoCache = False,
    cache: options.Cache = None,
    cache_optional: options.CacheOptional = False,
    as_json: options.AsJson = False,
) -> None:
    """Compare judges, rubrics or juries on the same labelled runs; with --old and --new, say whether to switch."""
    if (old is None) != (new is None):
        raise UsageError("A switch needs both --old and --new.")
    # under several rubrics, --old and --new name a judge under a rubric ("JUDGE, RUBRIC") and no judge to open
    switched = () if rubric and len(rubric) > 1 else tuple(name for name in (old, new) if name)
    names = list(dict.fromkeys([*(judge or ()), *switched]))
    prices = _prices(price or ())
    kept = options.cache_flags(cache, no_cache, cache_optional)
    if set_name is not None and not (verdicts or labels):
        found = _live(set_name, names, rubric, criterion, repeats, samples, vote, base_url, kept)
    elif verdicts and labels and set_name is None:
        found = _recorded(
            verdicts, labels, fields or (), map, label_map, scale, pass_mark, criterion, dev_share, names, vote, prices,
        )  # fmt: skip
    else:
        raise UsageError(
            "Nothing to compare on.",
            hint="Give --set NAME (`judge sets list`), or --verdicts FILE --labels FILE, not both.",
        )
    _answer(found, old, new, margin, pass_mark, out, as_json)


def _live(
    set_name: str,
    names: list[str],
    rubrics: list[str] | None,
    criterion: str | None,
    repeats: int | None,
    samples: int | None,
    vote: str | None,
    base_url: str | None,
    kept: dict[str, object],
) -> Compared:
    from judge.cli.progress import progress
    from judge.config import load_settings
    from judge.engine.comparing import compare_set

    settings = load_settings({"samples": samples, "vote": vote, "base_url": base_url, **kept})
    with progress("judged", None) as advance:
        return compare_set(
            set_name,
            names or [settings.default_judge],
            settings=settings,
            rubrics=rubrics or (),
            criterion=criterion,
            repeats=repeats,
            progress=advance,
        )


def _recorded(
    verdicts: list[str],
    labels: str,
    fields: list[str] | tuple[str, ...],
    map: str | None,
    label_map: str | None,
    scale: str | None,
    pass_mark: float | None,
    criterion: str | None,
    dev_share: float | None,
    names: list[str],
    vote: str | None,
    prices: dict[str, Work],
) -> Compared:
    from judge.config import load_settings
    from judge.engine.comparing import compare_files
    from judge.engine.jury_file import is_jury, load_jury

    settings = load_settings({"vote": vote})
    if len(fields) not in (0, 1, len(verdicts)):
        raise UsageError(f"{len(fields)} --fields for {len(verdicts)} --verdicts; give one for all or one a file.")
    given = [fields_file(path) for path in fields] or [{}]
    given = given * len(verdicts) if len(given) == 1 else given
    first = given[0]
    return compare_files(
        [
            (Path(path), field_map(map, own.get("verdicts"), "verdicts", None))
            for path, own in zip(verdicts, given, strict=True)
        ],
        Path(labels),
        label_fields=field_map(label_map, first.get("labels"), "labels", None),
        scale=scale_of(scale if scale is not None else first.get("scale")),
        judges=[name for name in names if not is_jury(name)],
        juries=[load_jury(name, settings) for name in names if is_jury(name)],
        criterion=criterion,
        pass_mark=pass_mark if pass_mark is not None else first.get("pass_mark"),
        vote=settings.vote,
        work=prices,
        dev_share=dev_share,
    )


def _answer(
    found: Compared,
    old: str | None,
    new: str | None,
    margin: float,
    pass_mark: float | None,
    out: str | None,
    as_json: bool,
) -> None:
    from judge.report.compare import comparison_text, switch_text

    switched = None
    if old is not None and new is not None:
        switched = found.switch(_shown(old), _shown(new), margin=margin, pass_mark=pass_mark)
    document: dict[str, Any] = found.comparison.to_json()
    document["juries"] = {name: errors.to_json() for name, errors in found.juries.items()}
    document["switch"] = switched.to_json() if switched else None
    text = comparison_text(found.comparison, found.juries)
    if switched is not None:
        text = f"{switch_text(switched)}\n\n{text}"
    if out is not None:
        from judge.report.compare_page import comparison_page
        from judge.report.folder import write_comparison

        page = comparison_page(found.comparison, found.juries, switched)
        for path in write_comparison(page, document, text, Path(out)):
            note(f"wrote {path}")
    if as_json:
        emit(document)
    else:
        say(text)


def _shown(name: str) -> str:
    """The name under which a judge stands in the comparison: a jury file's is that of its jury."""
    from judge.config import load_settings
    from judge.engine.jury_file import is_jury, load_jury

    return load_jury(name, load_settings()).name if is_jury(name) else name


def _prices(given: list[str] | tuple[str, ...]) -> dict[str, Work]:
    from judge.types.comparison import Work

    prices = {}
    for text in given:
        name, sign, amount = text.rpartition("=")
        try:
            usd = float(amount)
        except ValueError:
            usd = -1.0
        if not sign or not name or not 0 <= usd < float("inf"):
            raise UsageError(f"--price is {text!r}; NAME=USD is needed, e.g. openai/gpt-4o=0.004.")
        prices[name] = Work(usd=usd)
    return prices
