"""What three samples of a prompt cost in prompt tokens, against one, as the server counts them.

    python bench/samples.py [--quick]

The servers of ``tests/billing.py`` answer on the loopback address. One counts as OpenAI does: the prompt of a request
once, however many choices `n` asks for. One counts as Anthropic does: tokens that are worked through, those that are
also written to its prompt cache, and those that are read from it. The target is on tokens worked through: input that
was read from the cache is not among them. It is not free: the line "in money" weighs writing with 1.25 and reading
with 0.1, Anthropic's factors on the price of plain input. The prompt of one sample is neither written nor read.

Ends with exit status 1 where three samples cost more than 1.1 times the prompt tokens of one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from billing import CachingMessages, ChatCompletions  # noqa: E402
from loopback import LoopbackServer  # noqa: E402

from judge.config import load_settings  # noqa: E402
from judge.engine.facade import score_many  # noqa: E402
from judge.types import Criterion, Rubric, Trajectory  # noqa: E402

MOST = 1.1
SAMPLES = 3
WRITTEN, READ = 1.25, 0.1
CLAUSES = " ".join(f"Clause {n}: goods of class {n} come back within {10 + n} days, unused." for n in range(1, 121))
RUBRIC = Rubric(
    id="bench",
    version="1",
    title="Bench",
    intent="To count tokens.",
    criteria=(Criterion.model_validate(
        {"id": "quality", "question": "How good?", "scale": {"min": 1, "max": 5, "step": 1}, "evidence": "none"}
    ),),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One line of the table: server-counted tokens of a trajectory for one sample and for three."""

    what: str
    one: float
    three: float
    target: bool

    @property
    def ratio(self) -> float:
        return self.three / self.one

    @property
    def missed(self) -> bool:
        return self.target and self.ratio > MOST


def runs(count: int) -> list[Trajectory]:
    """Runs that differ from their first step on, each a prompt of about 3,000 tokens."""
    return [
        Trajectory.from_json({
            "schema": "judge.trajectory/1", "id": f"run-{n}", "source": {"format": "native"}, "task": f"Order {n}?",
            "steps": [
                {"index": 1, "kind": "message", "role": "user", "content": [{"type": "text", "text": f"Order {n}?"}]},
                {"index": 2, "kind": "message", "role": "assistant", "content": [{"type": "text", "text": CLAUSES}]},
                {"index": 3, "kind": "final", "text": f"Order {n} comes back."},
            ],
        })
        for n in range(count)
    ]  # fmt: skip


def judged(judge: str, server: LoopbackServer, samples: int, count: int) -> None:
    provider = judge.partition("/")[0]
    with tempfile.TemporaryDirectory() as folder:
        flags = {
            "judge": judge, "samples": samples, "cache": False, "cache_dir": Path(folder), "concurrency": 8,
            "providers": {provider: {"base_url": server.url + ("/v1" if provider == "openai" else "")}},
        }  # fmt: skip
        settings = load_settings(flags, environment={}, folder=Path(folder))
        verdicts = list(score_many(runs(count), RUBRIC, settings=settings))
    votes = [len(verdict.criteria[0].votes) for verdict in verdicts if verdict.status == "ok"]
    if votes != [samples] * count:
        raise SystemExit(f"{judge}: {count} verdicts of {samples} votes were wanted, the valid ones have {votes}")


def chat_tokens(samples: int, count: int, *, takes_n: bool) -> float:
    """Prompt tokens that a server of chat completions billed for one trajectory."""
    chat = ChatCompletions(4, takes_n=takes_n)
    with LoopbackServer(chat) as server:
        judged("openai/bench", server, samples, count)
    return chat.prompt_tokens / count


def message_tokens(samples: int, count: int) -> tuple[float, float]:
    """Input tokens worked through, and all input weighed by its price, for one trajectory."""
    messages = CachingMessages(4)
    with LoopbackServer(messages) as server:
        judged("anthropic/bench", server, samples, count)
    return messages.anew / count, (messages.plain + WRITTEN * messages.created + READ * messages.read) / count


def rows(count: int) -> list[Row]:
    (one, one_paid), (three, three_paid) = message_tokens(1, count), message_tokens(SAMPLES, count)
    chat = {takes_n: [chat_tokens(n, count, takes_n=takes_n) for n in (1, SAMPLES)] for takes_n in (True, False)}
    return [
        Row("openai, n in one request: prompt tokens billed", *chat[True], target=True),
        Row("openai, a server that ignores n", *chat[False], target=False),
        Row("anthropic, prompt cache: tokens worked through", one, three, target=True),
        Row("anthropic, the same in money", one_paid, three_paid, target=False),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer trajectories")
    found = rows(4 if parser.parse_args().quick else 40)
    print(f"{'for one trajectory':<48}  {'1 sample':>9}  {SAMPLES} samples  ratio  target")
    for row in found:
        target = f"≤ {MOST:g} {'NO' if row.missed else 'met'}" if row.target else ""
        print(f"{row.what:<48}  {row.one:>9,.0f}  {row.three:>9,.0f}  {row.ratio:>5.2f}  {target}".rstrip())
    return int(any(row.missed for row in found))


if __name__ == "__main__":
    sys.exit(main())
