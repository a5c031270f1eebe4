"""The base of every value in the project: frozen, strict about keys, fingerprinted, JSON both ways."""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field

_QUICK = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_UNTOLD = bytes(set(range(256)) - set(b'0123456789.e-:,[ "nul'))
_NULLS = (b":null", b",null", b"[null")


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces: equal values give equal bytes in every process.

    Raises:
        ValueError: `value` holds NaN or an infinity, which JSON cannot say.
    """
    try:
        quick = orjson.dumps(value, option=_QUICK)
    except TypeError:
        return _slow(value)
    return _slow(value) if _may_differ(quick) else quick


def _slow(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def _may_differ(quick: bytes) -> bool:
    """Whether orjson may have written something in another way: a NaN as null, or a float that needs an exponent.

    Looks at the bytes alone, so that a text that only looks like one costs time and changes nothing.
    """
    told = quick.translate(_ALIKE, _UNTOLD)
    if b"null" in told and (quick == b"null" or any(null in quick for null in _NULLS)):
        return True
    return (b"0.0000" in told and b"0.0000" in quick) or _has_exponent(told)


def _has_exponent(text: bytes) -> bool:
    """Whether a number in `text`, whose digits are all 0, is written with an exponent."""
    at = text.find(b"0e")
    while at >= 0:
        before = text[max(0, at - 30) : at].rstrip(b"0.-")
        if before[-1:] in (b":", b",", b"[", b""):
            return True
        at = text.find(b"0e", at + 2)
    return False


def fingerprint(value: Any) -> str:
    """sha256 in hex of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def empty_dict() -> Any:
    """The default of a field that is an empty dict: a new one for each record, made much faster than a copy of one."""
    return Field(default_factory=dict, json_schema_extra={"default": {}})


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
