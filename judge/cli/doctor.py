"""`judge doctor`: is this machine ready, and what to do where it is not."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
import tempfile
from collections.abc import Callable

import typer

from judge.cli import options
from judge.cli.output import emit, say, table

PACKAGES = ("pydantic", "anthropic", "openai", "litellm", "scikit-learn", "diskcache", "numpy", "scipy")
BAD_LITELLM = ("1.82.7", "1.82.8")


def doctor(as_json: options.AsJson = False) -> None:
    """Check this installation: packages, shipped data, cache, keys, embedded model. Exit 1 on a failure."""
    results = [(name, *_outcome(check)) for name, check in CHECKS.items()]
    failed = [name for name, state, _ in results if state == "failed"]
    if as_json:
        emit({"checks": [{"name": n, "state": s, "detail": d} for n, s, d in results], "ready": not failed})
    else:
        say(table([list(row) for row in results], header=["check", "state", "detail"]))
        say("\nReady." if not failed else f"\nNot ready: {', '.join(failed)}.")
    if failed:
        raise typer.Exit(1)


def _outcome(check: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    # A doctor reports what is broken, whatever broke it; this is the only place that may catch everything.
    try:
        return check()
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"


def _python() -> tuple[str, str]:
    ready = sys.version_info >= (3, 11)
    return ("ok" if ready else "failed"), f"Python {platform.python_version()} (3.11 or later is needed)"


def _packages() -> tuple[str, str]:
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    if versions["litellm"] in BAD_LITELLM:
        return "failed", f"litellm {versions['litellm']} was malicious: install another version"
    return "ok", ", ".join(f"{name} {version}" for name, version in versions.items())


def _settings() -> tuple[str, str]:
    from judge.config import load_settings

    return "ok", f"default judge {load_settings().default_judge}"


def _shipped() -> tuple[str, str]:
    from judge.calibration.sets import set_names
    from judge.prompt import rubric_names

    rubrics, sets = rubric_names(), set_names()
    state = "ok" if rubrics and sets else "failed"
    return state, f"{len(rubrics)} rubrics, {len(sets)} calibration sets"


def _cache() -> tuple[str, str]:
    from judge.config import load_settings

    settings = load_settings({"cache_optional": False})
    if isinstance(settings.cache, str):
        from judge.providers.caches import open_cache

        shared = open_cache(settings)
        if shared is not None:
            shared.close()
        return "ok", f"{settings.cache} answers"
    folder = settings.cache_dir
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"x")
    return "ok", f"{folder} can be written"


def _keys() -> tuple[str, str]:
    from judge.config import load_settings

    found = sorted(load_settings().keys)
    return ("ok" if found else "none"), ", ".join(found) or "no provider key; the embedded and offline judges need none"


def _embedded() -> tuple[str, str]:
    from judge.config import load_settings
    from judge.providers.weights import find

    if importlib.util.find_spec("xllamacpp") is None:
        return "absent", "xllamacpp is not installed: pip install 'trajudge[local]'"
    path = find("smollm2-135m", load_settings())
    if path is None:
        return "absent", "weights are not here: judge models pull smollm2-135m"
    return "ok", str(path)


CHECKS: dict[str, Callable[[], tuple[str, str]]] = {
    "python": _python,
    "packages": _packages,
    "settings": _settings,
    "shipped data": _shipped,
    "cache": _cache,
    "keys": _keys,
    "embedded model": _embedded,
}
