"""`judge pairwise`: which of two runs of one task is better, asked in both orders, and who is best of all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from judge.cli import options
from judge.cli.output import emit, note, say
from judge.cli.score import all_failed
from judge.errors import UsageError

if TYPE_CHECKING:
    from judge.calibration.pair_findings import PairReport
    from judge.config import Settings
    from judge.engine.pairing import Pairing
    from judge.engine.pairwise import JudgedPairs
    from judge.types import Reference
    from judge.types.pair import Preferred


def pairwise(
    traces: options.Traces,
    rubric: options.Rubric = None,
    judge: options.Judge = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Rank each agent or each run; agents by default where all name one.")
    ] = None,
    max_pairs: Annotated[
        int | None, typer.Option("--max-pairs", min=1, help="Most pairs, in turns from each task.")
    ] = None,
    samples: Annotated[int | None, typer.Option("--samples", "-n", min=1, help="Votes in each order; 1.")] = None,
    scores: Annotated[
        str | None, typer.Option("--scores", help="Verdicts of `judge score --out` on the same runs, to compare with.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels", help='What people prefer: JSON Lines of {"a": ID, "b": ID, "preferred": "a"|"b"|"tie"}.'
        ),
    ] = None,
    pseudo_wins: Annotated[
        float,
        typer.Option("--pseudo-wins", min=0.0, help="Wins added between every two, so that one who never loses ranks."),
    ] = 0.0,
    reference: options.Reference = None,
    policy_text: options.PolicyText = None,
    base_url: options.BaseUrl = None,
    temperature: options.Temperature = None,
    max_output_tokens: options.MaxOutputTokens = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", min=1, help="Pairs under way at once.")
    ] = None,
    max_usd: options.MaxUsd = None,
    no_cache: options.NoCache = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the resampling of tasks.")] = 0,
    show_prompt: options.ShowPrompt = False,
    dry_run: options.DryRun = False,
    format: options.Format = None,
    mapping: options.Mapping = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Folder for pairwise.html, .json and .txt, and pairs.jsonl as verdicts come."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare runs of the same task two by two, each pair in both orders; rank agents by the pairs they win.

    A pair is won only where both orders say so. Where they disagree it is inconclusive, and where a reply fails it has
    failed: neither is a tie.
    """
    from judge.cli import reading
    from judge.config import load_settings
    from judge.engine.pairing import pairs_of

    settings = load_settings(
        {
            "judge": judge,
            "rubric": rubric,
            "samples": samples,
            "temperature": temperature,
            "max_output_tokens": max_output_tokens,
            "concurrency": concurrency,
            "max_usd": max_usd,
            "cache": False if no_cache else None,
            "base_url": base_url,
        }
    )
    runs = list(reading.trajectories(traces, format=format, mapping=mapping, limit=None))
    found = pairs_of(runs, by=_ranked(by), most=max_pairs)
    policy = reading.text_file(policy_text, "policy")
    references = reading.references(reference)
    if show_prompt or dry_run:
        _preview(found, settings, references, policy, show_prompt=show_prompt, as_json=as_json)
        return
    given_scores = _scores(scores)
    given_labels = _labels(labels)
    if found.alone:
        note(f"Runs without another one to be compared with: {len(found.alone)} ({', '.join(found.alone[:5])}).")
    judged = _judge(found, settings, references, policy, out)
    if judged.verdicts:
        _answer(found, judged, given_scores, given_labels, pseudo_wins, seed, out, as_json)
    if judged.stopped is not None:
        raise judged.stopped
    if all(verdict.winner == "failed" for verdict in judged.verdicts):
        raise all_failed((error.kind for verdict in judged.verdicts for error in verdict.errors), "pair")


def _preview(
    found: Pairing,
    settings: Settings,
    reference: Reference | dict[str, Reference] | None,
    policy: str | None,
    *,
    show_prompt: bool,
    as_json: bool,
) -> None:
    from judge.engine.pair_plan import plan_pairs

    made = plan_pairs(found.pairs, settings=settings, reference=reference, policy=policy, payloads=show_prompt)
    if as_json:
        emit(made.to_json())
    elif show_prompt:
        say("\n".join(prompt.text() for prompt in made.prompts))
    else:
        say(made.text())


def _ranked(by: str | None) -> Literal["agent", "run"] | None:
    if by is None:
        return None
    if by == "agent":
        return "agent"
    if by == "run":
        return "run"
    raise UsageError(f"--by is {by!r}; agent or run is needed.")


def _judge(
    found: Pairing,
    settings: Settings,
    reference: Reference | dict[str, Reference] | None,
    policy: str | None,
    out: str | None,
) -> JudgedPairs:
    import json
    from contextlib import ExitStack

    from judge.cli.progress import progress
    from judge.engine.pairwise import judge_pairs
    from judge.types.pair import PairVerdict

    with ExitStack() as stack:
        file = None
        if out is not None:
            try:
                Path(out).mkdir(parents=True, exist_ok=True)
                file = stack.enter_context((Path(out) / "pairs.jsonl").open("w", encoding="utf-8"))
            except OSError as error:
                raise UsageError(f"--out {out!r} cannot be written: {error.strerror or error}.") from None
        advance = stack.enter_context(progress("judged", len(found.pairs)))
        count = 0

        def done(verdict: PairVerdict) -> None:
            nonlocal count
            count += 1
            advance(count)
            if file is not None:
                file.write(json.dumps(verdict.to_json(), ensure_ascii=False) + "\n")
                file.flush()

        return judge_pairs(
            found.pairs,
            settings=settings,
            reference=reference,
            policy=policy,
            done=done,
        )


def _answer(
    found: Pairing,
    judged: JudgedPairs,
    scores: dict[str, float] | None,
    labels: dict[tuple[str, str], Preferred] | None,
    pseudo_wins: float,
    seed: int,
    out: str | None,
    as_json: bool,
) -> None:
    import numpy as np

    from judge.calibration.pair_findings import pair_report
    from judge.report.pairwise import pair_report_text, pair_text

    report = pair_report(
        judged.verdicts,
        ranked=found.ranked,
        rng=np.random.default_rng(seed),
        scores=scores,
        labels=labels,
        pseudo_wins=pseudo_wins,
    )
    text = "\n".join([*(pair_text(verdict) for verdict in judged.verdicts), "", pair_report_text(report)])
    if out is not None:
        _write(out, report, judged, text)
    if as_json:
        emit({"results": [verdict.to_json() for verdict in judged.verdicts], "report": report.to_json()})
    else:
        say(text)


def _write(out: str, report: PairReport, judged: JudgedPairs, text: str) -> None:
    from judge.report.folder import write_comparison
    from judge.report.pairwise_page import pair_page

    page = pair_page(report, judged.verdicts)
    for path in write_comparison(page, report.to_json(), text, Path(out), name="pairwise"):
        note(f"wrote {path}")


def _scores(path: str | None) -> dict[str, float] | None:
    """Score of each run in a file of verdicts; runs without one are left out."""
    if path is None:
        return None
    from judge.store.jsonl import read_verdicts

    out: dict[str, float] = {}
    for verdict in read_verdicts(path).verdicts:
        if verdict.score is None:
            continue
        if verdict.trajectory_id in out:
            raise UsageError(
                f"{path} holds two scores of {verdict.trajectory_id!r}.",
                hint="Give the verdicts of one judge under one rubric.",
            )
        out[verdict.trajectory_id] = verdict.score
    if not out:
        raise UsageError(f"{path} holds no score.", hint="`judge score --out FILE` writes such a file.")
    return out


def _labels(path: str | None) -> dict[tuple[str, str], Preferred] | None:
    """What people prefer, by the two ids."""
    if path is None:
        return None
    import json

    from judge.cli.reading import text_file

    out: dict[tuple[str, str], Preferred] = {}
    for number, line in enumerate((text_file(path, "labels") or "").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            a, b, preferred = str(value["a"]), str(value["b"]), value["preferred"]
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"{path}, line {number}: {error!r}.",
                hint='Each line is {"a": ID, "b": ID, "preferred": "a", "b" or "tie"}.',
            ) from None
        if preferred not in ("a", "b", "tie"):
            raise UsageError(f"{path}, line {number}: preferred is {preferred!r}; a, b or tie is needed.")
        if (a, b) in out or (b, a) in out:
            raise UsageError(f"{path}, line {number}: {a!r} and {b!r} are labelled twice.")
        out[a, b] = preferred
    if not out:
        raise UsageError(f"{path} holds no label.")
    return out
