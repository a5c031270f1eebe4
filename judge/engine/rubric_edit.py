"""Asks a model for an edit of a rubric, and writes it to a file of its own. Nothing is accepted by this."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from judge.config import Settings
from judge.engine.budget import Budget
from judge.engine.connection import Connection, OpenJury
from judge.engine.draw import cost_of
from judge.engine.facade import budget_of, open_judge
from judge.engine.loop import PRIVATE
from judge.errors import ConfigError, ProviderError, UsageError
from judge.prompt import lint_rubric, rubric_path
from judge.prompt.rubric_edit import Disagreement, edit_request, edited_rubric, next_version, parse_edit
from judge.providers.failures import may_be_billed
from judge.types.record import Record
from judge.types.request import Request, Sampling
from judge.types.rubric import Criterion, Rubric
from judge.types.rubric_edit import RubricEdit
from judge.types.trajectory import Usage
from judge.voting import add_known


class Proposal(Record):
    """What a model proposed.

    Attributes:
        edit: None with `failure`.
        path: File of the edited rubric, `version` its version; None without an edit.
        findings: What lint says of the new file; one with errors is written and not measured.
        calls: Calls made, `cost_usd` their price or None where unknown.
    """

    omit_none: ClassVar[bool] = False

    asked: str
    edit: RubricEdit | None
    failure: str | None
    path: str | None
    version: str | None
    findings: tuple[str, ...] = ()
    sound: bool = False
    calls: int
    cost_usd: float | None


def propose(
    rubric: str | Path,
    loaded: Rubric,
    criterion: Criterion,
    disagreements: Sequence[Disagreement],
    *,
    asked: str,
    settings: Settings,
    out: Path | None = None,
    runs: Sequence[str] = (),
    budget: Budget | None = None,
) -> Proposal:
    """Asks `asked` for one edit and writes the rubric that it makes.

    Args:
        rubric: Name or file of the present rubric, whose text is edited.
        out: File to write; "ID-VERSION.yaml" in the working folder when None. Never one that exists.
        runs: Names that a clause must not hold.
        budget: Of a larger piece of work that this is part of; None for one of its own.

    Raises:
        UsageError: The file exists, or a jury is asked.
        ConfigError, BudgetReached: A cap is set that the call does not fit under, or whose price is unknown.
        ProviderError: The model cannot be reached.
    """
    version = next_version(loaded.version)
    path = out or Path(f"{loaded.id}-{version}.yaml")
    if path.exists():
        raise UsageError(f"{path} exists already.", hint="Choose another name with --out, or measure it with --edit.")
    request = edit_request(
        loaded, criterion, disagreements, sampling=Sampling(max_output_tokens=settings.max_output_tokens)
    )
    budget = budget or budget_of(settings)
    edit, calls, cost = PRIVATE.run(_ask(asked, request, criterion, settings, runs, budget))
    if isinstance(edit, str):
        return Proposal(asked=asked, edit=None, failure=edit, path=None, version=None, calls=calls, cost_usd=cost)
    source = rubric_path(rubric)
    text = source.read_text(encoding="utf-8")
    note = f"{version}: {edit.place} of {criterion.id}, proposed by {asked} from disagreements on dev runs."
    examples = [_seen_from(path.parent, source.parent / each) for each in loaded.examples]
    path.write_text(edited_rubric(text, edit, version=version, note=note, examples=examples), encoding="utf-8")
    findings = lint_rubric(path)
    return Proposal(
        asked=asked,
        edit=edit,
        failure=None,
        path=str(path),
        version=version,
        findings=tuple(f"{path}:{f.line}: {f.severity}: {f.code}: {f.message}" for f in findings),
        sound=not any(f.severity == "error" for f in findings),
        calls=calls,
        cost_usd=cost,
    )


def _seen_from(folder: Path, file: Path) -> str:
    """Path of a file from a folder, with slashes; whole where there is no way from one to the other."""
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:  # another drive
        return file.resolve().as_posix()


async def _ask(
    asked: str, request: Request, criterion: Criterion, settings: Settings, runs: Sequence[str], budget: Budget
) -> tuple[RubricEdit | str, int, float | None]:
    async with open_judge(asked, settings) as opened:
        if isinstance(opened, OpenJury):
            raise UsageError(f"{asked!r} is a jury; one model writes an edit.", hint="Name a single judge with --ask.")
        kept = opened.hit(request)
        if kept is not None and isinstance(edit := parse_edit(kept.text, criterion, runs=runs), RubricEdit):
            return edit, 0, 0.0
        costs: list[float | None] = []
        found: RubricEdit | str = "no call was made"
        calls = 0
        for attempt in range(settings.retries + 1):
            sent = request.model_copy(update={"attempt": attempt})
            calls = attempt + 1
            estimate = _estimate(opened, sent, settings)
            if not budget.admit(estimate):
                raise budget.reached(estimate)
            try:
                reply = await opened.complete(sent)
            except BaseException as error:
                if isinstance(error, ProviderError) and may_be_billed(error):
                    budget.settle(estimate, None)
                else:
                    budget.release(estimate)
                raise
            cost = cost_of(opened, reply.usage)
            budget.settle(estimate, cost)
            costs += [cost, *[0.0 if opened.offline else None] * reply.untold]
            found = parse_edit(reply.text, criterion, runs=runs) if reply.status == "ok" else f"reply: {reply.status}"
            if isinstance(found, RubricEdit):
                opened.keep(request, reply)
                break
        return found, calls, add_known(costs)


def _estimate(connection: Connection, request: Request, settings: Settings) -> float:
    """Most that the call may cost; 0 where no cap is set.

    Raises:
        ConfigError: A cap is set and the price is not known.
    """
    if connection.offline or (settings.max_usd is None and settings.max_usd_per_day is None):
        return 0.0
    tokens = connection.count_tokens("".join((request.system, *request.segments)))
    price = connection.price(Usage(input_tokens=tokens, output_tokens=request.sampling.max_output_tokens))
    if price is None:
        raise ConfigError(
            f"max_usd is {settings.max_usd!r}, but the price of {connection.name!r} is not known.",
            hint=f'Set its prices under [models."{connection.name}"] in judge.toml, or leave out the cap.',
        )
    return price
