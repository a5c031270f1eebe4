"""One server for a data folder and a database: two would both take up the jobs that an earlier one left."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from judge.errors import ConfigError
from judge.store.lock import FolderLock

_ADVISORY = 20261131
"""Of PostgreSQL, where such numbers count within one database."""
HINT = "Stop it, or name another folder with --data (and another database with --database)."


class SoleServer:
    """Holds a data folder and a database for one process until `close`; a process that was killed holds nothing.

    A folder and a SQLite file are held by a lock of the operating system, a PostgreSQL database by an advisory lock of
    a connection that stays open: a server that loses this connection has lost the lock without noticing.

    Raises:
        ConfigError: Another server has one of them.
    """

    def __init__(self, engine: Engine, data: Path) -> None:
        with ExitStack() as held:
            held.callback(FolderLock(data, name="service.lock", what="data folder", elsewhere=HINT, busy=HINT).close)
            if engine.dialect.name == "postgresql":
                _advisory(engine, held)
            elif engine.url.database not in (None, "", ":memory:"):
                file = Path(str(engine.url.database)).resolve()
                if file.parent != data.resolve():
                    name, what = f"{file.name}.lock", f"database {file.name} in the folder"
                    held.callback(FolderLock(file.parent, name=name, what=what, elsewhere=HINT, busy=HINT).close)
            self._held = held.pop_all()

    def close(self) -> None:
        """Lets both go."""
        self._held.close()


def _advisory(engine: Engine, held: ExitStack) -> None:
    try:
        connection = held.enter_context(engine.connect().execution_options(isolation_level="AUTOCOMMIT"))
        free = connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_ADVISORY})").scalar()
    except SQLAlchemyError as error:
        raise ConfigError(f"The database cannot be held: {type(error).__name__}.") from None
    if not free:
        raise ConfigError("The PostgreSQL database is in use by another server.", hint=HINT)
    held.callback(_unlock, connection)


def _unlock(connection: Connection) -> None:
    with suppress(SQLAlchemyError):  # a connection that broke holds nothing any more
        connection.exec_driver_sql(f"SELECT pg_advisory_unlock({_ADVISORY})")
