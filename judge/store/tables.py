"""The tables of the service's database, and how an older database becomes a newer one."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

META = MetaData()

VERSION = Table("schema_version", META, Column("version", Integer, primary_key=True), Column("at", String(40)))

KEYS = Table(
    "keys",
    META,
    Column("id", String(32), primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("role", String(10), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("created_at", String(40), nullable=False),
    Column("revoked_at", String(40)),
)

SESSIONS = Table(
    "sessions",
    META,
    Column("digest", String(64), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("role", String(10), nullable=False),
    Column("key_id", String(32)),
    Column("csrf", String(64), nullable=False),
    Column("expires_at", String(40), nullable=False),
)

QUEUES = Table(
    "queues",
    META,
    Column("id", String(64), primary_key=True),
    Column("settings", Text, nullable=False),
    Column("created_at", String(40), nullable=False),
)

ITEMS = Table(
    "items",
    META,
    Column("queue", String(64), ForeignKey("queues.id", ondelete="CASCADE"), primary_key=True),
    Column("trajectory_id", String(512), primary_key=True),
    Column("place", Integer, nullable=False),
    Column("position", Integer),
    Column("probability", Float),
    Column("score", Float),
    Column("verdict", Text),
    Column("trajectory", Text, nullable=False),
    Index("items_by_position", "queue", "position"),
)

LABELS = Table(
    "labels",
    META,
    Column("queue", String(64), ForeignKey("queues.id", ondelete="CASCADE"), primary_key=True),
    Column("trajectory_id", String(512), primary_key=True),
    Column("rater", String(100), primary_key=True),
    Column("rater_kind", String(10), nullable=False),
    Column("skipped", Boolean, nullable=False),
    Column("value", Float),
    Column("step", Integer),
    Column("note", Text, nullable=False),
    Column("labelled_at", String(40), nullable=False),
)

JOBS = Table(
    "jobs",
    META,
    Column("id", String(64), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("owner", String(100), nullable=False),
    Column("state", String(20), nullable=False),
    Column("request", Text, nullable=False),
    Column("progress", Text, nullable=False),
    Column("result", Text),
    Column("page", Text),
    Column("error", Text),
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    Index("jobs_by_time", "kind", "created_at"),
)

ANSWERS = Table(
    "answers",
    META,
    Column("owner", String(100), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("route", String(100), nullable=False),
    Column("body", String(64), nullable=False),
    Column("status", Integer),
    Column("answer", Text),
    Column("created_at", String(40), nullable=False),
    UniqueConstraint("owner", "key"),
)


def _first(connection: Connection) -> None:
    META.create_all(connection)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first,)
"""Migration number n brings a database from version n to n + 1; each runs once, in one transaction."""
