"""`judge calibrate`: is this judge good enough, for what, and how sure are we."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli import options, reading
from judge.cli.output import check_target, emit, note, say
from judge.cli.recorded import field_map, fields_file, scale_of
from judge.errors import UsageError

if TYPE_CHECKING:
    from judge.config import Settings
    from judge.engine.certifying import Calibration, Terms

PROFILES = ("strict", "default", "advisory")
KEY_BYTES = 32
EXIT = {"certified": 0, "refused": 1, "undecided": 3}


def calibrate(
    set_name: Annotated[
        str | None, typer.Argument(help="A shipped calibration set or a folder; or give --verdicts and --labels.")
    ] = None,
    judge: options.Judge = None,
    rubric: Annotated[str | None, typer.Option("--rubric", "-r", help="Rubric; the set names its own.")] = None,
    criterion: Annotated[str | None, typer.Option("--criterion", help="Criterion of the set or the files.")] = None,
    verdicts: Annotated[str | None, typer.Option("--verdicts", help="Recorded verdicts: CSV, JSON or JSONL.")] = None,
    labels: options.Labels = None,
    fields: Annotated[
        str | None, typer.Option("--fields", help="YAML with `verdicts:`, `labels:`, `scale:`, `pass_mark:`.")
    ] = None,
    map: options.Columns = None,
    label_map: Annotated[
        str | None, typer.Option("--label-map", help="Columns of the labels, in the same form.")
    ] = None,
    scale: options.Scale = None,
    pass_mark: options.PassMark = None,
    rater_kind: Annotated[
        str | None,
        typer.Option("--rater-kind", help="Who labelled, where the file does not say: human, policy, model."),
    ] = None,
    terms_file: Annotated[
        str | None, typer.Option("--settings", help="A set.yaml with sampling design, claims and allowed kinds.")
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="strict, default or advisory.")] = None,
    samples: options.Samples = None,
    vote: Annotated[str | None, typer.Option("--vote", help="Vote rule; auto by default.")] = None,
    repeats: Annotated[
        int | None, typer.Option("--repeats", min=2, help="Samples a run, to see the wobble; 3 or more for the claim.")
    ] = None,
    cost_false_pass: Annotated[
        float | None, typer.Option("--cost-false-pass", min=0.0, help="Cost of passing a bad run.")
    ] = None,
    cost_false_fail: Annotated[
        float | None, typer.Option("--cost-false-fail", min=0.0, help="Cost of failing a good run.")
    ] = None,
    cost_review: Annotated[
        float | None, typer.Option("--cost-review", min=0.0, help="Cost of a person's look.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Folder for report.html, report.json and text.")
    ] = None,
    certificates: options.Certificates = None,
    sign: Annotated[str | None, typer.Option("--sign", help="File with a raw ed25519 private key (32 bytes).")] = None,
    probes: Annotated[
        str | None, typer.Option("--probes", help="probe.json of `judge probe --out` for the same judge and rubric.")
    ] = None,
    gate_bar: Annotated[
        float | None, typer.Option("--gate-bar", min=0.0, max=1.0, help="Forecast a gate that asks for this pass rate.")
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            "--days",
            min=1,
            help="Days that the certificate holds; by default 90, or 7 where the model's name ends in latest.",
        ),
    ] = None,
    max_usd: options.MaxUsd = None,
    base_url: options.BaseUrl = None,
    no_cache: options.NoCache = False,
    cache: options.Cache = None,
    cache_optional: options.CacheOptional = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure a judge against labels and certify, refuse or leave it undecided (exit 0, 1 or 3)."""
    from judge.config import load_settings
    from judge.engine.calibrating import calibrate_set

    check_target(out, folder=True)
    settings = load_settings(
        {
            "judge": judge if set_name else None,
            "samples": samples,
            "vote": vote,
            "certificates": certificates,
            "max_usd": max_usd,
            "base_url": base_url,
            **options.cache_flags(cache, no_cache, cache_optional),
        }
    )
    changes = {
        "profile": _profile(profile),
        "costs": _costs(cost_false_pass, cost_false_fail, cost_review),
        "gate_bar": gate_bar,
        "probes": None if probes is None else reading.probe_report(probes),
        "days": days,
        "save": settings.certificates,
        "key": _key(sign),
    }
    now = datetime.now(UTC)
    if set_name is not None:
        if verdicts or labels:
            raise UsageError("Give a set, or --verdicts and --labels, not both.")
        from judge.cli.progress import progress

        with progress("judged", None) as advance:
            found = calibrate_set(
                set_name,
                settings=settings,
                now=now,
                rubric=rubric,
                criterion=criterion,
                repeats=repeats,
                terms=lambda terms: _changed(terms, changes),
                progress=advance,
            )
    elif verdicts and labels:
        found = _from_files(
            verdicts, labels, fields, map, label_map, scale, pass_mark, rater_kind, terms_file, judge, criterion,
            settings, changes, now,
        )  # fmt: skip
    else:
        raise UsageError(
            "Nothing to calibrate on.",
            hint="Name a set (`judge sets list`), or give --verdicts FILE --labels FILE.",
        )
    _answer(found, out, as_json)


def _answer(found: Calibration, out: str | None, as_json: bool) -> None:
    from judge.report.folder import whole_text, write_calibration

    if out is not None:
        for path in write_calibration(found.report, found.certificate, Path(out), found.label_next, found.jury):
            note(f"wrote {path}")
    if as_json:
        emit(found.to_json())
    else:
        say(whole_text(found.report, found.certificate, found.label_next, found.jury))
    code = EXIT[found.certificate.decision]
    if code and found.certificate.profile != "advisory":
        raise typer.Exit(code)


def _changed(terms: Terms, changes: dict[str, Any]) -> Terms:
    """The terms with what the command line says over them; None says nothing."""
    from dataclasses import replace

    return replace(terms, **{name: value for name, value in changes.items() if value is not None})


def _profile(name: str | None) -> str | None:
    from judge.registry import unknown

    if name is not None and name not in PROFILES:
        raise unknown("profile", name, PROFILES)
    return name


def _key(path: str | None) -> bytes | None:
    """The 32 bytes of a raw ed25519 private key."""
    if path is None:
        return None
    from judge.calibration.certify import need_signatures

    need_signatures()
    try:
        key = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"--sign {path!r}: {error.strerror}.", hint="Give a file with a raw private key.") from None
    if len(key) != KEY_BYTES:
        raise UsageError(f"--sign {path!r} holds {len(key)} bytes; a raw ed25519 private key has {KEY_BYTES}.")
    return key


def _costs(false_pass: float | None, false_fail: float | None, review: float | None) -> Any:
    if false_pass is None and false_fail is None and review is None:
        return None
    from judge.calibration.pass_mark import Costs

    if false_pass is None or false_fail is None or review is None:
        raise UsageError("A review band needs all of --cost-false-pass, --cost-false-fail and --cost-review.")
    return Costs(false_pass=false_pass, false_fail=false_fail, review=review)


def _from_files(
    verdicts: str,
    labels: str,
    fields: str | None,
    map: str | None,
    label_map: str | None,
    scale: str | None,
    pass_mark: float | None,
    rater_kind: str | None,
    terms_file: str | None,
    judge: str | None,
    criterion: str | None,
    settings: Settings,
    changes: dict[str, Any],
    now: datetime,
) -> Calibration:
    from judge.calibration.sets import read_settings
    from judge.engine.calibrating import calibrate_files
    from judge.engine.certifying import Terms
    from judge.engine.jury_file import is_jury, load_jury

    given = fields_file(fields)
    terms = Terms(label_set=Path(labels).name)
    if terms_file is not None:
        stated = read_settings(Path(terms_file))
        terms = Terms(
            label_set=stated.name,
            design=stated.sampling_design,
            profile=stated.profile,
            claims=stated.claims,
            kinds=stated.label_kinds_allowed,
            population=stated.population,
        )
        own = stated.criterion(criterion) if criterion else stated.criteria[0]
        if own is not None:
            given.setdefault("scale", own.scale)
            given.setdefault("pass_mark", own.pass_mark)
    mark = pass_mark if pass_mark is not None else given.get("pass_mark")
    jury = load_jury(judge, settings) if judge is not None and is_jury(judge) else None
    return calibrate_files(
        Path(verdicts),
        Path(labels),
        verdict_fields=field_map(map, given.get("verdicts"), "verdicts", None),
        label_fields=field_map(label_map, given.get("labels"), "labels", rater_kind),
        scale=scale_of(scale if scale is not None else given.get("scale")),
        terms=_changed(terms, changes),
        now=now,
        judge_name=None if jury is not None else judge,
        jury=jury,
        criterion=criterion,
        pass_mark=mark,
        vote=settings.vote,
    )
