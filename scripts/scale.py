"""Works out a run of millions of trajectories: calls, tokens, hours at given quotas, dollars, disk, memory, workers.

    python scripts/scale.py
    python scripts/scale.py --trajectories 1000000 --judge anthropic/claude-haiku-4-5 --samples 1 --quota 4000:2000000

Every figure of one trajectory is measured here and now: prompts by rendering real ones, processor time and disk by
judging copies of them with a server on this machine. Prices come from litellm's table. What cannot be measured without
a model is an argument: tokens of a reply, samples of a verdict, the provider's latency and quotas.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, median

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from scaling.arithmetic import Prices, batch_hours, batches, costs, hours, requests, tokens, under_way, workers  # noqa: E402
from scaling.measured import cache_bytes, child, counter, loopback_server, prompts  # noqa: E402

from judge.errors import JudgeError  # noqa: E402

JUDGES = ("openai/gpt-5-mini", "openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5")
QUOTAS = ("500:500000", "5000:5000000", "30000:150000000")
WORDS = "The run looks the order up, reads the policy for its country and refunds what the policy allows. "


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trajectories", type=int, default=10_000_000, help="Trajectories of the run.")
    parser.add_argument("--judge", action="append", help="Judge with a price in the table; may stand several times.")
    parser.add_argument("--rubric", default="process", help="Rubric that the prompts are rendered for.")
    parser.add_argument("--traces", action="append", type=Path, help="Real trajectories; the shipped sets when absent.")
    parser.add_argument("--samples", type=float, default=3, help="Replies for one verdict.")
    parser.add_argument("--reply-tokens", type=float, default=150, help="Tokens of one reply.")
    parser.add_argument("--latency", type=float, default=3.0, help="Seconds until a provider has answered.")
    parser.add_argument("--quota", action="append", help="REQUESTS:TOKENS a minute; may stand several times.")
    parser.add_argument(
        "--queued-tokens", type=float, default=1e9, help="Prompt tokens that may wait in batches at once."
    )
    parser.add_argument("--load", type=float, default=0.7, help="Share of its processor that a worker may be busy.")
    parser.add_argument("--items", type=int, default=20_000, help="Judged for the own share; a quarter of it too.")
    parser.add_argument("--no-overhead", action="store_true", help="Measure prompts alone: quick, no disk, no workers.")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    count = given.trajectories
    paths = given.traces or sorted((ROOT / "calibration_sets").glob("*/trajectories.jsonl"))
    print(f"{count:,} trajectories under rubric {given.rubric}, {given.samples:g} samples, "
          f"{given.reply_tokens:g} tokens a reply")  # fmt: skip
    print(f"measured on {', '.join(path.parent.name + '/' + path.name for path in paths)}; tokens {counter()[0]}")
    for judge in given.judge or JUDGES:
        report(judge, given, paths)
    if not given.no_overhead:
        overhead(given, paths)


def report(judge: str, given: argparse.Namespace, paths: list[Path]) -> None:
    """Calls, tokens, dollars and hours with one judge."""
    from judge.providers.prices import entry

    count = given.trajectories
    row = entry(judge)
    if row is None:
        raise SystemExit(f"litellm's table has no price for {judge!r}.")
    found = prompts(paths, given.rubric, judge, samples=given.samples, reply=given.reply_tokens)
    mix = found.mix
    lengths = [item.prompt for item in mix]
    ways = ", ".join(
        f"{ways:,} {how.replace('_', ' ')}" for how, ways in Counter(item.how for item in mix).most_common()
    )
    sent, written = tokens(mix, count)
    cost = costs(mix, count, Prices.of(row))
    lines = [
        f"prompt   mean {fmean(lengths):,.0f} tokens, median {median(lengths):,.0f}, longest {max(lengths):,.0f}; the "
        f"first {fmean(item.shared for item in mix):,.0f} shared by its samples, {found.common:,} by all trajectories",
        f"samples  asked {ways} (of {len(mix):,} trajectories)",
        f"calls    {requests(mix, count):,.0f} requests, {sent / 1e9:,.1f} billion tokens in, "
        f"{written / 1e9:,.2f} billion out",
        f"cost     {usd(cost.plain)} with each sample paid in full, {usd(cost.shared)} with prompts shared by samples",
        f"         {usd(cost.batch)} by provider batch, {usd(cost.batch_cached)} if its prompt cache hits as well",
    ]
    for quota in given.quota or QUOTAS:
        per_minute, tokens_per_minute = map(float, quota.split(":"))
        took = hours(mix, count, per_minute=per_minute, tokens_per_minute=tokens_per_minute)
        rate = requests(mix, count) / took / 3600
        lines.append(
            f"hours    {took:,.0f} ({took / 24:,.1f} days) at {per_minute:,.0f} requests and {tokens_per_minute:,.0f} "
            f"tokens a minute: {rate:,.1f} requests a second, {under_way(rate, latency_s=given.latency):,.0f} under way"
        )
    limits = batch_limits(judge)
    if limits is not None:
        least = batches(mix, count, most_requests=limits[0], most_bytes=limits[1])
        wait = batch_hours(mix, count, queued_tokens=given.queued_tokens)
        lines.append(
            f"batches  {least:,} of at most {limits[0]:,} requests and {limits[1] / 1e6:,.0f} MB; with "
            f"{given.queued_tokens:,.0f} tokens queued at once at most {wait:,.0f} hours ({wait / 24:,.0f} days)"
        )
    print("\n  ".join([f"\n{judge}", *lines]))


def batch_limits(judge: str) -> tuple[int, int] | None:
    """Most requests and bytes of one batch of the judge's provider."""
    from judge.providers.message_batches import MessageBatches
    from judge.providers.openai_batches import OpenAIBatches

    apis = {"openai": OpenAIBatches.limits, "anthropic": MessageBatches.limits}
    found = apis.get(judge.partition("/")[0])
    return None if found is None else (found.requests, found.bytes)


def overhead(given: argparse.Namespace, paths: list[Path]) -> None:
    """Our own share: processor time, disk, memory, and the workers that it takes."""
    count, small, large = given.trajectories, given.items // 4, given.items
    reply = (WORDS * 40)[: int(given.reply_tokens * 4)]
    traces = prompts(paths, given.rubric, JUDGES[0], samples=1, reply=given.reply_tokens).trace_bytes

    def runs(mode: str, port: int = 0) -> tuple[dict[str, float], dict[str, float], float]:
        """Figures of both runs, and the processor seconds that each further trajectory takes."""
        first, second = (child(paths, size, mode=mode, reply=reply, port=port) for size in (small, large))
        return first, second, (second["cpu_s"] - first["cpu_s"]) / (large - small)

    def peaks(first: dict[str, float], second: dict[str, float]) -> str:
        return f"memory at most {first['peak_mib']:.0f} and {second['peak_mib']:.0f} MiB"

    with loopback_server() as port:
        *called, call_cpu = runs("called", port)
    lines = [f"one process  {call_cpu * 1e3:.2f} ms of processor for a trajectory with one call; {peaks(*called)}"]
    engine = "ray" if find_spec("ray") else "local"
    *spread, kept_cpu = runs(engine)
    if engine == "ray":
        lines.append(
            f"ray, driver  {kept_cpu * 1e3:.2f} ms of processor for a trajectory, so at most {1 / kept_cpu:,.0f} a "
            f"second; {peaks(*spread)}"
        )
    kept, cached = spread[1], cache_bytes(reply)
    disk = (
        ("results", count, kept["results_bytes"]),
        ("index", count, kept["index_bytes"]),
        ("cache", count * given.samples, cached),
        ("input", count, traces),
    )
    lines.append(f"bytes        {', '.join(f'{each:,.0f} {name}' for name, _, each in disk)} (each)")
    lines.append(f"disk         {', '.join(f'{many * each / 1e9:,.1f} GB {name}' for name, many, each in disk)}")
    for per_second in (10, 100, 1000):
        needed = workers(per_second, cpu_s=call_cpu, load=given.load)
        busy = f", the driver busy for {per_second * kept_cpu:.0%}" if engine == "ray" else ""
        lines.append(f"workers      {needed:,} for {per_second:,} trajectories a second of one call each{busy}")
    print("\n  ".join([f"\nown share, from runs of {small:,} and {large:,}", *lines]))


def usd(amount: float | None) -> str:
    return "no price known" if amount is None else f"${amount:,.0f}"


if __name__ == "__main__":
    try:
        main()
    except JudgeError as error:
        sys.exit(f"error: {error}")
