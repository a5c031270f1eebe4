"""Options that describe recorded verdicts and labels → field mappings and a scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from judge.errors import UsageError

if TYPE_CHECKING:
    from judge.calibration.fields import FieldMap
    from judge.calibration.observations import Scales

NATIVE: dict[str, dict[str, str]] = {
    "verdicts": {
        "id": "trajectory_id", "value": "score", "source": "judge", "group": "group", "reason": "reason",
        "judge_fingerprint": "fingerprints.judge",
    },
    "labels": {
        "id": "trajectory_id", "value": "value", "source": "rater", "rater_kind": "rater_kind", "group": "group",
        "split": "split", "criterion_path": "criterion", "rubric_version": "rubric_version",
        "probability": "inclusion_probability",
    },
}  # fmt: skip
"""Names of the fields in our own files of verdicts and labels."""


def fields_file(path: str | None) -> dict[str, Any]:
    """What a file of --fields says: `verdicts`, `labels`, `scale`, `pass_mark`; empty without a file."""
    if path is None:
        return {}
    from judge.cli.reading import mapping_file

    value = dict(mapping_file(path) or {})
    unknown = set(value) - {"verdicts", "labels", "scale", "pass_mark"}
    if unknown:
        raise UsageError(
            f"{path}: unknown key {sorted(unknown)[0]!r}.", hint="Known: verdicts, labels, scale, pass_mark."
        )
    return value


def field_map(text: str | None, given: Any, what: Literal["verdicts", "labels"], kind: str | None) -> FieldMap:
    """The field mapping: of the command line over the file over the names of the native formats."""
    from pydantic import ValidationError

    from judge.calibration.fields import FieldMap

    value: dict[str, Any] = dict(given or {})
    if text is not None:
        for pair in text.split(","):
            name, sign, path = pair.partition("=")
            if not sign:
                raise UsageError(
                    f"{pair!r} in the map of the {what} is not NAME=PATH.", hint="E.g. id=task_id,value=score"
                )
            value[name.strip()] = path.strip()
    if not value:
        value = dict(NATIVE[what])
    if kind is not None:
        value["rater_kind_name"] = kind
    try:
        return FieldMap.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"The map of the {what}: {where}: {first['msg']}.", hint=f"Known: {', '.join(FieldMap.model_fields)}."
        ) from None


def scale_of(value: Any) -> Scales:
    """A scale from its short form: "binary", "1-5", "low,medium,high", or as in a rubric."""
    from pydantic import TypeAdapter, ValidationError

    from judge.types.rubric import Scale

    if value is None:
        value = "binary"
    if isinstance(value, str) and value != "binary":
        low, dash, high = value.partition("-")
        if dash and low.strip().lstrip("-").isdigit() and high.strip().isdigit():
            value = {"min": float(low), "max": float(high), "step": 1}
        elif "," in value:
            names = [name.strip() for name in value.split(",")]
            value = [{"value": i, "name": name} for i, name in enumerate(names)]
    try:
        adapter: TypeAdapter[Scales] = TypeAdapter(Scale)
        return adapter.validate_python(value)
    except ValidationError as error:
        raise UsageError(
            f"--scale is {value!r}: {error.errors()[0]['msg']}.", hint="Give binary, 1-5, or words worst to best."
        ) from None
