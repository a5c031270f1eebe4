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
    a connection that stays open. Such a connection can break, and its lock with it: `keep` notices.

    Raises:
        ConfigError: Another server has one of them.
    """

    def __init__(self, engine: Engine, data: Path) -> None:
        self._engine = engine
        self._holder: Connection | None = None
        with ExitStack() as held:
            held.callback(FolderLock(data, name="service.lock", what="data folder", elsewhere=HINT, busy=HINT).close)
            if engine.dialect.name == "postgresql":
                try:
                    self._holder = _advisory(engine)
                except SQLAlchemyError as error:
                    raise ConfigError(f"The database cannot be held: {type(error).__name__}.") from None
                if self._holder is None:
                    raise ConfigError("The PostgreSQL database is in use by another server.", hint=HINT)
            elif engine.url.database not in (None, "", ":memory:"):
                file = Path(str(engine.url.database)).resolve()
                if file.parent != data.resolve():
                    name, what = f"{file.name}.lock", f"database {file.name} in the folder"
                    held.callback(FolderLock(file.parent, name=name, what=what, elsewhere=HINT, busy=HINT).close)
            self._held = held.pop_all()

    def keep(self) -> bool:
        """Whether this process still holds the database; a lock that broke with its connection is taken again.

        Returns:
            False when another server has taken it meanwhile.

        Raises:
            SQLAlchemyError: The database does not answer, so nobody can tell.
        """
        if self._holder is None:
            return True
        with suppress(SQLAlchemyError):
            self._holder.exec_driver_sql("SELECT 1")
            return True
        with suppress(SQLAlchemyError):
            self._holder.invalidate()
            self._holder.close()
        taken = _advisory(self._engine)
        if taken is not None:
            self._holder = taken
        return taken is not None

    def close(self) -> None:
        """Lets both go."""
        self._held.close()
        if self._holder is not None:
            with suppress(SQLAlchemyError):  # a connection that broke holds nothing any more
                self._holder.exec_driver_sql(f"SELECT pg_advisory_unlock({_ADVISORY})")
            self._holder.close()
            self._holder = None


def _advisory(engine: Engine) -> Connection | None:
    """A connection that holds the database until it is closed; None when another one does."""
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    try:
        free = connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_ADVISORY})").scalar()
    except SQLAlchemyError:
        connection.close()
        raise
    if free:
        return connection
    connection.close()
    return None
