"""The service's database: SQLite (WAL) by default, PostgreSQL by URL, brought up to date when it is opened."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, func, insert, inspect, select
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from judge.errors import ConfigError, MissingExtra
from judge.store.tables import MIGRATIONS, VERSION


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite file."""
    return f"sqlite+pysqlite:///{path}"


def open_database(url: str) -> Engine:
    """A database that is up to date.

    Args:
        url: `sqlite:///PATH`, or `postgresql://USER@HOST/NAME` (extra `postgres`).

    Raises:
        ConfigError: It cannot be reached, is of another kind, or was written by a newer version.
        MissingExtra: The PostgreSQL driver is not installed.
    """
    kind, separator, rest = url.partition("://")
    if not separator or kind.partition("+")[0] not in ("sqlite", "postgresql", "postgres"):
        raise ConfigError(
            f"The database URL begins with {kind!r}, which is neither sqlite nor postgresql.",
            hint="Use sqlite:///PATH or postgresql://USER@HOST/NAME.",
        )
    if kind in ("postgresql", "postgres"):
        url = f"postgresql+psycopg://{rest}"
    try:
        if kind.startswith("sqlite"):
            engine = create_engine(url, connect_args={"timeout": 30, "check_same_thread": False})
            event.listen(engine, "connect", _tune)
        else:
            engine = create_engine(url, pool_size=10, max_overflow=20, pool_pre_ping=True)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{error.name} is not installed.", hint='Install it with: pip install "trajudge[postgres]".'
        ) from None
    try:
        migrate(engine)
    except ConfigError:
        engine.dispose()
        raise
    except OperationalError as error:
        engine.dispose()
        # The driver's text may hold the URL with its password: only its first words about the cause are shown.
        raise ConfigError(
            f"The database ({engine.dialect.name}) cannot be opened: {type(error.orig).__name__}.",
            hint="Check path, host, user and password, and that the server runs.",
        ) from None
    return engine


def _tune(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def migrate(engine: Engine) -> int:
    """Runs the migrations that the database has not had yet, all or none; returns its version.

    Raises:
        ConfigError: The database is newer than this program.
    """
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(20261130)")
        VERSION.create(connection, checkfirst=True)
        had = connection.execute(select(func.max(VERSION.c.version))).scalar() or 0
        if had > len(MIGRATIONS):
            raise ConfigError(
                f"The database is of version {had}, and this program knows {len(MIGRATIONS)}.",
                hint="Update the program, or name another database.",
            )
        for number, step in enumerate(MIGRATIONS[had:], start=had + 1):
            step(connection)
            connection.execute(insert(VERSION).values(version=number, at=stamp()))
    return len(MIGRATIONS)


def is_ready(engine: Engine) -> bool:
    """Whether the database answers."""
    try:
        with engine.connect() as connection:
            return bool(inspect(connection).has_table(VERSION.name))
    except SQLAlchemyError:
        return False


def stamp(now: datetime | None = None) -> str:
    """A time in UTC as ISO 8601 text with microseconds, so that texts sort as times do."""
    return (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="microseconds")
