"""The pages: sign in, queues, labelling, adjudication, disagreements, reports, certificates."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Depends, Request
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from judge.engine.facade import measure
from judge.errors import JudgeError, UsageError
from judge.report.numbers import number
from judge.report.trajectory_page import body, branches, depths
from judge.server.access import COOKIE, ServiceHere, address, allow, check_csrf, check_key, session_caller
from judge.server.problems import Problem, of_error
from judge.server.progress import BAR, disagreements, people, progress_of
from judge.server.service import Service
from judge.server.text import visible
from judge.store.access_keys import ADJUDICATED, Caller, begin_session, end_session, rater_name
from judge.store.certificates import read_shelf
from judge.store.label_queue import Entry, QueueSettings, score_of
from judge.types.rubric import BinaryScale, Criterion, LevelScale

router = APIRouter(include_in_schema=False)

BESIDE = ("num_tool_calls", "num_redundant_calls", "num_failed_calls", "error_recovery")
"""Metrics that stand beside judge and people where they differ."""
MOST_FIELDS = 50
LONG = 600
"""Characters of a step beyond which it is folded."""


class SignInFirst(Exception):
    """No session: the browser is sent to the sign-in page."""


class Choice(NamedTuple):
    """One answer on the page, and the key that gives it."""

    value: float
    key: str
    name: str
    anchor: str


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("judge.server"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(visible=visible, path=lambda text: quote(str(text), safe=""))
    environment.globals.update(body=body, branches=branches, depths=depths, number=number, LONG=LONG, BAR=BAR)
    return environment


def page(name: str, caller: Caller | None, *, status: int = 200, **values: Any) -> HTMLResponse:
    """One page from its template."""
    text = _environment().get_template(f"{name}.html.jinja").render(caller=caller, **values)
    return HTMLResponse(text.encode("utf-8", "replace"), status)


def signed_in(request: Request, service: ServiceHere) -> Caller:
    """Who is signed in; raises `SignInFirst` for nobody, a problem for a key that may not label."""
    caller = session_caller(request, service)
    if caller is None:
        raise SignInFirst
    return allow(caller, "label")


Rater = Annotated[Caller, Depends(signed_in)]


async def fields_of(request: Request) -> dict[str, list[str]]:
    """The fields of a form, without NULs, which no database takes.

    Raises:
        Problem: 400 for more fields than any form here has.
    """
    text = (await request.body()).decode("utf-8", "replace")
    try:
        found = parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Problem(400, "bad_request", f"A form has at most {MOST_FIELDS} fields.") from None
    return {name: [value.replace("\x00", "") for value in values] for name, values in found.items()}


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, the last of each name."""
    return {name: values[-1] for name, values in (await fields_of(request)).items()}


@router.get("/")
def home() -> Response:
    """The first page."""
    return RedirectResponse("/label", 303)


@router.get("/sign-in")
def sign_in_page(service: ServiceHere) -> Response:
    """Asks for a key, or for a name where none is needed."""
    return page("sign_in", None, open=service.is_open, error="")


@router.post("/sign-in")
async def sign_in(request: Request, service: ServiceHere) -> Response:
    """Begins a session."""
    form = await form_of(request)
    given = form.get("key", "").strip()
    is_open = await run_in_threadpool(lambda: service.is_open)
    try:
        if is_open:
            caller = Caller(name=rater_name(given), role="admin")
        else:
            caller = allow(await check_key(service, address(request), given), "label")
    except UsageError as error:
        return page("sign_in", None, status=422, open=is_open, error=str(error))
    except Problem as problem:
        return page("sign_in", None, status=problem.status, open=is_open, error=problem.detail)
    return await _begin(request, service, caller, "/label")


@router.get("/enter")
async def enter(request: Request, service: ServiceHere, ticket: str, queue: str = "") -> Response:
    """Begins a session with a ticket, which opens one and then nothing any more."""
    caller = service.use_ticket(ticket)
    if caller is None:
        where = "Start the command again for a new one."
        raise Problem(403, "ticket_used", "This address was opened already, or is of another start.", hint=where)
    return await _begin(request, service, caller, f"/label/{quote(queue, safe='')}" if queue else "/label")


async def _begin(request: Request, service: Service, caller: Caller, page: str) -> Response:
    hours = service.deployment.session_hours
    token = await run_in_threadpool(lambda: begin_session(service.engine, caller, now=datetime.now(UTC), hours=hours))
    answer = RedirectResponse(page, 303)
    secure = request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, token, max_age=int(hours * 3600), httponly=True, samesite="strict", secure=secure, path="/"
    )
    return answer


@router.post("/sign-out")
async def sign_out(request: Request, service: ServiceHere, caller: Rater) -> Response:
    """Ends the session."""
    check_csrf(caller, (await form_of(request)).get("csrf", ""))
    await run_in_threadpool(end_session, service.engine, request.cookies.get(COOKIE, ""))
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(COOKIE, path="/")
    return answer


@router.get("/label")
def queues_page(service: ServiceHere, caller: Rater) -> Response:
    """Every queue, and how far it is."""
    names = service.queues.names()
    rows = [(service.queues.settings(name), progress_of(service.queues, name)) for name in names]
    return page("queues", caller, rows=rows)


@router.get("/label/{queue}")
def label_page(
    queue: str, service: ServiceHere, caller: Rater, item: str | None = None, saved: str | None = None
) -> Response:
    """The next run to label, or the one asked for; above it what the judge said of the one just saved."""
    settings = service.queues.settings(queue)
    wanted = _at(service, queue, item) if item else service.queues.next_for(queue, caller.name)
    before = _before(service, settings, caller, _at(service, queue, saved)) if saved else None
    if wanted is None:
        progress = progress_of(service.queues, queue)
        return page("all_labelled", caller, settings=settings, progress=progress, before=before)
    return _labelling(service, caller, queue, wanted, before=before)


def _at(service: Service, queue: str, place: str) -> str:
    """The run at a place of the draw: its own name stands nowhere on the page, since some tell what is wrong."""
    if not (place.isascii() and place.isdigit() and len(place) < 10):
        raise Problem(404, "unknown_name", f"There is no run {place[:20]!r} in the queue {queue[:80]!r}.")
    return service.queues.at(queue, int(place))


def choices(criterion: Criterion) -> list[Choice]:
    """The answers of a criterion, worst first, each with the key that gives it; empty for a range without steps."""
    scale = criterion.scale
    if isinstance(scale, BinaryScale):
        rows = [(0.0, "fail", criterion.anchors.get("fail", "")), (1.0, "pass", criterion.anchors.get("pass", ""))]
    elif isinstance(scale, LevelScale):
        rows = [(float(v.value), v.name, v.anchor or criterion.anchors.get(str(v.value), "")) for v in scale.levels]
    else:
        count = round((scale.max - scale.min) / scale.step) + 1 if scale.step else 0
        values = [scale.min + k * (scale.step or 0) for k in range(count if count <= 21 else 0)]
        rows = [(value, "", criterion.anchors.get(f"{value:g}", "")) for value in values]
    digits = all(value.is_integer() and 0 <= value <= 9 for value, _, _ in rows)
    return [
        Choice(value=value, key=f"{value:g}" if digits else str(k), name=name, anchor=anchor)
        for k, (value, name, anchor) in enumerate(rows, start=1)
    ]


def _before(service: Service, settings: QueueSettings, caller: Caller, saved: str) -> dict[str, Any] | None:
    """What the judge said of a run that this rater has labelled; None where there is no label of theirs."""
    mine = [e for e in service.queues.entries(settings.id, rater=caller.name) if e.trajectory_id == saved]
    if not mine or mine[0].skipped:
        return None
    item = service.queues.item(settings.id, saved)
    score = score_of(item.verdict, settings.criterion.id)
    return {"entry": mine[0], "verdict": item.verdict, "score": score, "position": item.position}


@router.post("/label/{queue}")
async def save_label(queue: str, request: Request, service: ServiceHere, caller: Rater) -> Response:
    """Keeps an answer and goes on to the next run."""
    form = await form_of(request)
    check_csrf(caller, form.get("csrf", ""))
    place = form.get("item", "")
    item = await run_in_threadpool(_at, service, queue, place)
    try:
        entry = entry_of(form, item, caller.name)
        await run_in_threadpool(service.queues.save, queue, entry)
    except JudgeError as error:
        if of_error(error).status == 404:
            raise
        again: dict[str, Any] = {"status": 422, "error": str(error), "mine": _typed(form, item, caller.name)}
        return await run_in_threadpool(lambda: _labelling(service, caller, queue, item, **again))
    service.counters.add("judge_labels_total")
    return RedirectResponse(f"/label/{quote(queue, safe='')}?saved={int(place)}", 303)


def _labelling(service: Service, caller: Caller, queue: str, item: str, *, status: int = 200, **more: Any) -> Response:
    """The page on which one run is labelled; its name is not shown, since some tell what is wrong with the run."""
    settings = service.queues.settings(queue)
    found = service.queues.item(queue, item)
    mine = {entry.trajectory_id: entry for entry in service.queues.entries(queue, rater=caller.name)}
    return page(
        "label",
        caller,
        status=status,
        settings=settings,
        run=found.trajectory,
        position=found.position,
        choices=choices(settings.criterion),
        progress=progress_of(service.queues, queue),
        **{"before": None, "error": "", "mine": mine.get(item)} | more,
    )


def _typed(form: dict[str, str], item: str, rater: str) -> Entry:
    """What was typed into a form that cannot be kept, so that nobody types it twice; no answer is chosen in it."""
    step = form.get("step", "").strip()
    index = int(step) if step.isascii() and step.isdigit() and len(step) < 10 else None
    return Entry(trajectory_id=item, rater=rater, skipped=True, step=index, note=form.get("note", "")[:10_000])


def entry_of(form: dict[str, str], item: str, rater: str) -> Entry:
    """The answer that a form holds on the run `item`.

    Raises:
        UsageError: No answer was chosen, or a number cannot be read.
    """
    answer = form.get("value", "")
    if form.get("action") == "skip":
        answer = "skip"
    if not answer:
        raise UsageError("No answer was chosen.", hint="Press a number, n for not applicable, or s to skip.")
    step = form.get("step", "").strip()
    try:
        value = None if answer in ("skip", "na") else float(answer)
        index = int(step) if step else None
    except ValueError:
        raise UsageError(f"{answer[:20]!r} with step {step[:20]!r} cannot be read.") from None
    note = form.get("note", "").strip()[:10_000]
    return Entry(
        trajectory_id=item,
        rater=rater,
        skipped=answer == "skip",
        value=value,
        step=index,
        note=note,
    )


@router.get("/adjudicate/{queue}")
def adjudicate_page(queue: str, service: ServiceHere, caller: Rater) -> Response:
    """The first run that people labelled differently, with all their answers; for admins."""
    allow(caller)
    return _adjudicating(service, caller, queue)


def _adjudicating(service: Service, caller: Caller, queue: str, *, status: int = 200, error: str = "") -> Response:
    settings = service.queues.settings(queue)
    disputes = service.queues.disputes(queue)
    first = next(iter(disputes), None)
    return page(
        "adjudicate",
        caller,
        status=status,
        settings=settings,
        left=len(disputes),
        run=None if first is None else service.queues.item(queue, first).trajectory,
        entries=[] if first is None else disputes[first],
        choices=choices(settings.criterion),
        error=error,
    )


@router.post("/adjudicate/{queue}")
async def adjudicate(queue: str, request: Request, service: ServiceHere, caller: Rater) -> Response:
    """Keeps the value that settles a dispute, under the rater name "adjudicated"; the note says who did it.

    What fewer than two people labelled is in no dispute: 409.
    """
    allow(caller)
    form = await form_of(request)
    check_csrf(caller, form.get("csrf", ""))
    item = form.get("item", "")
    given = await run_in_threadpool(lambda: people(service.queues.entries(queue)).get(item, []))
    if len({entry.rater for entry in given} - {ADJUDICATED}) < 2:
        raise Problem(409, "not_disputed", f"{item[:80]!r} has the labels of fewer than two people.")
    try:
        entry = entry_of(form, item, ADJUDICATED)
        note = f"by {caller.name}. {entry.note}".strip()
        await run_in_threadpool(service.queues.save, queue, entry.model_copy(update={"note": note}))
    except UsageError as error:
        again: dict[str, Any] = {"status": 422, "error": str(error)}
        return await run_in_threadpool(lambda: _adjudicating(service, caller, queue, **again))
    return RedirectResponse(f"/adjudicate/{quote(queue, safe='')}", 303)


@router.get("/disagreements/{queue}")
def disagreements_page(queue: str, service: ServiceHere, caller: Rater) -> Response:
    """Judge and people side by side where they differ; for admins, since it shows everyone's labels."""
    allow(caller)
    settings = service.queues.settings(queue)
    rows = disagreements(service.queues, queue)
    shown = [
        {**row, "metrics": [found[name].value for name in BESIDE]}
        for row in rows
        for found in [measure(service.queues.item(queue, str(row["id"])).trajectory, only=BESIDE)]
    ]
    return page("disagreements", caller, settings=settings, rows=shown, metrics=BESIDE)


@router.get("/disagreements/{queue}/run")
def run_page(queue: str, item: str, service: ServiceHere, caller: Rater) -> Response:
    """One run with what the judge, every person and the metrics say of it; for admins."""
    allow(caller)
    settings = service.queues.settings(queue)
    found = service.queues.item(queue, item)
    return page(
        "run",
        caller,
        settings=settings,
        run=found.trajectory,
        verdict=found.verdict,
        judge=score_of(found.verdict, settings.criterion.id),
        entries=[entry for entry in service.queues.entries(queue) if entry.trajectory_id == item],
        metrics=measure(found.trajectory, only=BESIDE),
    )


@router.get("/certificates")
def certificates_page(service: ServiceHere, caller: Rater) -> Response:
    """Every certificate with its state today."""
    shelf = read_shelf(service.deployment.settings.certificates)
    revoked = {one.certificate for one in shelf.revocations}
    now = datetime.now(UTC)
    rows = []
    for one in sorted(shelf.certificates, key=lambda one: one.issued_at, reverse=True):
        over = one.decision == "certified" and now >= datetime.fromisoformat(one.expires_at)
        rows.append((one, "revoked" if one.id in revoked else "expired" if over else one.decision))
    return page("certificates", caller, rows=rows, broken=shelf.broken)
