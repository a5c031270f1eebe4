"""`judge label`: one person labels the runs of a set in the browser, blind, and the labels are written as a set."""

from __future__ import annotations

import signal
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from judge.cli import options
from judge.cli.output import emit, note, say
from judge.errors import MissingExtra, TooFewLabels, UsageError

if TYPE_CHECKING:
    from judge.server.label_task import LabelTask
    from judge.server.service import Service

HOST = "127.0.0.1"
Order = Literal["random", "stratified", "uncertainty"]


def label(
    given: Annotated[
        str, typer.Argument(metavar="SET", help="A set's name or folder (labels.jsonl may be missing), or traces.")
    ],
    rater: Annotated[
        str, typer.Option("--rater", prompt="Your name, as it stands beside your labels", help="Whose labels they are.")
    ],
    criterion: Annotated[str | None, typer.Option("--criterion", "-c", help="Criterion; the first asked.")] = None,
    rubric: Annotated[str | None, typer.Option("--rubric", "-r", help="For traces: the rubric; process.")] = None,
    pass_mark: Annotated[
        float | None, typer.Option("--pass-mark", help="For traces: lowest value that counts as passed.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", "-j", help="Judge every run first; shown beside a label once it is saved.")
    ] = None,
    order: Annotated[
        Order | None, typer.Option("--order", help="random; stratified and uncertainty need --judge.")
    ] = None,
    n: Annotated[int | None, typer.Option("-n", min=1, help="How many runs to draw; all by default.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the draw.")] = 0,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Folder of the labelled set; SET-labelled.")] = None,
    data: Annotated[str | None, typer.Option("--data", help="Folder of the database; .judge/label/SET.")] = None,
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="Port; a free one by default.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    export: Annotated[bool, typer.Option("--export", help="Write the labels given so far, and stop.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Label the runs of a set in the browser, blind to the judge; Ctrl-C ends and writes the labelled set."""
    try:
        from judge.server.label_task import open_queue, read_task
        from judge.server.service import Deployment, open_service
        from judge.store.set_folder import refuse_other
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "judge":
            raise
        raise MissingExtra(
            f"{error.name} is not installed.", hint='Install it with: pip install "trajudge[serve]".'
        ) from None
    from judge.config import load_settings
    from judge.report.numbers import plural

    task = read_task(given, criterion=criterion, rubric=rubric, pass_mark=pass_mark)
    folder = Path(data) if data is not None else Path(".judge/label") / task.queue
    target = Path(out) if out is not None else Path(f"{task.name}-labelled")
    refuse_other(target)  # before anything is labelled
    settings = load_settings({"judge": judge})
    deployment = Deployment(settings=settings, data=folder, host=HOST, closed=True)
    service = open_service(deployment, sole=False)  # two people may label on one machine
    try:
        if not export:
            verdicts = _judged(service, task, judge, order)
            queue = open_queue(service.queues, task, verdicts, order=order, n=n, seed=seed)
            count = len(service.queues.scores(queue.id))
            done = service.queues.counts(queue.id).get(rater, 0)
            runs = plural(count, "run")
            note(f"{task.name}, {task.criterion.id}: {runs} in {queue.order} order, {done} labelled by {rater}.")
            _serve(service, task.queue, rater, port, open_browser)
        _write(service, task, target, export, as_json)
    finally:
        service.engine.dispose()


def _judged(service: Service, task: LabelTask, judge: str | None, order: Order | None) -> dict[str, Any]:
    """The judge's verdicts by run, where a judge was named and the queue is still to be made."""
    from judge.engine.facade import score_many

    if order not in (None, "random") and judge is None:
        raise UsageError(f"The order {order!r} needs a judge's verdicts.", hint="Name a judge with --judge.")
    if judge is None or task.queue in service.queues.names():
        return {}
    found = score_many(task.runs, task.rubric, judge=judge, settings=service.deployment.settings)
    return {verdict.trajectory_id: verdict for verdict in found}


def _serve(service: Service, queue: str, rater: str, port: int, open_browser: bool) -> None:
    """Serves the pages until Ctrl-C or a SIGTERM."""
    import uvicorn

    from judge.server.app import create_app
    from judge.server.listening import listen

    with listen(HOST, port) as listener:
        url = f"http://{HOST}:{listener.getsockname()[1]}/enter?ticket={service.ticket(rater, 'label')}&queue={queue}"
        note(f"Open: {url}")
        note("The address works once. Digits answer, Enter saves; Ctrl-C here ends and writes the labels.")
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        config = uvicorn.Config(
            create_app(service), log_level="warning", server_header=False, proxy_headers=False,
            timeout_graceful_shutdown=2,
        )  # fmt: skip

        def stop(_number: int, _frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        # The server ends on a signal, and then gives it on to whoever handled it before.
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listener])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _write(service: Service, task: LabelTask, target: Path, only_export: bool, as_json: bool) -> None:
    from judge.server.label_task import labelled_set
    from judge.store.set_folder import write_set

    by_rater = service.queues.counts(task.queue) if task.queue in service.queues.names() else {}
    if not by_rater:
        if only_export:
            raise TooFewLabels(f"There is no label of {task.name!r} yet.", hint="Leave out --export to give some.")
        note("No label was given, so nothing is written.")
        return
    write_set(target, labelled_set(service.queues, task, target.resolve().name))
    if as_json:
        emit({"out": str(target), "queue": task.queue, "labels": by_rater})
        return
    counted = ", ".join(f"{count} by {name}" for name, count in sorted(by_rater.items()))
    say(f"Written: {target} ({counted}).")
    say(f"Next: judge calibrate {target} --judge JUDGE; or label on: the same command goes on where you were.")
