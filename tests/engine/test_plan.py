"""A plan counts calls, tokens and cost, and sends nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import judge
from judge.config import Settings, load_settings
from judge.engine.plan import plan
from judge.types import Trajectory


def run_of(name: str) -> Trajectory:
    return Trajectory.from_json(
        {
            "schema": "judge.trajectory/1",
            "id": name,
            "source": {"format": "native"},
            "steps": [{"index": 1, "kind": "final", "text": f"answer {name}"}],
        }
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "judge.toml").write_text(
        '[models."openai/priced"]\ninput_usd_per_million = 2.0\noutput_usd_per_million = 10.0\n', encoding="utf-8"
    )
    flags = {"judge": "openai/priced", "samples": 3, "cache_dir": tmp_path / "cache", "max_output_tokens": 100}
    return load_settings(flags, environment={"OPENAI_API_KEY": "sk-not-a-key-0000"}, folder=tmp_path)


def test_calls_tokens_and_cost_are_sums_over_the_prompts(settings: Settings) -> None:
    made = plan([run_of("a"), run_of("b")], settings=settings, payloads=True)
    tokens = sum(prompt.tokens for prompt in made.prompts)
    # three samples are one request, or three where the server does not take `n`
    assert (made.trajectories, made.calls_low, made.calls_high, made.cached) == (2, 2, 6, 0)
    assert (made.input_tokens, made.output_tokens) == (3 * tokens, 6 * 100)
    assert made.cost_low == pytest.approx(tokens * 2 / 1e6)
    assert made.cost_high == pytest.approx((3 * tokens * 2 + 600 * 10) / 1e6)


def test_tokens_are_told_only_of_calls(settings: Settings) -> None:
    assert "tokens: about" in plan([run_of("a")], settings=settings).text()
    rules = plan([run_of("a")], judge="rules/process", settings=settings).text()
    assert "calls: 3 that ask no model, and 0 samples from the cache" in rules
    assert "tokens" not in rules


def test_the_default_number_of_samples_is_a_range(settings: Settings) -> None:
    default = settings.model_copy(update={"samples": None})
    ordinal = plan([run_of("a")], "process", settings=default)
    binary = plan([run_of("a")], "outcome", settings=default)
    apart = plan([run_of("a")], "process", settings=default.model_copy(update={"seed": 1}))
    assert (ordinal.calls_low, ordinal.calls_high) == (1, 3)
    assert (apart.calls_low, apart.calls_high) == (2, 3)
    assert (binary.calls_low, binary.calls_high) == (1, 1)


def test_what_would_be_sent_is_shown_whole_and_without_the_key(settings: Settings) -> None:
    made = plan([run_of("a")], settings=settings, payloads=True)
    text = made.prompts[0].text()
    assert "answer a" in text
    assert "openai" in str(made.host)
    assert "sk-not-a-key-0000" not in text + str(made.to_json())
    assert plan([run_of("a")], settings=settings).prompts == ()


def test_samples_in_the_cache_are_counted_apart(tmp_path: Path, settings: Settings) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("cache: true\ndefault: 4\n", encoding="utf-8")
    fake = settings.model_copy(update={"judge": f"fake/{script}", "samples": 2})
    judge.score(run_of("a"), settings=fake)
    made = plan([run_of("a"), run_of("b")], settings=fake, samples=3)
    assert (made.cached, made.calls_high, made.cost_high) == (2, 4, 0)  # four draws are missing
    assert made.output_tokens == 4 * 100


def test_a_judge_that_asks_no_model_makes_as_many_calls_as_were_planned(settings: Settings) -> None:
    """Two runs that used no tool, three samples each: the plan and the run count the same."""
    made = plan([run_of("a"), run_of("b")], judge="rules/process", settings=settings)
    verdicts = judge.score_many([run_of("a"), run_of("b")], judge="rules/process", settings=settings)
    assert (made.calls_low, made.calls_high) == (6, 6)
    assert sum(verdict.calls for verdict in verdicts) == 6
    assert (made.offline, made.cost_low, made.cost_high) == (True, 0.0, 0.0)


def test_a_run_that_does_not_fit_is_named_and_takes_no_call(tmp_path: Path) -> None:
    (tmp_path / "judge.toml").write_text('[models."openai/small"]\ncontext_tokens = 256\n', encoding="utf-8")
    flags = {"judge": "openai/small", "cache_dir": tmp_path / "cache"}
    settings = load_settings(flags, environment={"OPENAI_API_KEY": "sk-not-a-key-0000"}, folder=tmp_path)
    made = plan([run_of("a")], settings=settings)
    assert (made.overflow, made.trajectories, made.calls_high) == (("a",), 1, 0)
