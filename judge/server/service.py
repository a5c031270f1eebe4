"""What a running service holds: settings, database, opened judges, counters."""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Engine

from judge.calibration.sets import load_set, set_names
from judge.config import Settings
from judge.engine.connection import Opened
from judge.engine.facade import open_judge
from judge.engine.jury_file import is_jury, load_jury
from judge.errors import ConfigError
from judge.prompt import load_rubric, rubric_names
from judge.providers.connection import connect
from judge.registry import unknown
from judge.server.apart import Apart
from judge.server.callers import Callers
from judge.server.counters import Counters
from judge.server.failures import FailureLimit
from judge.server.guard import BODY_S, LOOPBACK
from judge.server.rates import RequestLimit
from judge.store.access_keys import TICKET, Caller, Role, digest, has_keys, rater_name
from judge.store.database import open_database, sqlite_url
from judge.store.jobs import Jobs, KeptAnswers
from judge.store.label_queue import LabelQueues
from judge.store.retention import Retention
from judge.store.sole import SoleServer
from judge.types.calibration_set import CalibrationSet
from judge.types.rubric import Rubric


@dataclass(frozen=True)
class Deployment:
    """What whoever runs the service decides; no request can change it.

    Attributes:
        data: Folder of the database (unless `database` names another) and of the batches.
        database: URL, or None for SQLite in `data`.
        judges: Names that a request may ask for; the first is the default. Empty for the configured one alone.
        rubrics: Files of own rubrics beside the shipped ones. sets: Folders of own calibration sets.
        require_trust: Refuse every judge without a valid certificate, whatever a request says.
        hosts: Names that requests may be addressed to, beside the loopback ones.
        max_body: Bytes of one request. body_s: Seconds in which it must have come.
        max_steps: of one trajectory. max_items: trajectories of one score request.
        max_batch: Trajectories of one batch or queue.
        session_hours: How long a page session lasts.
        closed: Ask for a key or a ticket also on loopback without any key.
        requests_per_minute: Of one key; None for no limit. Whoever needs no key is not limited.
        retention: What is deleted by age, when the service starts and once a day.
    """

    settings: Settings
    data: Path
    database: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    judges: tuple[str, ...] = ()
    rubrics: tuple[Path, ...] = ()
    sets: tuple[Path, ...] = ()
    require_trust: bool = False
    hosts: tuple[str, ...] = ()
    max_body: int = 32 * 1024 * 1024
    body_s: float = BODY_S
    max_steps: int = 5_000
    max_items: int = 256
    max_batch: int = 10_000
    session_hours: float = 12.0
    closed: bool = False
    requests_per_minute: int | None = 3_000
    retention: Retention = field(default_factory=Retention)

    @property
    def batches(self) -> Path:
        """Folder of the batches, a folder each."""
        return self.data / "batches"

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        return self.host in LOOPBACK


@dataclass
class Service:
    """The resources of one running service.

    Attributes:
        sole: What keeps another server off the same data; None for a session that takes up no jobs.
        displaced: Whether another server has taken the database while this one had lost its connection to it.
        last_purge: When this server last deleted what was over (UTC, ISO 8601); None before its first purge has ended.
    """

    deployment: Deployment
    engine: Engine
    rubrics: dict[str, Rubric]
    own_sets: dict[str, CalibrationSet] = field(default_factory=dict)
    sole: SoleServer | None = None
    displaced: bool = False
    last_purge: str | None = None
    counters: Counters = field(default_factory=Counters)
    failures: FailureLimit = field(default_factory=FailureLimit)
    _judges: dict[str, Opened] = field(default_factory=dict)
    _tickets: dict[str, Caller] = field(default_factory=dict)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self.queues = LabelQueues(self.engine)
        self.jobs = Jobs(self.engine)
        self.kept = KeptAnswers(self.engine)
        self.apart = Apart()
        self.callers = Callers(self.engine)
        self.requests = RequestLimit(self.deployment.requests_per_minute)

    @property
    def is_open(self) -> bool:
        """Whether requests need no key: on loopback, as long as none was made."""
        return self.deployment.on_loopback and not self.deployment.closed and not has_keys(self.engine)

    async def needs_key(self) -> bool:
        """Whether a request needs a key; see `is_open`."""
        return not self.deployment.on_loopback or self.deployment.closed or await self.callers.any_key()

    def ticket(self, name: str, role: Role) -> str:
        """A text that opens one page session, once, for whoever started this service."""
        text = secrets.token_urlsafe(24)
        self._tickets[digest(text)] = Caller(name=rater_name(name), role=role, key_id=TICKET)
        return text

    def use_ticket(self, text: str) -> Caller | None:
        """The caller that a ticket stands for; None when it is unknown or was used."""
        return self._tickets.pop(digest(text), None)

    def judge_name(self, asked: str | None) -> str:
        """The judge that a request gets.

        Raises:
            UnknownName: It is not one that this service offers.
        """
        offered = self.judge_names()
        if asked is None:
            return offered[0]
        if asked not in offered:
            raise unknown("judge offered here", asked[:200], offered)
        return asked

    def judge_names(self) -> tuple[str, ...]:
        """The judges that a request may name, the default first."""
        return self.deployment.judges or (self.deployment.settings.default_judge,)

    def rubric(self, asked: str | None) -> Rubric:
        """The rubric that a request gets; a path is never opened.

        Raises:
            UnknownName: There is none of that name.
        """
        name = asked or self.deployment.settings.rubric
        if name not in self.rubrics:
            raise unknown("rubric", name[:200], self.rubrics)
        return self.rubrics[name]

    def set_names(self) -> tuple[str, ...]:
        """The calibration sets that a request may name, the deployment's own first."""
        return (*self.own_sets, *(name for name in set_names() if name not in self.own_sets))

    def set(self, name: str) -> CalibrationSet:
        """A calibration set by name; a path is never opened.

        Raises:
            UnknownName: There is none of that name.
        """
        if name not in self.set_names():
            raise unknown("calibration set", name[:200], self.set_names())
        return self.own_sets.get(name) or load_set(name)

    async def judge(self, name: str) -> Opened:
        """The judge, opened once for all requests."""
        if name not in self._judges:
            opened = await self._stack.enter_async_context(open_judge(name, self.deployment.settings))
            if name in self._judges:  # another request was quicker; this one is closed with the rest
                return self._judges[name]
            self._judges[name] = opened
        return self._judges[name]

    async def close(self) -> None:
        """Closes judges and database."""
        await self._stack.aclose()
        self._judges.clear()
        self.apart.close()
        self.release()
        self.engine.dispose()

    def release(self) -> None:
        """Lets the data go, for another server to take."""
        if self.sole is not None:
            self.sole.close()


def open_service(deployment: Deployment, *, sole: bool = True) -> Service:
    """Opens the database, loads the rubrics and checks what would only show with the first request.

    Args:
        sole: Hold data folder and database against other servers; only who does takes up jobs that were left.

    Raises:
        ConfigError: The database cannot be opened, the service would be public without a key, or `sole` and another
            server has the data.
        RubricError, LabelError: A rubric or a set does not load.
        UnknownName, MissingExtra: A judge on offer is none, or needs a package that is not installed.
    """
    deployment.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    engine = open_database(deployment.database or sqlite_url(deployment.data / "service.sqlite"))
    if not deployment.on_loopback and not has_keys(engine, valid=True):
        engine.dispose()
        raise ConfigError(
            f"The service would listen on {deployment.host!r} for everyone, and no API key is valid.",
            hint="Make one first: judge serve --new-key NAME --role admin; or leave out --host.",
        )
    try:
        return _opened(deployment, engine, SoleServer(engine, deployment.data) if sole else None)
    except BaseException:
        engine.dispose()
        raise


def _opened(deployment: Deployment, engine: Engine, sole: SoleServer | None) -> Service:
    for name in deployment.judges:
        if is_jury(name):
            load_jury(name, deployment.settings)
        else:
            connect(name, deployment.settings)
    rubrics = {name: load_rubric(name) for name in rubric_names()}
    own = [load_rubric(path) for path in deployment.rubrics]
    settings_rubric = deployment.settings.rubric
    if settings_rubric not in rubrics:
        own.append(load_rubric(settings_rubric))
        rubrics[settings_rubric] = own[-1]
    sets = {found.name: found for found in map(load_set, deployment.sets)}
    return Service(deployment, engine, rubrics | {rubric.id: rubric for rubric in own}, sets, sole)
