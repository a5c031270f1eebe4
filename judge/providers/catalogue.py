"""Which judges can be named here, and whether each is ready."""

from __future__ import annotations

import importlib.util
from urllib.parse import urlsplit

from judge.config import KEY_NAMES, Settings
from judge.providers.weights import KNOWN, is_pulled
from judge.registry import names
from judge.types.record import Record


class KnownJudge(Record):
    """One judge, or one kind of judge, that can be named.

    Attributes:
        name: With the part to fill in as a capital word, e.g. "openai/MODEL".
        ready: Whether a call could be made now.
        detail: What it is, or what is missing.
    """

    name: str
    ready: bool
    detail: str


def known_judges(settings: Settings) -> tuple[KnownJudge, ...]:
    """The judges of this installation, the embedded and offline ones first. Contacts nobody."""
    out = [_embedded(name, settings) for name in KNOWN]
    llama = importlib.util.find_spec("xllamacpp") is not None
    missing = 'xllamacpp is not installed: pip install "trajudge[local]"'
    out += [
        KnownJudge(name="local/PATH.gguf", ready=llama, detail="any GGUF weights file" if llama else missing),
        KnownJudge(name="rules/process", ready=True, detail="deterministic baseline from the metrics"),
        KnownJudge(name="replay/FILE", ready=True, detail="recorded verdicts"),
        KnownJudge(name="fake/always-N", ready=True, detail="the same answer each time, for tests"),
        KnownJudge(name="fake/FILE", ready=True, detail="a scripted judge, for tests"),
    ]
    out += [_remote(provider, settings) for provider in ("openai", "anthropic")]
    out.append(_litellm(settings))
    listed = {judge.name.partition("/")[0] for judge in out}
    out += [
        KnownJudge(name=f"{name}/MODEL", ready=True, detail="from an installed package")
        for name in names("providers")
        if name not in listed
    ]
    out += [
        KnownJudge(name=name, ready=True, detail="named in the settings")
        for name in sorted(settings.models)
        if name not in {judge.name for judge in out}
    ]
    return tuple(out)


def _embedded(name: str, settings: Settings) -> KnownJudge:
    judge = f"local/{name}"
    if importlib.util.find_spec("xllamacpp") is None:
        return KnownJudge(name=judge, ready=False, detail='xllamacpp is not installed: pip install "trajudge[local]"')
    if not is_pulled(name, settings):
        return KnownJudge(name=judge, ready=False, detail=f"weights are not here: judge models pull {name}")
    return KnownJudge(name=judge, ready=True, detail="embedded model, no key, no network; a weak judge")


def _remote(provider: str, settings: Settings) -> KnownJudge:
    name = f"{provider}/MODEL"
    url = settings.provider(provider).base_url
    if url:
        return KnownJudge(name=name, ready=True, detail=f"at {urlsplit(url).netloc}")
    variable = settings.provider(provider).api_key_env or KEY_NAMES[provider]
    if settings.key(provider):
        return KnownJudge(name=name, ready=True, detail=f"key from {variable}")
    return KnownJudge(name=name, ready=False, detail=f"set {variable}, or providers.{provider}.base_url")


def _litellm(settings: Settings) -> KnownJudge:
    if importlib.util.find_spec("litellm") is None:
        return KnownJudge(name="litellm/ANY", ready=False, detail="litellm is not installed")
    url = settings.provider("litellm").base_url
    where = f"at {urlsplit(url).netloc}" if url else "each provider by litellm's own naming and keys"
    return KnownJudge(name="litellm/ANY", ready=True, detail=where)
