"""Settings that cannot be: the error names the place that the value came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge.config import load_settings
from judge.errors import ConfigError


@pytest.mark.parametrize("field", ["max_usd", "max_usd_per_item", "max_usd_per_day", "temperature", "max_wait_s"])
def test_no_setting_is_infinite(field: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"Setting '{field}' is inf: Input should be a finite number"):
        load_settings({field: float("inf")}, environment={}, folder=tmp_path)
    (tmp_path / "judge.toml").write_text("[providers.openai]\ntokens_per_minute = inf\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"'providers.openai.tokens_per_minute' in .*judge.toml is inf"):
        load_settings({}, environment={}, folder=tmp_path)


@pytest.mark.parametrize(
    ("flags", "environment", "place"),
    [
        ({"samples": 0}, {}, "Setting 'samples' is 0"),
        ({"samples": 0}, {"JUDGE_SAMPLES": "3"}, "Setting 'samples' is 0"),
        ({}, {"JUDGE_SAMPLES": "none"}, "Setting 'samples' in JUDGE_SAMPLES is 'none'"),
        ({}, {"JUDGE_SAMPLES": ""}, r"Setting 'samples' in .*judge\.toml is -1"),
    ],
)
def test_the_error_names_where_the_value_came_from(
    flags: dict[str, Any], environment: dict[str, str], place: str, tmp_path: Path
) -> None:
    (tmp_path / "judge.toml").write_text("samples = -1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=place):
        load_settings(flags, environment=environment, folder=tmp_path)


def test_a_settings_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory"):
        load_settings({}, environment={"JUDGE_CONFIG": str(tmp_path)})
