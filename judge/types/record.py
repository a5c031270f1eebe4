"""The base of every value in the project: frozen, strict about keys, fingerprinted, JSON both ways."""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces: equal values give equal bytes in every process.

    Raises:
        ValueError: `value` holds NaN or an infinity, which JSON cannot say.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def fingerprint(value: Any) -> str:
    """sha256 in hex of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


class Record(BaseModel):
    """A frozen value. Unknown keys are an error, so that a typo in a file is found and not ignored."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
        use_attribute_docstrings=False,
        protected_namespaces=(),
    )

    omit_none: ClassVar[bool] = True
    """Whether absent fields are left out of the JSON (True) or written as null (False)."""

    def to_json(self) -> dict[str, Any]:
        """The record as JSON-ready built-ins; `from_json` gives an equal record back."""
        return self.model_dump(mode="json", exclude_none=self.omit_none)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """A record from what `to_json` wrote.

        Raises:
            pydantic.ValidationError: `value` does not fit the schema.
        """
        return cls.model_validate(value)

    @property
    def fingerprint(self) -> str:
        """sha256 of the canonical JSON of this record."""
        return fingerprint(self.to_json())
