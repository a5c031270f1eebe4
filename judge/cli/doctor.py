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
        say(f"\n{_conclusion(failed, [name for name, state, _ in results if state == 'absent'])}")
    if failed:
        raise typer.Exit(1)


def _conclusion(failed: list[str], absent: list[str]) -> str:
    if failed:
        return f"Not ready: {', '.join(failed)}."
    if "default judge" in absent:
        return "Ready, but for the default judge: install it, or name another with --judge or in judge.toml."
    return "Ready."


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

    load_settings()
    return "ok", "they fit; `judge config show` prints them"


def _judge() -> tuple[str, str]:
    from judge.config import load_settings
    from judge.engine.jury_file import is_jury, load_jury
    from judge.providers.catalogue import known_judges

    settings = load_settings()
    name = settings.default_judge
    if is_jury(name):
        return "ok", f"{name}: {len(load_jury(name, settings).members)} judges as one"
    known = {judge.name: judge for judge in known_judges(settings)}
    alike = [judge for judge in known.values() if judge.name.partition("/")[0] == name.partition("/")[0]]
    found = known.get(name) or (alike[-1] if alike else None)
    if found is None:
        return "failed", f"{name}: no provider has this name"
    return ("ok" if found.ready else "absent"), f"{name}: {found.detail}"


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
        return "absent", 'xllamacpp is not installed: pip install "trajudge[local]"'
    path = find("smollm2-135m", load_settings())
    if path is None:
        return "absent", "weights are not here: judge models pull smollm2-135m"
    return "ok", str(path)


CHECKS: dict[str, Callable[[], tuple[str, str]]] = {
    "python": _python,
    "packages": _packages,
    "settings": _settings,
    "default judge": _judge,
    "shipped data": _shipped,
    "cache": _cache,
    "keys": _keys,
    "embedded model": _embedded,
}
