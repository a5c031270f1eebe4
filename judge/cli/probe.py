"""`judge probe`: implant known faults, attacks and biases, and see what the judge makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli import options
from judge.cli.output import check_target, emit, note, say
from judge.errors import UsageError

if TYPE_CHECKING:
    from judge.config import Settings
    from judge.engine.probing import Planting, ProbeRuns
    from judge.types.probe import BiasRow, ProbeKind, ProbeReport
    from judge.types.rubric import Rubric

KINDS: dict[str, ProbeKind] = {"faults": "fault", "attacks": "attack", "null": "null", "biases": "bias"}
EXIT = {"certified": 0, "refused": 1, "undecided": 3}


def probe(
    traces: Annotated[
        list[str] | None,
        typer.Argument(help="Trace files with good runs; all shipped sets without any.", metavar="[TRACE...]"),
    ] = None,
    rubric: options.Rubric = None,
    judge: options.Judge = None,
    set_names: Annotated[
        list[str] | None, typer.Option("--set", help="Calibration set to take runs from; may be given again.")
    ] = None,
    kinds: Annotated[
        str, typer.Option("--kinds", help="Which probes: faults, attacks, null, biases, with commas.")
    ] = "faults,attacks,null,biases",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Most runs that each probe starts from.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the places and forms that are chosen.")] = 0,
    profile: Annotated[str, typer.Option("--profile", help="strict, default or advisory.")] = "default",
    samples: options.Samples = None,
    reference: options.Reference = None,
    policy_text: options.PolicyText = None,
    base_url: options.BaseUrl = None,
    concurrency: options.Concurrency = None,
    max_usd: options.MaxUsd = None,
    no_cache: options.NoCache = False,
    cache: options.Cache = None,
    cache_optional: options.CacheOptional = False,
    translations: Annotated[
        str | None,
        typer.Option("--translations", help="What runs say in another language, for a bias probe (docs/probes.md)."),
    ] = None,
    pairwise: Annotated[
        bool,
        typer.Option("--pairwise", help="Compare runs of a task in both orders too: is the first place preferred?"),
    ] = False,
    format: options.Format = None,
    mapping: options.Mapping = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print calls, tokens and cost; send nothing. With --out, write the mutated runs."
        ),
    ] = False,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Folder for probe.json, probe.txt, probe.html and the mutated runs."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Implant known faults and attacks in good runs: what does this judge see? (exit 1 not passed, 3 undecided)

    Takes no label: the change is known, and each changed run is compared with the run that it was made from.
    """
    from typing import get_args

    from judge.calibration.probes.language import read_translations
    from judge.cli import reading
    from judge.cli.progress import progress
    from judge.config import load_settings
    from judge.engine import probing
    from judge.engine.facade import budget_of, rubric_of
    from judge.report.probe import probe_text
    from judge.types.calibration_set import Profile

    settings = load_settings(
        {
            "judge": judge,
            "rubric": rubric,
            "samples": samples,
            "base_url": base_url,
            "concurrency": concurrency,
            "max_usd": max_usd,
            **options.cache_flags(cache, no_cache, cache_optional),
        }
    )
    if profile not in get_args(Profile):
        raise UsageError(f"The profile {profile!r} is none of {', '.join(get_args(Profile))}.")
    check_target(out, folder=True)
    used = rubric_of(None, settings)
    what = _runs(traces, set_names, used, format, mapping)
    planted = probing.planting(
        what,
        used,
        settings=settings,
        kinds=_kinds(kinds),
        limit=limit,
        seed=seed,
        translations=read_translations(translations) if translations is not None else (),
    )
    references = reading.references(reference)
    policy = reading.text_file(policy_text, "policy")
    total = len(planted.runs())
    note(f"{total:,} runs to judge: {len(planted.mutants):,} with a known change, and what they are compared with.")
    if dry_run:
        _preview(planted, settings, {"reference": planted.references(references), "policy": policy}, as_json, pairwise)
        if out:
            _write_mutants(out, planted)
        return
    budget = budget_of(settings)
    positions: tuple[BiasRow, ...] = ()
    if pairwise:
        from judge.engine.pair_probing import probe_position

        with progress("compared", None) as advance:
            positions = (
                probe_position(
                    planted,
                    settings=settings,
                    limit=limit,
                    reference=references,
                    policy=policy,
                    progress=advance,
                    budget=budget,
                ),
            )
    with progress("judged", total) as advance:
        report = probing.probe(
            planted,
            settings=settings,
            profile=profile,  # type: ignore[arg-type]  # checked above
            reference=references,
            policy=policy,
            progress=advance,
            budget=budget,
        )
    report = report.model_copy(update={"biases": (*report.biases, *positions)})
    if out:
        _write(out, planted, report)
    if as_json:
        emit(report.to_json())
    else:
        say(probe_text(report))
    if EXIT[report.decision]:
        raise typer.Exit(EXIT[report.decision])


def _preview(planted: Planting, settings: Settings, given: dict[str, Any], as_json: bool, pairwise: bool) -> None:
    from judge.engine.plan import plan

    made = plan(iter(planted.runs()), planted.rubric, settings=settings, **given)
    if as_json:
        emit(made.to_json())
    else:
        say(made.text())
    if "bias" in planted.kinds and len(planted.rubric.criteria) > 1:
        note(f"Not counted: {len(planted.good):,} runs again, with the criteria in reverse order.")
    if pairwise:
        note("Not counted: pairs of --pairwise.")


def _kinds(text: str) -> tuple[ProbeKind, ...]:
    from judge.registry import unknown

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in KINDS:
            raise unknown("kind of probe", name, KINDS)
    if not names:
        raise UsageError("No kind of probe is named.", hint=f"Known: {', '.join(KINDS)}.")
    return tuple(kind for name, kind in KINDS.items() if name in names)


def _runs(
    traces: list[str] | None, sets: list[str] | None, rubric: Rubric, format: str | None, mapping: str | None
) -> ProbeRuns:
    from judge.calibration.sets import load_set, set_names
    from judge.cli import reading
    from judge.engine.probing import runs_of_sets, runs_of_traces

    if traces and sets:
        raise UsageError("Runs come from trace files or from a set, and both were given.", hint="Leave out one.")
    if traces:
        runs = list(reading.trajectories(traces, format=format, mapping=mapping, limit=None))
        return runs_of_traces(runs, ", ".join(traces))
    return runs_of_sets([load_set(name) for name in sets or set_names()], rubric)


def _write(folder: str, planted: Planting, report: ProbeReport) -> None:
    import json
    from pathlib import Path

    from judge.report.folder import write_texts
    from judge.report.probe import probe_text
    from judge.report.probe_page import probe_page

    texts = {
        "probe.json": json.dumps(report.to_json(), ensure_ascii=False, indent=2) + "\n",
        "probe.txt": probe_text(report) + "\n",
        "probe.html": probe_page(report),
    }
    write_texts(texts, Path(folder))
    _write_mutants(folder, planted)
    note(f"Written: probe.json, probe.txt and probe.html in {folder}.")


def _write_mutants(folder: str, planted: Planting) -> None:
    import json
    from pathlib import Path

    from judge.report.folder import write_texts

    lines = "".join(json.dumps(one.linked().to_json(), ensure_ascii=False) + "\n" for one in planted.mutants)
    (path,) = write_texts({"mutants.jsonl": lines}, Path(folder))
    note(f"Written: {len(planted.mutants):,} runs with a known change in {path}.")
