"""What a run folder is about: fingerprints of everything that decides a verdict, and settings without secrets."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationError

from judge.errors import UsageError
from judge.types.record import Record
from judge.types.verdict import JudgeSpec

MANIFEST = "manifest.json"
NEW = ".new-"
"""Beginning of the names of files that are being written."""
_CHUNK = 1 << 20
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*\x00-\x1f]|[ .]$')
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$")


class InputFile(Record):
    """One file of trajectories, by content.

    Attributes:
        modified_ns: Time of its last change, in nanoseconds since the epoch; spares a second reading of the bytes.
    """

    path: str
    bytes: int
    modified_ns: int
    sha256: str


class Manifest(Record):
    """The identity of a run.

    Attributes:
        fingerprints: "rubric", "judge", and "policy", "reference" where given.
        spec: The judge, so that a change of it can be named part by part.
        reading: How the inputs are read: format, mapping, limit.
        settings: Those of the run, without secrets; they may change from one session to the next.
        versions: Of this package, Python and the SDKs.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.run/1"] = Field(default="judge.run/1", alias="schema")
    created: str
    rubric: str
    judge: str
    fingerprints: dict[str, str]
    spec: JudgeSpec
    inputs: tuple[InputFile, ...]
    reading: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    versions: dict[str, str] = {}


def input_file(path: str | Path, *, known: Sequence[InputFile] = ()) -> InputFile:
    """An input by size and sha256. Size and time of change equal to a known entry's spare reading it again.

    Raises:
        UsageError: It is no file that can be read twice.
    """
    if str(path) == "-":
        raise UsageError(
            "A batch reads its input twice and again on --resume, and standard input comes once.",
            hint="Save it to a file first, e.g. `judge convert - --out runs.jsonl`.",
        )
    try:
        facts = Path(path).stat()
        for entry in known:
            if entry.path == str(path) and (entry.bytes, entry.modified_ns) == (facts.st_size, facts.st_mtime_ns):
                return entry
        digest = hashlib.sha256()
        with Path(path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        hint = "Give the trace files in it, one by one or by a pattern." if Path(path).is_dir() else ""
        raise UsageError(f"The input {str(path)!r} cannot be read: {error.strerror or error}.", hint=hint) from None
    return InputFile(path=str(path), bytes=facts.st_size, modified_ns=facts.st_mtime_ns, sha256=digest.hexdigest())


def versions() -> dict[str, str]:
    """Versions that a reader of an old run may ask about."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("trajudge", "openai", "anthropic", "litellm", "pydantic"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def identity_changes(old: Manifest, new: Manifest) -> list[str]:
    """What decides a verdict and differs: rubric, judge, policy, references. One line each."""
    lines = []
    for name in sorted(old.fingerprints.keys() | new.fingerprints.keys()):
        before, after = old.fingerprints.get(name), new.fingerprints.get(name)
        if before == after:
            continue
        if name == "judge":
            lines += _spec_changes(old.spec, new.spec)
        elif before is None or after is None:
            lines.append(f"{name}: {'none' if before is None else 'given'} before, now {'given' if after else 'none'}")
        else:
            same = name == "rubric" and old.rubric == new.rubric
            said = f" {old.rubric!r}, now {new.rubric!r}" if name == "rubric" and not same else ""
            lines.append(f"{name}: other content ({before[:12]}{said or f', now {after[:12]}'})")
    return lines


def input_changes(old: Manifest, new: Manifest) -> list[str]:
    """What differs in the input: files, and how they are read. A file that only moved is no change."""
    lines = []
    for name in sorted(old.reading.keys() | new.reading.keys()):
        if old.reading.get(name) != new.reading.get(name):
            lines.append(f"{name}: {old.reading.get(name)!r} before, now {new.reading.get(name)!r}")
    before, after = [f.sha256 for f in old.inputs], [f.sha256 for f in new.inputs]
    if before == after:
        return lines
    if len(before) != len(after):
        lines.append(f"inputs: {len(before)} files before, now {len(after)}")
    for first, second in zip(old.inputs, new.inputs, strict=False):
        if first.sha256 != second.sha256:
            lines.append(f"input {second.path}: other content ({first.bytes:,} bytes before, now {second.bytes:,})")
    return lines


def _spec_changes(old: JudgeSpec, new: JudgeSpec) -> list[str]:
    before, after = _flat(old.model_dump(mode="json")), _flat(new.model_dump(mode="json"))
    return [
        f"judge {name}: {before.get(name)!r} before, now {after.get(name)!r}"
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    ]


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, part in value.items():
        if isinstance(part, dict):
            out |= _flat(part, f"{prefix}{name}.")
        elif isinstance(part, list) and part and all(isinstance(one, dict) for one in part):
            for place, one in enumerate(part, start=1):
                out |= _flat(one, f"{prefix}{name}[{place}].")
        else:
            out[prefix + name] = part
    return out


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run folder.

    Raises:
        UsageError: The folder holds no run, or one of another version.
    """
    try:
        value = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if isinstance(value, dict) and value.get("schema") not in (None, "judge.run/1"):
            raise UsageError(
                f"The run in {str(folder)!r} is of the form {value['schema']!r}, and this version reads judge.run/1.",
                hint="Read it with the version that made it, or judge into a new folder.",
            )
        return Manifest.from_json(value)
    except FileNotFoundError:
        raise UsageError(f"There is no run in {str(folder)!r}.", hint="`judge batch IN --out DIR` makes one.") from None
    except OSError as error:
        raise UsageError(f"The run in {str(folder)!r} cannot be read: {error.strerror or error}.") from None
    except (ValueError, ValidationError) as error:
        first = " ".join(str(error).split("\n")[:3])
        raise UsageError(f"The manifest of {str(folder)!r} does not fit judge.run/1: {first}.") from None


def beside(path: Path) -> Path:
    """A name next to `path` that nothing has, for what takes its place once it is whole.

    Opened with "x" it gets the permissions of any new file, as those of the `tempfile` module do not: a run is read by
    whoever may read its folder.
    """
    return path.with_name(f"{NEW}{secrets.token_hex(6)}")


def write_whole(path: Path, text: str) -> None:
    """Writes a file so that readers see the old one or the new one, never a part."""
    temporary = beside(path)
    with temporary.open("x", encoding="utf-8", newline="\n") as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            file.close()
            temporary.unlink(missing_ok=True)
            raise
    temporary.replace(path)


def check_folder_name(folder: Path) -> None:
    """Refuses a name that no Windows machine could hold, so that every run can be copied to one.

    Raises:
        UsageError: With the name and the reason.
    """
    name = folder.name
    if _NOT_ON_WINDOWS.search(name) or _RESERVED.match(name):
        raise UsageError(
            f"The run folder's name {name!r} is not possible on Windows.",
            hint='Leave out < > : " | ? *, a dot or space at the end, and names such as CON and NUL.',
        )
