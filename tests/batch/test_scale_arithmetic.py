"""The arithmetic behind docs/scale.md, on an example worked by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from scaling.arithmetic import (  # noqa: E402
    Item,
    Prices,
    batch_hours,
    batches,
    costs,
    hours,
    requests,
    tokens,
    under_way,
    workers,
)

PRICES = Prices.of({
    "input_cost_per_token": 1e-6,
    "output_cost_per_token": 5e-6,
    "cache_read_input_token_cost": 1e-7,
    "cache_creation_input_token_cost": 1.25e-6,
    "input_cost_per_token_batches": 5e-7,
    "output_cost_per_token_batches": 2.5e-6,
    "cache_read_input_token_cost_batches": 5e-8,
    "cache_creation_input_token_cost_batches": 6.25e-7,
})  # fmt: skip
ALONE = Item(prompt=2000, shared=1800, reply=100, samples=3, request_bytes=9000, how="first_alone")
TOGETHER = Item(prompt=2000, shared=1800, reply=100, samples=3, request_bytes=9000, how="together")
SHORT = Item(prompt=1000, shared=900, reply=100, samples=3, request_bytes=4500, how="first_alone")
THOUSAND = 1000


def test_what_a_thousand_trajectories_cost_each_way() -> None:
    # One trajectory, in millionths of a dollar. Replies: 3 x 100 x 5 = 1500; in a batch 3 x 100 x 2.5 = 750.
    # plain: 3 x 2000 x 1 + 1500 = 7500
    # by cache: written 1800 x 1.25 = 2250, read 2 x 1800 x 0.1 = 360, the rest 3 x 200 x 1 = 600, + 1500 = 4710
    # batch: 3 x 2000 x 0.5 + 750 = 3750
    # batch by cache: 1800 x 0.625 = 1125, 2 x 1800 x 0.05 = 180, 3 x 200 x 0.5 = 300, + 750 = 2355
    got = costs([ALONE], THOUSAND, PRICES)
    assert (got.plain, got.shared, got.batch, got.batch_cached) == pytest.approx((7.5, 4.71, 3.75, 2.355))
    # together: the prompt once, 2000 x 1 + 1500 = 3500; a batch knows no such request
    got = costs([TOGETHER], THOUSAND, PRICES)
    assert (got.plain, got.shared, got.batch, got.batch_cached) == pytest.approx((7.5, 3.5, 3.75, 2.355))


def test_a_prefix_that_is_too_short_to_be_kept_is_paid_each_time() -> None:
    got = costs([SHORT], THOUSAND, PRICES)  # 3 x 1000 x 1 + 1500 = 4500; 3 x 1000 x 0.5 + 750 = 2250
    assert (got.plain, got.shared, got.batch, got.batch_cached) == pytest.approx((4.5, 4.5, 2.25, 2.25))


def test_a_mix_is_the_mean_of_its_trajectories() -> None:
    got = costs([ALONE, SHORT], THOUSAND, PRICES)
    assert (got.plain, got.shared) == pytest.approx(((7.5 + 4.5) / 2, (4.71 + 4.5) / 2))
    assert requests([ALONE, TOGETHER], THOUSAND) == 2000  # (3 + 1) / 2 each
    assert tokens([ALONE, TOGETHER], THOUSAND) == (4e6, 3e5)  # (3 x 2000 + 2000) / 2 and 3 x 100 each


def test_a_price_that_nobody_knows_stays_unknown() -> None:
    prices = Prices(input=1e-6, output=5e-6)
    got = costs([ALONE], THOUSAND, prices)
    assert (got.plain, got.shared) == pytest.approx((7.5, 7.5))  # without a price for reads nothing is saved
    assert (got.batch, got.batch_cached) == (None, None)


def test_the_slower_of_two_quotas_decides() -> None:
    # 1000 trajectories: 3000 requests, 3000 x 2000 + 300,000 = 6,300,000 tokens
    assert hours([ALONE], THOUSAND, per_minute=100, tokens_per_minute=1e9) == pytest.approx(30 / 60)
    assert hours([ALONE], THOUSAND, per_minute=100, tokens_per_minute=63_000) == pytest.approx(100 / 60)


def test_batches_hold_no_more_than_either_limit_allows() -> None:
    # 3000 requests of 9000 bytes: 27 MB
    assert batches([ALONE], THOUSAND, most_requests=1000, most_bytes=10**9) == 3
    assert batches([ALONE], THOUSAND, most_requests=10**6, most_bytes=5 * 10**6) == 6  # 5.4
    # 6,000,000 prompt tokens, 2,500,000 at once: three rounds of a day
    assert batch_hours([ALONE], THOUSAND, queued_tokens=2.5e6) == 72


def test_workers_and_requests_under_way() -> None:
    assert workers(100, cpu_s=0.01, load=0.5) == 2  # one second of work each second, half of each
    assert workers(0.1, cpu_s=0.01, load=0.5) == 1
    assert under_way(50, latency_s=3) == 150


def test_the_command_prints_what_the_shipped_runs_take(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "scripts" / "scale.py"), "--no-overhead", "--trajectories", "1000"]
    options = ["--judge", "openai/gpt-4.1-mini", "--samples", "1", "--reply-tokens", "100", "--quota", "10:1000000"]
    traces = ["--traces", str(ROOT / "calibration_sets" / "refunds" / "trajectories.jsonl")]
    done = subprocess.run([*program, *options, *traces], capture_output=True, text=True, cwd=tmp_path, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "1,000 trajectories under rubric process, 1 samples, 100 tokens a reply"
    assert any("1,000 requests" in line and "0.00 billion out" in line for line in lines)
    assert any("hours    2 (0.1 days) at 10 requests" in line for line in lines)  # 1000 / 10 / 60 = 1.67
    assert any("asked 40 apart (of 40 trajectories)" in line for line in lines)
