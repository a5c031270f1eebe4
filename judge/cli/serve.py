"""`judge serve`: the HTTP API and the labelling pages."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, note, say, table
from judge.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from judge.server.service import Deployment


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on; any but loopback needs a key.")] = (
        "127.0.0.1"
    ),
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    data: Annotated[str, typer.Option("--data", help="Folder of the database and the batches.")] = ".judge/service",
    database: Annotated[
        str | None, typer.Option("--database", help="postgresql://USER@HOST/NAME or sqlite:///PATH.")
    ] = None,
    judge: Annotated[
        list[str] | None, typer.Option("--judge", "-j", help="A judge on offer; again for more, the first is default.")
    ] = None,
    rubric: Annotated[list[str] | None, typer.Option("--rubric", "-r", help="File of a rubric of your own.")] = None,
    own_set: Annotated[
        list[str] | None, typer.Option("--set", help="Folder of a calibration set of your own; again for more.")
    ] = None,
    require_trust: Annotated[
        bool, typer.Option("--require-trust", help="Refuse every judge without a valid certificate.")
    ] = False,
    certificates: options.Certificates = None,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="Host name that requests may be addressed to.")
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option("--proxy", help="Address of a proxy of yours, whose X-Forwarded-For and -Proto are believed."),
    ] = None,
    new_key: Annotated[str | None, typer.Option("--new-key", help="Make an API key of this name and stop.")] = None,
    role: Annotated[str, typer.Option("--role", help="Role of the new key: score, label or admin.")] = "score",
    revoke_key: Annotated[str | None, typer.Option("--revoke-key", help="Revoke a key by name and stop.")] = None,
    list_keys: Annotated[bool, typer.Option("--list-keys", help="List the keys and stop.")] = False,
    rate: Annotated[
        int, typer.Option("--requests-per-minute", min=0, help="Most requests of one key in a minute; 0 for no limit.")
    ] = 3_000,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="KIND=DAYS (or never): answers, jobs, batches, verdicts, labels; deleted by age."),
    ] = None,
    purge: Annotated[bool, typer.Option("--purge", help="Delete now what is over by --keep, and stop.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --purge: count only.")] = False,
    base_url: options.BaseUrl = None,
    as_json: options.AsJson = False,
) -> None:
    """Serve the HTTP API and the labelling pages; also makes, lists and revokes its API keys."""
    try:
        import uvicorn

        from judge.server.app import create_app
        from judge.server.listening import listen
        from judge.server.service import Deployment, open_service
        from judge.store.access_keys import has_keys
        from judge.store.database import open_database, sqlite_url
        from judge.store.retention import read_retention
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "judge":
            raise
        raise MissingExtra(
            f"{error.name} is not installed.", hint='Install it with: pip install "trajudge[serve]".'
        ) from None
    from judge.config import load_settings

    folder = Path(data)
    settings = load_settings({
        "judge": judge[0] if judge else None, "certificates": certificates, "base_url": base_url,
    })  # fmt: skip
    if new_key is not None or revoke_key is not None or list_keys:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _keys(open_database(database or sqlite_url(folder / "service.sqlite")), new_key, role, revoke_key, as_json)
        return
    retention = read_retention(keep or ())
    if dry_run and not purge:
        raise UsageError("--dry-run goes with --purge.")
    deployment = Deployment(
        settings=settings,
        data=folder,
        database=database,
        host=host,
        port=port,
        judges=tuple(judge or ()),
        rubrics=tuple(Path(path) for path in rubric or ()),
        sets=tuple(Path(path) for path in own_set or ()),
        require_trust=require_trust,
        hosts=tuple(allow_host or ()),
        requests_per_minute=rate or None,
        retention=retention,
    )
    if purge:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _purge(open_database(database or sqlite_url(folder / "service.sqlite")), deployment, dry_run, as_json)
        return
    service = open_service(deployment)
    try:
        listener = listen(host, port)
    except UsageError:
        service.release()
        service.engine.dispose()
        raise
    _say_where(deployment, listener.getsockname()[1], has_keys(service.engine), as_json)
    config = uvicorn.Config(
        create_app(service),
        log_level="warning",
        server_header=False,
        proxy_headers=bool(proxy),
        forwarded_allow_ips=proxy or [],
        timeout_graceful_shutdown=10,  # whoever follows a batch is not waited for
    )
    with listener, suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def _purge(engine: Engine, deployment: Deployment, dry: bool, as_json: bool) -> None:
    from judge.store.retention import purge

    found = purge(engine, deployment.batches, deployment.retention, now=datetime.now(UTC), dry=dry).to_json()
    if as_json:
        emit({"deleted": found, "dry_run": dry})
        return
    counted = ", ".join(f"{count} {kind}" for kind, count in found.items())
    say(f"{'would be deleted' if dry else 'deleted'}: {counted}")


def _keys(engine: Engine, new: str | None, role: str, revoked: str | None, as_json: bool) -> None:
    from judge.store.access_keys import add_key, list_keys, revoke_key

    if new is not None and revoked is not None:
        raise UsageError("Give one of --new-key and --revoke-key.")
    if new is not None:
        text = add_key(engine, new, role)
        if as_json:
            emit({"name": new, "role": role, "key": text})
        else:
            note("This is shown once; only its hash is stored.")
            say(text)
        return
    if revoked is not None:
        revoke_key(engine, revoked)
    rows = list_keys(engine)
    if as_json:
        emit({"keys": rows})
        return
    cells = [[str(row["name"]), str(row["role"]), str(row["created_at"]), row["revoked_at"] or ""] for row in rows]
    say(table(cells, header=["name", "role", "made", "revoked"]) if rows else "none")


def _say_where(deployment: Deployment, port: int, closed: bool, as_json: bool) -> None:
    shown = f"[{deployment.host}]" if ":" in deployment.host else deployment.host
    url = f"http://{shown}:{port}"
    if as_json:
        emit({"url": url, "data": str(deployment.data)})
        return
    note(f"API: {url}/openapi.json   labelling: {url}/label")
    if deployment.on_loopback and not closed:
        note("Without a key, whoever can use this machine is admin; `judge serve --new-key NAME` closes it.")
