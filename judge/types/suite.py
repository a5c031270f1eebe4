"""Suite, case, attempt: what is to be tried how often, what must be left behind, and how it went."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from judge.types.estimate import Statistic
from judge.types.metric import Check
from judge.types.policy import KINDS, Rule
from judge.types.record import Record

CaseSplit = Literal["dev", "holdout"]
AttemptStatus = Literal["passed", "failed", "unmeasured", "timeout", "crashed", "no_trajectory"]
CaseStatus = Literal["passed", "failed", "flaky", "unmeasured", "not_run"]

NEVER_EASY = ("impossible", "out-of-scope", "hostile")
"""Tags of the cases that a suite without them says little about: what cannot, may not or must not be done."""


def _as_rule(value: Any) -> Any:
    """A rule named by its kind: "no_repeats", or {"read_before_mutation": {…}}."""
    if isinstance(value, str):
        value = {value: True}
    if isinstance(value, dict) and "id" not in value:
        kind = next((key for key in value if key in KINDS), None)
        if kind is None:
            name = str(next(iter(value), ""))
            near = get_close_matches(name, KINDS, n=1)
            raise ValueError(f"{name!r} is no rule. " + (f"Did you mean {near[0]!r}?" if near else ", ".join(KINDS)))
        return {"id": kind, **value}
    return value


Invariant = Annotated[Rule, BeforeValidator(_as_rule)]
"""A rule of a policy file; its id is the name of its kind where it has none."""


class SqlCheck(Record):
    """One value read from a database that the run left behind.

    Attributes:
        database: A SQLite file inside the fixture, or a SQLAlchemy URL (contains "://").
        query: One SELECT; it runs read-only and under a time limit.
        equals: The value in the first column of the first row, compared as JSON.
        rows: How many rows the query gives.
    """

    database: str
    query: str
    equals: Any = None
    rows: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _one(self) -> Self:
        if ("equals" in self.model_fields_set) == (self.rows is not None):
            raise ValueError("an sql check needs one of equals and rows")
        return self


class FileCheck(Record):
    """A file that the run left behind, by a path inside the fixture; `absent` when it must not be there."""

    path: str
    contains: str | None = None
    regex: str | None = None
    equals: str | None = None
    absent: bool | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(value is not None for value in (self.contains, self.regex, self.equals, self.absent)) != 1:
            raise ValueError("a file check needs exactly one of contains, regex, equals and absent")
        return self


class JsonCheck(Record):
    """A value in a JSON file that the run left behind; `at` is keys and positions with dots, e.g. "orders.0.status"."""

    path: str
    at: str
    equals: Any

    @model_validator(mode="after")
    def _place(self) -> Self:
        if not self.at.strip("."):
            raise ValueError("at is empty; write keys and positions with dots, e.g. orders.0.status")
        return self


class CommandCheck(Record):
    """The exit status of a program run in a copy of the fixture; without a shell.

    Attributes:
        argv: Program and arguments.
        exit: Status that is right.
        seconds: Time limit.
    """

    argv: tuple[str, ...] = Field(min_length=1)
    exit: int = 0
    seconds: float = Field(default=30.0, gt=0, le=3600)


class OutcomeCheck(Record):
    """One check of what a run leaves behind: exactly one of the four kinds."""

    sql: SqlCheck | None = None
    file: FileCheck | None = None
    json_: JsonCheck | None = Field(default=None, alias="json")
    command: CommandCheck | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(value is not None for value in (self.sql, self.file, self.json_, self.command)) != 1:
            raise ValueError("an outcome check needs exactly one of sql, file, json and command")
        return self


class AnswerCheck(Record):
    """What the final answer says: a text, a pattern, or a number within a tolerance."""

    contains: str | None = None
    regex: str | None = None
    number: float | None = None
    tolerance: float = Field(default=0.0, ge=0)

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(value is not None for value in (self.contains, self.regex, self.number)) != 1:
            raise ValueError("an answer check needs exactly one of contains, regex and number")
        return self


class TrajectoryLimits(Record):
    """What the path must and must not do.

    Attributes:
        must_call: Tools with at least one successful call.
        must_not_call: Tools with no call at all; a blocked attempt counts.
        max_usd: In US dollars; with an unknown cost the attempt is unmeasured.
        finish_status: Status of the final answer.
    """

    must_call: tuple[str, ...] = ()
    must_not_call: tuple[str, ...] = ()
    max_steps: int | None = Field(default=None, ge=1)
    max_usd: float | None = Field(default=None, ge=0)
    finish_status: str | None = None


class CaseRubric(Record):
    """A rubric that a judge applies to each attempt; from `pass_mark` on its score counts as passed."""

    name: str
    pass_mark: float


class Case(Record):
    """One task with everything that decides whether an attempt at it is right.

    Attributes:
        fixture: Folder, relative to the suite file, that every attempt gets a copy of.
        attempts: How often it is tried; None for the suite's.
        outcome: "reward" reads `labels["reward"]` of the trajectory (1 or more is right); else checks of what is left.
        invariants: Rules as in a policy file, e.g. "no_repeats" or {"at_most": {"retries": 2}}.
        policy: Policy file, relative to the suite file; None for the suite's.
        seconds: Time limit of one attempt; None for the suite's.
    """

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    task: str = ""
    fixture: str | None = None
    attempts: int | None = Field(default=None, ge=1, le=1000)
    outcome: Literal["reward"] | tuple[OutcomeCheck, ...] = ()
    answer: AnswerCheck | None = None
    trajectory: TrajectoryLimits = TrajectoryLimits()
    invariants: tuple[Invariant, ...] = ()
    policy: str | None = None
    rubric: CaseRubric | None = None
    tags: tuple[str, ...] = ()
    split: CaseSplit = "dev"
    seconds: float | None = Field(default=None, gt=0)
    note: str = ""

    @property
    def decides(self) -> bool:
        """Whether anything but a judge can fail an attempt."""
        limits = self.trajectory != TrajectoryLimits()
        return bool(self.outcome or self.answer or limits or self.invariants or self.policy)


class Suite(Record):
    """The cases of one file.

    Attributes:
        attempts, policy, seconds: Of every case that gives none of its own.
        allow_commands: Whether command checks may run; the command line must say so too.
        max_usd: No new case begins once this much is spent, in US dollars.
    """

    suite: str = Field(min_length=1)
    attempts: int = Field(default=1, ge=1, le=1000)
    seconds: float = Field(default=300.0, gt=0)
    policy: str | None = None
    allow_commands: bool = False
    max_usd: float | None = Field(default=None, gt=0)
    cases: tuple[Case, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ids = [case.id for case in self.cases]
        if len(set(ids)) < len(ids):
            twice = sorted({id for id in ids if ids.count(id) > 1})
            raise ValueError(f"two cases share an id: {twice!r}")
        for case in self.cases:
            if not case.decides and self.policy is None and case.rubric is None:
                raise ValueError(f"case {case.id!r} checks nothing: give it an outcome, an answer, limits or a policy")
        return self


class AgentTask(Record):
    """What an agent is given for one attempt.

    Attributes:
        case: Id of the case.
        attempt: From 1; use it as a seed.
        folder: Copy of the fixture, this attempt's own; also the working folder.
    """

    case: str
    task: str
    attempt: int = Field(ge=1)
    folder: str


class Judged(Record):
    """What a judge said of one attempt; `passed` is None where it gave no score."""

    omit_none: ClassVar[bool] = False

    rubric: str
    judge: str
    score: float | None
    passed: bool | None
    trust: str
    certificate: str | None = None
    reason: str = ""


class Attempt(Record):
    """One attempt at a case.

    Attributes:
        outcome, path: Whether what was left behind (and the answer) is right, and whether every check of the
            trajectory holds; None where nothing looks at it or it could not be measured.
        checks: Every check; ids begin with "outcome:", "answer:" or "path:".
        sequence: Names of the tools in the order called.
        reason: Why an attempt has no verdict, or how the agent failed.
    """

    omit_none: ClassVar[bool] = False

    trajectory_id: str | None
    number: int = Field(ge=1)
    status: AttemptStatus
    outcome: bool | None = None
    path: bool | None = None
    checks: tuple[Check, ...] = ()
    steps: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    sequence: tuple[str, ...] = ()
    judged: Judged | None = None
    reason: str = ""

    @property
    def measured(self) -> bool:
        """Whether the attempt counts: a crashed or timed-out one does, as not passed."""
        return self.status != "unmeasured"

    @property
    def passed(self) -> bool:
        """Whether everything held."""
        return self.status == "passed"


class CaseResult(Record):
    """The attempts at one case.

    Attributes:
        pass_rate: Share of measured attempts that passed.
        pass_hat_k, pass_at_k: k to the unbiased estimate, for every k up to the measured attempts.
        path_agreement: Mean agreement of the tool sequences over pairs of attempts, 0 to 1; undefined with one.
        steps, cost_usd: Least, median and most over the attempts where known.
        path_before_outcome: Attempts with the outcome right and the trajectory wrong; and the reverse.
    """

    omit_none: ClassVar[bool] = False

    id: str
    status: CaseStatus
    split: CaseSplit
    tags: tuple[str, ...]
    wanted: int = Field(ge=1)
    attempts: tuple[Attempt, ...]
    pass_rate: Statistic
    pass_hat_k: dict[str, float] = {}
    pass_at_k: dict[str, float] = {}
    path_agreement: Statistic
    steps: Spread | None = None
    cost_usd: Spread | None = None
    outcome_right_path_wrong: int = 0
    outcome_wrong_path_right: int = 0
    reason: str = ""


class Spread(Record):
    """Least, median and most of `n` known values."""

    n: int = Field(ge=1)
    least: float
    median: float
    most: float


class JudgedRate(Record):
    """A pass rate that a judge gave: what it said, and what that means where a certificate allows to say it."""

    omit_none: ClassVar[bool] = False

    rubric: str
    judge: str
    raw: Statistic
    corrected: Statistic
    certificate: str | None = None


class SuiteSummary(Record):
    """A suite in numbers.

    Attributes:
        pass_rate: Over measured attempts; Wilson, widened where the attempts of a case agree with each other.
        pass_hat_k, pass_at_k: Mean over the cases with at least k measured attempts; `k_cases` says how many.
        path_agreement: Mean over the cases where it is defined.
        never_easy: Tag ("impossible", "out-of-scope", "hostile") to the ids of its cases.
        not_run: Cases that the budget kept from starting.
        spent_usd: Over attempts with a known cost; None where none is known.
        unknown_costs: Attempts without a known cost.
    """

    omit_none: ClassVar[bool] = False

    cases: int
    cases_passed: int
    cases_flaky: int
    attempts: int
    attempts_passed: int
    unmeasured: int
    failures: dict[str, int] = {}
    pass_rate: Statistic
    pass_hat_k: dict[str, float] = {}
    pass_at_k: dict[str, float] = {}
    k_cases: dict[str, int] = {}
    path_agreement: Statistic
    steps: Spread | None = None
    cost_usd: Spread | None = None
    outcome_right_path_wrong: int = 0
    outcome_wrong_path_right: int = 0
    judged: tuple[JudgedRate, ...] = ()
    never_easy: dict[str, tuple[str, ...]] = {}
    not_run: tuple[str, ...] = ()
    spent_usd: float | None = None
    unknown_costs: int = 0
    unmatched: int = 0
    warnings: tuple[str, ...] = ()


class SuiteResult(Record):
    """A suite that was run: every case, and the whole in numbers."""

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.suite-result/1"] = Field(default="judge.suite-result/1", alias="schema")
    suite: str
    split: Literal["dev", "holdout", "all"]
    cases: tuple[CaseResult, ...]
    summary: SuiteSummary
    fingerprints: dict[str, str] = {}


Change = Literal["fixed", "broken", "unchanged", "flaky", "unmeasured"]


class CaseChange(Record):
    """One case in two results. `critical` when it has a critical tag and got worse."""

    omit_none: ClassVar[bool] = False

    id: str
    tags: tuple[str, ...]
    change: Change
    base: float | None
    candidate: float | None
    critical: bool = False
    reasons: tuple[str, ...] = ()


class SuiteDiff(Record):
    """Two results of the same suite, case by case.

    Attributes:
        p: Exact two-sided McNemar over the cases that are stable on both sides, one pair a case.
        only_base, only_candidate: Cases that stand on one side only; they are in no number.
        holdout_looks: How often the holdout of this suite has been looked at, this time included; None for dev.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.suite-diff/1"] = Field(default="judge.suite-diff/1", alias="schema")
    suite: str
    split: Literal["dev", "holdout"]
    cases: tuple[CaseChange, ...]
    counts: dict[str, int]
    p: float | None
    reason: str = ""
    critical_regressions: tuple[str, ...] = ()
    only_base: tuple[str, ...] = ()
    only_candidate: tuple[str, ...] = ()
    holdout_looks: int | None = None
    warnings: tuple[str, ...] = ()


CaseResult.model_rebuild()
