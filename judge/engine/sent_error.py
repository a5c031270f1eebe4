"""An error as plain values, so that it means the same in another process."""

from __future__ import annotations

from dataclasses import dataclass

from judge import errors
from judge.errors import JudgeError, ProviderError


@dataclass(frozen=True, slots=True)
class SentError:
    """A `JudgeError` on its way; `kind` is the name of its class."""

    kind: str
    message: str
    hint: str
    provider: str = ""
    status_code: int | None = None
    reason: str = ""

    @classmethod
    def of(cls, error: JudgeError) -> SentError:
        """What of the error its receiver needs."""
        kind = type(error).__name__
        if isinstance(error, ProviderError):
            return cls(kind, error.message, error.hint, error.provider, error.status_code, error.reason)
        return cls(kind, error.message, error.hint)

    def error(self) -> JudgeError:
        """The error, to be raised here; a class that is not of the tree becomes its root."""
        found = getattr(errors, self.kind, None)
        made: type[JudgeError] = found if isinstance(found, type) and issubclass(found, JudgeError) else JudgeError
        if issubclass(made, ProviderError):
            return made(
                self.message,
                hint=self.hint,
                provider=self.provider,
                status_code=self.status_code,
                reason=self.reason,
            )
        return made(self.message, hint=self.hint)
