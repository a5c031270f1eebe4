"""API keys and page sessions: only hashes are stored, and they are compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from datetime import datetime, timedelta
from typing import Literal, cast, get_args

from sqlalchemy import Engine, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from judge.errors import UnknownName, UsageError
from judge.store.database import stamp
from judge.store.tables import KEYS, SESSIONS
from judge.types.record import Record

Role = Literal["score", "label", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
PREFIX = "tj"
ADJUDICATED = "adjudicated"
"""The rater under whose name adjudicated labels stand; no key may bear it."""
TICKET = "ticket"
"""Stands for the key of a session that was opened by a ticket."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class Caller(Record):
    """Who makes a request.

    Attributes:
        name: Of the key; also the rater's name.
        csrf: Token that a page's forms carry; None where no session is used.
    """

    name: str
    role: Role
    key_id: str | None = None
    csrf: str | None = None

    def may(self, *roles: Role) -> bool:
        """Whether the caller has one of `roles`; an admin has all."""
        return self.role == "admin" or self.role in roles


def rater_name(name: str) -> str:
    """`name` when it can stand for a rater.

    Raises:
        UsageError: It is reserved, or holds something else than letters, digits and . _ @ -.
    """
    if not _NAME.fullmatch(name) or name == ADJUDICATED:
        raise UsageError(
            f"{name[:80]!r} cannot be a name.",
            hint=f"Use 1 to 64 letters, digits and . _ @ -, beginning with a letter or digit; not {ADJUDICATED!r}.",
        )
    return name


def add_key(engine: Engine, name: str, role: str, *, now: datetime | None = None) -> str:
    """Makes a key and returns its text, which is shown this once and cannot be read again.

    The text holds 256 random bits: a plain sha256 of it cannot be searched.

    Raises:
        UsageError: The name is taken or not allowed, or there is no such role.
    """
    rater_name(name)
    if role not in ROLES:
        raise UsageError(f"There is no role {role!r}.", hint=f"Roles: {', '.join(ROLES)}.")
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    text = f"{PREFIX}_{key_id}_{secret}"
    try:
        with engine.begin() as connection:
            row = {"id": key_id, "name": name, "role": role, "digest": digest(text), "created_at": stamp(now)}
            connection.execute(insert(KEYS).values(**row))
    except IntegrityError:
        raise UsageError(f"There is a key named {name!r} already.", hint="Revoke it, or choose another name.") from None
    return text


def has_keys(engine: Engine, *, valid: bool = False) -> bool:
    """Whether any key was ever made, or with `valid` one that is not revoked.

    Revoking the last key does not open a service again: it closes it to everybody.
    """
    wanted = select(func.count()).select_from(KEYS)
    with engine.connect() as connection:
        count = connection.execute(wanted.where(KEYS.c.revoked_at.is_(None)) if valid else wanted).scalar()
    return bool(count)


def list_keys(engine: Engine) -> list[dict[str, str | None]]:
    """Every key without what is secret of it."""
    columns = (KEYS.c.id, KEYS.c.name, KEYS.c.role, KEYS.c.created_at, KEYS.c.revoked_at)
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(select(*columns).order_by(KEYS.c.created_at)).mappings()]


def revoke_key(engine: Engine, name: str, *, now: datetime | None = None) -> None:
    """Lets a key open nothing any more, nor the sessions begun with it.

    Raises:
        UnknownName: No key bears this name.
    """
    with engine.begin() as connection:
        found = connection.execute(select(KEYS.c.id).where(KEYS.c.name == name)).scalar()
        if found is None:
            raise UnknownName(f"No key is named {name!r}.", hint="`judge serve --list-keys` lists them.")
        connection.execute(update(KEYS).where(KEYS.c.id == found).values(revoked_at=stamp(now)))
        connection.execute(delete(SESSIONS).where(SESSIONS.c.key_id == found))


def caller_of_key(engine: Engine, text: str) -> Caller | None:
    """The caller whose key `text` is, or None."""
    parts = text.split("_", 2)
    key_id = parts[1] if len(parts) == 3 and parts[0] == PREFIX else ""
    with engine.connect() as connection:
        row = connection.execute(select(KEYS).where(KEYS.c.id == key_id[:32])).mappings().first()
    # The comparison is made for an unknown id as well, so that the time taken says nothing.
    same = hmac.compare_digest(digest(text), row["digest"] if row else digest(""))
    if row is None or not same or row["revoked_at"] is not None:
        return None
    return Caller(name=row["name"], role=cast(Role, row["role"]), key_id=row["id"])


def begin_session(engine: Engine, caller: Caller, *, now: datetime, hours: float) -> str:
    """The token of a new session."""
    token = secrets.token_urlsafe(32)
    row = {
        "digest": digest(token),
        "name": caller.name,
        "role": caller.role,
        "key_id": caller.key_id,
        "csrf": secrets.token_urlsafe(24),
        "expires_at": stamp(now + timedelta(hours=hours)),
    }
    with engine.begin() as connection:
        connection.execute(insert(SESSIONS).values(**row))
    return token


def caller_of_session(engine: Engine, token: str, *, now: datetime) -> Caller | None:
    """The caller whose session `token` opens, or None."""
    with engine.connect() as connection:
        row = connection.execute(select(SESSIONS).where(SESSIONS.c.digest == digest(token))).mappings().first()
    if row is None or row["expires_at"] < stamp(now):
        return None
    return Caller(name=row["name"], role=cast(Role, row["role"]), key_id=row["key_id"], csrf=row["csrf"])


def end_session(engine: Engine, token: str) -> None:
    """Closes a session."""
    with engine.begin() as connection:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.digest == digest(token)))


def digest(text: str) -> str:
    """sha256 of a secret, in hex."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()
