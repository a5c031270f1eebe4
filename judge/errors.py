"""Every error this package raises on purpose.

::

    JudgeError
    ├── UsageError             the caller asked for something that cannot be     exit 2
    │   ├── ConfigError        judge.toml, environment or a flag is wrong
    │   ├── RubricError        a rubric file does not load or lint
    │   ├── PolicyError        a policy file does not load or lint
    │   ├── TraceError         a trace file cannot be read as trajectories
    │   │   └── AmbiguousFormat   two formats fit equally well
    │   ├── LabelError         a label file is inconsistent
    │   ├── UnknownName        no such judge, rubric, metric, set …
    │   └── MissingExtra       an optional dependency is not installed
    ├── ProviderError          a judge call failed
    │   ├── RetryableError     waiting may help (429, 5xx, resets, time-outs)
    │   ├── RequestRefused     this one request is wrong (400, 404, 422 …)
    │   └── TerminalError      no call will succeed: key, payment, quota          exit 4
    │       └── Overloaded     it has refused every call for too long to wait
    ├── ContextOverflow        the trajectory does not fit the judge, even shortened
    ├── BudgetReached          the spend cap leaves no room for another call      exit 5
    ├── StatisticsError        a statistic is undefined on this data
    │   └── TooFewLabels       fewer labels than the question needs
    ├── FingerprintMismatch    records of different origin were mixed             exit 2
    └── TrustRequired          trust was required and is not there                exit 3

A failed judgement is *not* an exception: it is a vote or a verdict with a status
and a cause. Only what stops a whole run is raised to the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar


class JudgeError(Exception):
    """Root of the tree.

    Attributes:
        message: What was found and what was needed, one sentence or two.
        hint: What to do about it, or "".
        exit_code: Exit status of the command line for this error.
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def kind(self) -> str:
        """Machine name of the error: the class name in snake case."""
        name = type(self).__name__
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class UsageError(JudgeError):
    """The caller asked for something that cannot be done."""


class ConfigError(UsageError):
    """judge.toml, an environment variable or a flag is wrong."""


class RubricError(UsageError):
    """A rubric file does not load or lint; the message names file and line."""


class PolicyError(UsageError):
    """A policy file does not load or lint; the message names file and line."""


class TraceError(UsageError):
    """A trace file cannot be read as trajectories; the message names file, line and what was expected."""


class AmbiguousFormat(TraceError):
    """Two formats fit a file equally well; the message lists them. Use ``--format``."""


class LabelError(UsageError):
    """A label file is inconsistent: duplicate ids, values outside the scale, mixed fingerprints."""


class UnknownName(UsageError):
    """No such judge, rubric, metric, format or set; the message suggests the nearest name."""


class MissingExtra(UsageError):
    """An optional dependency is not installed; the hint names the extra."""


class ProviderError(JudgeError):
    """A judge call failed.

    Attributes:
        provider: Name of the judge, e.g. "openai/gpt-4o".
        status_code: HTTP status, or None where there was none.
        reason: Short kind for the summary, e.g. "rate_limit", "timeout", "auth".
        attempts: HTTP requests spent before it was raised; `untold` of them may have been billed, and nobody says.
        quota: Headers in which the provider told its quotas.
    """

    exit_code = 4
    attempts: int = 1
    untold: int = 0
    quota: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        provider: str = "",
        status_code: int | None = None,
        reason: str = "provider_error",
    ) -> None:
        super().__init__(message, hint=hint)
        self.provider = provider
        self.status_code = status_code
        self.reason = reason


class RetryableError(ProviderError):
    """Waiting may help.

    Attributes:
        retry_after: Seconds the server asked to wait, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        provider: str = "",
        status_code: int | None = None,
        reason: str = "retryable",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, hint=hint, provider=provider, status_code=status_code, reason=reason)
        self.retry_after = retry_after


class RequestRefused(ProviderError):
    """This one request is wrong and will be wrong again.

    Attributes:
        parameter: Name of the request parameter that the server refused, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        provider: str = "",
        status_code: int | None = None,
        reason: str = "request_refused",
        parameter: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, provider=provider, status_code=status_code, reason=reason)
        self.parameter = parameter


class TerminalError(ProviderError):
    """No call to this provider will succeed (401, 402, 403, exhausted quota): stop dispatching."""


class Overloaded(TerminalError):
    """The provider has refused every call for lack of capacity, for longer than it is waited for.

    It may come back: a later call asks it again. `attempts` is 0 for a call that was not sent any more.
    """

    REASON: ClassVar[str] = "overloaded"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        provider: str = "",
        status_code: int | None = None,
        reason: str = REASON,
    ) -> None:
        super().__init__(message, hint=hint, provider=provider, status_code=status_code, reason=reason)


class ContextOverflow(JudgeError):
    """The trajectory does not fit the judge's context, even shortened."""


class BudgetReached(JudgeError):
    """The spend cap leaves no room for another call."""

    exit_code = 5


class StatisticsError(JudgeError):
    """A statistic is undefined on this data."""


class TooFewLabels(StatisticsError):
    """Fewer labels than the question needs. No data is not zero agreement."""


class FingerprintMismatch(JudgeError):
    """Records of different origin were mixed."""


class TrustRequired(JudgeError):
    """Trust was required of a judge that has no valid certificate."""

    exit_code = 3
