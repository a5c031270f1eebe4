"""Policy: rules that must hold on every run, and what a check of one says."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from judge.types.metric import Check
from judge.types.record import Record
from judge.types.trajectory import OutcomeStatus

Severity = Literal["rule", "preference"]
CheckStatus = Literal["passed", "failed", "not_applicable"]
Cap = Literal["tool_calls", "steps", "tokens", "seconds", "usd", "retries"]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_as_list), Field(min_length=1)]
"""One or several names or patterns (`*`, `?`, `[ab]`), case-sensitive; a file may write one without a list."""

ArgumentPath = Annotated[str, Field(min_length=1)]
"""Keys from the top of the arguments, joined by dots; a whole number picks an item of a list, `*` all of them."""


class Before(Record):
    """Every tool of `first` has succeeded before the first successful call of a tool in `then` is made."""

    first: Names
    then: Names


class ApprovalRule(Record):
    """Every successful call of `tools` was approved before its result.

    Attributes:
        by: Patterns of approvers, e.g. "human:*"; any approver, also an unnamed one, where left out.
    """

    tools: Names
    by: Names | None = None


class AllowedRule(Record):
    """`argument` of every call of `tools` is one of `values`, by the meaning of JSON.

    Attributes:
        optional: Whether a call may leave the argument out.
    """

    tools: Names
    argument: ArgumentPath
    values: tuple[Any, ...]
    optional: bool = False


class SumRule(Record):
    """`argument` summed over the successful calls of `tools` is at most `at_most`; exact decimal arithmetic."""

    tools: Names
    argument: ArgumentPath
    at_most: float


class FromResultRule(Record):
    """`argument` of every call of `tools` equals a value at `field` of an earlier successful result of `result_of`."""

    tools: Names
    argument: ArgumentPath
    result_of: Names
    field: ArgumentPath


class SchemaRule(Record):
    """The arguments of every call of `tools` fit a JSON Schema (draft 2020-12).

    Attributes:
        schema_: The schema; None takes what the trajectory's own tool list declares.
    """

    tools: Names
    schema_: dict[str, Any] | bool | None = Field(default=None, alias="schema")


class CredentialsRule(Record):
    """No argument, message or result holds a credential.

    Attributes:
        kinds: Names of `judge.policy.secrets.KINDS` to look for; all where left out.
        except_tools: Tools whose arguments and results may hold one, e.g. a login.
    """

    kinds: Names | None = None
    except_tools: Names | None = None


class ReadBeforeWrite(Record):
    """No call of `write` names a path that no earlier successful call of `read` named.

    Attributes:
        path: Argument with the path.
        read_path: The same for `read`, where it has another name.
    """

    read: Names
    write: Names
    path: ArgumentPath = "path"
    read_path: ArgumentPath | None = None


class ReadBeforeMutation(Record):
    """No call of `mutate` before a successful call of `read`."""

    read: Names
    mutate: Names


class NoRepeats(Record):
    """No identical (tool, arguments) more than `at_most` times.

    Attributes:
        tools: Only these; all tools where left out.
    """

    at_most: int = Field(default=1, ge=1)
    tools: Names | None = None


class CustomRule(Record):
    """A check written in Python, by its registered name.

    Attributes:
        parameters: Handed to the function as they are.
    """

    name: str
    parameters: dict[str, Any] = {}


class Rule(Record):
    """One check of a policy: an id, a severity and exactly one kind of rule.

    Attributes:
        severity: A failed "rule" fails the run; a failed "preference" is reported.
        note: For people: why the rule is there.
        must_call: Each of these succeeded at least once.
        must_not_call: None of these was called, not even in vain.
        must_end_with: "final" for a final answer as the last thing done, or tools of which one was called last.
        finish_status: Statuses that the final answer (or else the outcome) may have.
        finish_agrees: Outcome status to the finish statuses that agree with it; true asks for the same word.
        at_most: One cap and its largest allowed value.
    """

    id: str = Field(min_length=1)
    severity: Severity = "rule"
    note: str = ""
    before: Before | None = None
    must_call: Names | None = None
    must_not_call: Names | None = None
    must_end_with: Names | None = None
    finish_status: Names | None = None
    approval: ApprovalRule | None = None
    allowed: AllowedRule | None = None
    sum: SumRule | None = None
    from_result: FromResultRule | None = None
    arguments: SchemaRule | None = None
    no_credentials: CredentialsRule | None = None
    read_before_write: ReadBeforeWrite | None = None
    read_before_mutation: ReadBeforeMutation | None = None
    no_repeats: NoRepeats | None = None
    finish_agrees: dict[OutcomeStatus, Names] | None = None
    at_most: dict[Cap, float] | None = None
    custom: CustomRule | None = None

    @field_validator("no_credentials", "no_repeats", mode="before")
    @classmethod
    def _switched_on(cls, value: Any) -> Any:
        return {} if value is True else value

    @field_validator("finish_agrees", mode="before")
    @classmethod
    def _same_word(cls, value: Any) -> Any:
        words = ("completed", "failed", "aborted", "limit", "incomplete")
        return {word: [word] for word in words} if value is True else value

    @field_validator("at_most")
    @classmethod
    def _one_cap(cls, value: dict[Cap, float] | None) -> dict[Cap, float] | None:
        if value is not None and len(value) != 1:
            raise ValueError(f"a check has one cap, and {len(value)} stand here: give each a check of its own")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> Rule:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            found = f"has {' and '.join(given)}" if given else "has no rule"
            raise ValueError(f"check {self.id!r} {found}: give it exactly one of {', '.join(KINDS)}")
        return self

    @property
    def kind(self) -> str:
        """Name of the kind of rule that this check has."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)


KINDS = tuple(name for name in Rule.model_fields if name not in ("id", "severity", "note"))
"""Every kind of rule, by its key in a policy file."""


class Policy(Record):
    """What must hold on every run.

    Attributes:
        tools: Every tool name there is, where known: a name outside it is then an error in the file.
        unknown_status: Whether a call whose result has no status (many formats record none) is taken as succeeded.
    """

    id: str = Field(min_length=1)
    version: str = "1"
    title: str = ""
    unknown_status: Literal["succeeded", "failed"] = "succeeded"
    tools: tuple[str, ...] | None = None
    checks: tuple[Rule, ...] = Field(min_length=1)


class Ruling(Record):
    """What one rule says of one trajectory.

    Attributes:
        detail: Why, in words. Never a credential.
        steps: Indices of the steps that broke the rule; empty where it was kept.
    """

    status: CheckStatus
    detail: str = ""
    steps: tuple[int, ...] = ()


class PolicyResult(Record):
    """Every check of a policy on one trajectory.

    Attributes:
        passed: Whether no check of severity "rule" failed. A check that is not applicable fails nothing.
    """

    omit_none: ClassVar[bool] = False

    trajectory_id: str
    passed: bool
    checks: tuple[Check, ...]
