"""`judge diff`: two results of one suite, case by case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, note, say
from judge.errors import UsageError

if TYPE_CHECKING:
    from judge.types.suite import SuiteResult


def diff(
    base: Annotated[str, typer.Argument(help="result.json of `judge run --out`, or its --json output.")],
    candidate: Annotated[str, typer.Argument(help="The same of the candidate.")],
    critical_tag: Annotated[
        list[str] | None, typer.Option("--critical-tag", help="Any lower pass rate under this tag fails. Repeatable.")
    ] = None,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Compare the holdout cases; every look at them is counted.")
    ] = False,
    html: Annotated[str | None, typer.Option("--html", help="Write the comparison as a page of its own.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare two runs of a suite: fixed, broken, flaky, and an exact paired test; a regression exits 1."""
    from judge.engine.suite_diff import compare_results
    from judge.report.suite import diff_text

    tags = tuple(critical_tag or ())
    one, other = _read(base), _read(candidate)
    made = compare_results(one, other, critical=tags, split="holdout" if holdout else "dev")
    if holdout:
        made = made.model_copy(update={"holdout_looks": _count(one, other)})
    if html:
        from pathlib import Path

        from judge.report.suite_page import diff_page

        Path(html).write_text(diff_page(made), encoding="utf-8", newline="\n")
        note(f"Wrote {html}.")
    if as_json:
        emit(made.to_json())
    else:
        say(diff_text(made))
    regressed = made.critical_regressions if tags else made.counts["broken"]
    if regressed:
        raise typer.Exit(1)


def _read(path: str) -> SuiteResult:
    from pathlib import Path

    from pydantic import ValidationError

    from judge.types.suite import SuiteResult

    file = Path(path) / "result.json" if Path(path).is_dir() else Path(path)
    try:
        return SuiteResult.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(f"The result {str(file)!r} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise UsageError(
            f"{file} is no result of a suite: {where}: {first['msg']}.",
            hint="`judge run --out DIR` writes DIR/result.json.",
        ) from None


def _count(base: SuiteResult, candidate: SuiteResult) -> int:
    """Notes this look at the holdout and says how many there have been; the same pair again is the same look."""
    from datetime import UTC, datetime

    from judge.config import load_settings
    from judge.store.certificates import count_use

    folder = load_settings().certificates.parent / "holdout"
    look = f"{base.fingerprint} against {candidate.fingerprint}"
    return count_use(f"suite:{base.suite}", look, datetime.now(UTC).isoformat(timespec="seconds"), folder)
