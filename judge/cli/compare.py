"""`judge compare`: which of these judges, and may one take another's place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli import options, reading
from judge.cli.calibrate import EXIT
from judge.cli.output import check_target, emit, note, say
from judge.cli.recorded import field_map, fields_file, scale_of
from judge.errors import ProviderError, UsageError

if TYPE_CHECKING:
    from judge.calibration.fields import FieldMap
    from judge.calibration.observations import Scales
    from judge.config import Settings
    from judge.engine.budget import Budget
    from judge.engine.certifying import Calibration
    from judge.engine.comparing import Compared
    from judge.types.comparison import Switch, Work
    from judge.types.jury import Jury
    from judge.types.probe import ProbeReport

FEW_RUNS = 50
"""Weights learnt from fewer labelled runs are said to be rough."""


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
    labels: options.Labels = None,
    fields: Annotated[
        list[str] | None,
        typer.Option("--fields", help="YAML with `verdicts:`, `labels:`, `scale:`; one for all or one a file."),
    ] = None,
    map: options.Columns = None,
    label_map: Annotated[str | None, typer.Option("--label-map", help="Columns of the labels, likewise.")] = None,
    scale: options.Scale = None,
    pass_mark: options.PassMark = None,
    criterion: Annotated[str | None, typer.Option("--criterion", help="Criterion of the set or the files.")] = None,
    dev_share: Annotated[
        float | None, typer.Option("--dev-share", help="Share of tasks set aside as dev, for juries that learn.")
    ] = None,
    old: Annotated[str | None, typer.Option("--old", help="Judge in use; with --new, asks whether to switch.")] = None,
    new: Annotated[str | None, typer.Option("--new", help="Judge that may take its place.")] = None,
    margin: Annotated[float, typer.Option("--margin", help="Largest loss of agreement that --new may bring.")] = 0.05,
    probes: Annotated[
        list[str] | None,
        typer.Option("--probes", help="probe.json of `judge probe --out`, of a compared judge. Repeatable."),
    ] = None,
    certify: Annotated[
        bool, typer.Option("--certify", help="Calibrate --new too and write its certificate; exit codes as calibrate.")
    ] = False,
    write_jury: Annotated[
        str | None,
        typer.Option(
            "--write-jury",
            metavar="FILE",
            help="Learn the weights of the jury of rule weighted from dev labels, and write it for live use.",
        ),
    ] = None,
    price: Annotated[
        list[str] | None, typer.Option("--price", help="NAME=USD a verdict, where it is not measured. Repeatable.")
    ] = None,
    samples: options.Samples = None,
    repeats: Annotated[int | None, typer.Option("--repeats", min=2, help="Samples a run, to see the wobble.")] = None,
    vote: Annotated[str | None, typer.Option("--vote", help="Vote rule; auto by default.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Folder for compare.html, .json and .txt.")] = None,
    max_usd: options.MaxUsd = None,
    base_url: options.BaseUrl = None,
    no_cache: options.NoCache = False,
    cache: options.Cache = None,
    cache_optional: options.CacheOptional = False,
    as_json: options.AsJson = False,
) -> None:
    """Compare judges, rubrics or juries on the same labelled runs; with --old and --new, say whether to switch."""
    from judge.config import load_settings
    from judge.engine.comparing import compare_files
    from judge.engine.facade import budget_of
    from judge.engine.jury_file import is_jury, load_jury
    from judge.engine.switching import certify_live

    check_target(out, folder=True)
    if (old is None) != (new is None):
        raise UsageError("A switch needs both --old and --new.")
    if old is not None and old == new:
        raise UsageError(f"{old!r} cannot take its own place.", hint="Name two judges.")
    if price and set_name is not None:
        raise UsageError(
            "--price is for recorded judges; what a live judge costs is measured.",
            hint='Where its price is not known, state it under [models."NAME"] in judge.toml.',
        )
    if certify and new is None:
        raise UsageError(
            "--certify is of the judge that may take another's place.", hint="Name it with --old and --new."
        )
    # under several rubrics, --old and --new name a judge under a rubric ("JUDGE, RUBRIC") and no judge to open
    switched = () if rubric and len(rubric) > 1 else tuple(name for name in (old, new) if name)
    names = list(dict.fromkeys([*(judge or ()), *switched]))
    prices = _prices(price or ())
    flags = {
        "samples": samples,
        "vote": vote,
        "max_usd": max_usd,
        **options.cache_flags(cache, no_cache, cache_optional),
    }
    if base_url is not None:
        remote = next((name for name in names if name.startswith(("openai/", "anthropic/", "litellm/"))), None)
        flags |= {"base_url": base_url, "judge": remote}  # it is that of this judge's provider
    settings = load_settings(flags)
    known = tuple(reading.probe_report(path) for path in probes or ())
    now = datetime.now(UTC)
    certified: Calibration | None = None
    if set_name is not None and not (verdicts or labels):
        budget = budget_of(settings)  # one cap for all that is judged
        if write_jury is not None:
            jury = _weighing(names, settings, write_jury)
            _learn(jury, set_name, rubric, criterion, settings, Path(write_jury), budget)
            names = [f"jury:{write_jury}" if name == jury else name for name in names]
            old, new = (f"jury:{write_jury}" if name == jury else name for name in (old, new))
        found = _live(set_name, names, rubric, criterion, repeats, settings, known, budget)
        if certify and new is not None:
            certified = certify_live(
                found, _shown(new, settings), set_name,
                settings=settings, now=now, criterion=criterion, repeats=repeats, probes=known, budget=budget,
            )  # fmt: skip
    elif verdicts and labels and set_name is None:
        live = {"--rubric": rubric, "--samples": samples, "--repeats": repeats, "--max-usd": max_usd}
        if asked := [name for name, value in live.items() if value]:
            raise UsageError(f"Recorded judges are asked nothing: {', '.join(asked)} would change nothing.",
                             hint="Leave it out, or compare live judges with --set.")  # fmt: skip
        if known:
            raise UsageError("Recorded judges have no fingerprint that a probe could be bound to.",
                             hint="Leave out --probes, or compare live judges with --set.")  # fmt: skip
        files = _files(verdicts, labels, fields or (), map, label_map, scale, pass_mark)
        weighing = None if write_jury is None else _weighing(names, settings, write_jury)
        found = compare_files(
            files.verdicts,
            files.labels,
            label_fields=files.label_fields,
            scale=files.scale,
            judges=[name for name in names if not is_jury(name)],
            juries=[load_jury(name, settings) for name in names if is_jury(name)],
            criterion=criterion,
            pass_mark=files.pass_mark,
            vote=settings.vote,
            work=prices,
            dev_share=dev_share,
        )
        if weighing is not None and write_jury is not None:
            _write_learnt(load_jury(weighing, settings), found, files.labels, Path(write_jury))
        if certify and new is not None:
            certified = files.certify(new, criterion, settings, now)
    else:
        raise UsageError(
            "Nothing to compare on.",
            hint="Give --set NAME (`judge sets list`), or --verdicts FILE --labels FILE, not both.",
        )
    change = None
    if old is not None and new is not None:
        change = found.switch(_shown(old, settings), _shown(new, settings), margin=margin, pass_mark=pass_mark)
    _answer(found, change, certified, out, as_json)
    if found.origins and not any(row.scored for row in found.comparison.judges):
        raise ProviderError("The judges failed on every run.", hint="The causes stand in the report.")
    if certified is not None and EXIT[certified.certificate.decision] and certified.certificate.profile != "advisory":
        raise typer.Exit(EXIT[certified.certificate.decision])


def _live(
    set_name: str,
    names: list[str],
    rubrics: list[str] | None,
    criterion: str | None,
    repeats: int | None,
    settings: Settings,
    probes: tuple[ProbeReport, ...],
    budget: Budget,
) -> Compared:
    from judge.cli.progress import progress
    from judge.engine.comparing import compare_set

    with progress("judged", None) as advance:
        return compare_set(
            set_name,
            names or [settings.default_judge],
            settings=settings,
            rubrics=rubrics or (),
            criterion=criterion,
            repeats=repeats,
            probes=probes,
            progress=advance,
            budget=budget,
        )


def _weighing(names: list[str], settings: Settings, path: str) -> str:
    """The one jury among the judges whose weights are learnt; found before anybody is asked."""
    from judge.engine.jury_file import is_jury, load_jury

    found = [name for name in names if is_jury(name) and load_jury(name, settings).rule == "weighted"]
    if len(found) != 1:
        raise UsageError(
            f"--write-jury was given with {len(found)} juries of rule weighted among the judges; one is needed.",
            hint="Name it with --judge.",
        )
    if Path(path).exists():
        raise UsageError(f"{path} exists already.", hint="Choose another name with --write-jury.")
    if not path.endswith((".yaml", ".yml")):
        raise UsageError(f"--write-jury is {path!r}; a jury file ends in .yaml.")
    return found[0]


def _learn(
    jury: str,
    set_name: str,
    rubrics: list[str] | None,
    criterion: str | None,
    settings: Settings,
    path: Path,
    budget: Budget,
) -> None:
    """Learns the weights on the dev runs of the set and writes the jury."""
    from judge.cli.progress import progress
    from judge.engine.jury_file import load_jury
    from judge.engine.jury_weights import learn_weights, write_jury

    if len(rubrics or ()) > 1:
        raise UsageError("--write-jury learns under one rubric.", hint="Give one --rubric, or none.")
    with progress("judged", None) as advance:
        found = learn_weights(
            load_jury(jury, settings),
            set_name,
            settings=settings,
            rubric=rubrics[0] if rubrics else None,
            criterion=criterion,
            progress=advance,
            budget=budget,
        )
    write_jury(found.jury, path, learnt_from=f"{found.runs} dev runs of {set_name}")
    rough = f"; fewer than {FEW_RUNS} make them rough" if found.runs < FEW_RUNS else ""
    note(f"wrote {path}: weights learnt from {found.runs} dev runs{rough}; the comparison is on test runs alone")


def _write_learnt(jury: Jury, found: Compared, labels: Path, path: Path) -> None:
    """Writes the jury of recorded judges with the weights that it learnt."""
    from judge.engine.jury_weights import with_weights, write_jury

    made = with_weights(jury, found.juries[jury.name].weights)
    write_jury(made, path, learnt_from=f"the dev labels of {labels.name}, of judges as they are named there")
    note(f"wrote {path}: members are named as in the records; rename them for live use")


@dataclass(frozen=True)
class _Files:
    """Recorded verdicts and labels, with how their columns are read."""

    verdicts: list[tuple[Path, FieldMap]]
    labels: Path
    label_fields: FieldMap
    scale: Scales
    pass_mark: float | None

    def certify(self, new: str, criterion: str | None, settings: Settings, now: datetime) -> Calibration:
        """The certificate of a recorded judge."""
        from judge.engine.jury_file import is_jury, load_jury
        from judge.engine.switching import certify_recorded

        if len(self.verdicts) != 1:
            raise UsageError(
                f"--certify was given with {len(self.verdicts)} files of verdicts; it takes a judge from one file.",
                hint="Put the verdicts into one file, or compare live judges with --set.",
            )
        (path, fields), *_ = self.verdicts
        return certify_recorded(
            load_jury(new, settings) if is_jury(new) else new,
            path,
            self.labels,
            verdict_fields=fields,
            label_fields=self.label_fields,
            scale=self.scale,
            settings=settings,
            now=now,
            criterion=criterion,
            pass_mark=self.pass_mark,
        )


def _files(
    verdicts: list[str],
    labels: str,
    fields: list[str] | tuple[str, ...],
    map: str | None,
    label_map: str | None,
    scale: str | None,
    pass_mark: float | None,
) -> _Files:
    if len(fields) not in (0, 1, len(verdicts)):
        raise UsageError(f"{len(fields)} --fields for {len(verdicts)} --verdicts; give one for all or one a file.")
    given = [fields_file(path) for path in fields] or [{}]
    given = given * len(verdicts) if len(given) == 1 else given
    first = given[0]
    return _Files(
        verdicts=[
            (Path(path), field_map(map, own.get("verdicts"), "verdicts", None))
            for path, own in zip(verdicts, given, strict=True)
        ],
        labels=Path(labels),
        label_fields=field_map(label_map, first.get("labels"), "labels", None),
        scale=scale_of(scale if scale is not None else first.get("scale")),
        pass_mark=pass_mark if pass_mark is not None else first.get("pass_mark"),
    )


def _answer(
    found: Compared, switched: Switch | None, certified: Calibration | None, out: str | None, as_json: bool
) -> None:
    from judge.report.compare import certificate_text, comparison_text, switch_text

    document: dict[str, Any] = found.comparison.to_json()
    document["juries"] = {name: errors.to_json() for name, errors in found.juries.items()}
    document["switch"] = switched.to_json() if switched else None
    document["certificate"] = certified.certificate.to_json() if certified else None
    parts = [comparison_text(found.comparison, found.juries)]
    if switched is not None:
        parts.insert(0, switch_text(switched))
    if certified is not None:
        parts.insert(1, certificate_text(certified.certificate))
    text = "\n\n".join(parts)
    if out is not None:
        from judge.report.compare_page import comparison_page
        from judge.report.folder import write_comparison

        page = comparison_page(found.comparison, found.juries, switched, certified.certificate if certified else None)
        for path in write_comparison(page, document, text, Path(out)):
            note(f"wrote {path}")
    if as_json:
        emit(document)
    else:
        say(text)


def _shown(name: str, settings: Settings) -> str:
    """The name under which a judge stands in the comparison: a jury file's is that of its jury."""
    from judge.engine.jury_file import is_jury, load_jury

    return load_jury(name, settings).name if is_jury(name) else name


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
