"""Compare published judges on published labels and write the pages: `python scripts/compare_published.py DATA OUT`.

DATA is the folder with agentprocessbench, livemcpbench, llmbar and pandalm (docs/compare.md says where they are from).
Prices are not part of the data: the frontier needs `--price NAME=USD` of your own, given after the two folders.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from judge.calibration.pairwise import Contest, Winner, order_report

FIELDS = Path(__file__).resolve().parent / "published"
LLMBAR = (
    ("GPT-4", "Natural"),
    ("GPT-4", "Neighbor"),
    ("GPT-4", "Manual"),
    ("ChatGPT", "Natural"),
    ("ChatGPT", "Neighbor"),
)


def comparisons(data: Path) -> dict[str, list[str]]:
    """Arguments of `judge compare` by data set."""
    process, live, panda = data / "agentprocessbench", data / "livemcpbench", data / "pandalm"
    return {
        "agentprocessbench": [
            "--verdicts", str(process / "judge_labels" / "hotpotqa.jsonl"),
            "--labels", str(process / "human_labels" / "hotpotqa_final.jsonl"),
            "--fields", str(FIELDS / "agentprocessbench.yaml"),
        ],
        "livemcpbench": [
            "--verdicts", str(live / "judge_outputs.jsonl"),
            "--labels", str(live / "trajectories_with_human_label.jsonl"),
            "--fields", str(FIELDS / "livemcpbench.yaml"),
        ],
        "pandalm": [
            "--verdicts", str(panda / "gpt-3.5-turbo-testset-v1.json"), "--fields", str(FIELDS / "pandalm.yaml"),
            "--verdicts", str(panda / "pandalm-7b-testset-v1.json"), "--fields", str(FIELDS / "pandalm_7b.yaml"),
            "--labels", str(panda / "testset-v1.json"),
        ],
    }  # fmt: skip


def contests(rows: list[dict[str, Any]], judge: str, subset: str, strategy: str = "Vanilla") -> list[Contest]:
    """LLMBar's rows of one judge as pairs judged in both orders."""
    names: dict[str | None, Winner] = {"1": 1, "2": 2}
    return [
        Contest(
            first=f"{row['index']}/1",
            second=f"{row['index']}/2",
            ab=names.get(row["order_ab"]["winner"]),
            ba=names.get(row["order_ba"]["winner"]),
            label=names[str(row["label"])],
        )
        for row in rows
        if (row["judge"], row["subset"], row["strategy"]) == (judge, subset, strategy)
    ]


def main(data: Path, out: Path, prices: list[str]) -> None:
    for name, arguments in comparisons(data).items():
        own = [*prices] if name != "pandalm" else []
        command = [sys.executable, "-m", "judge.cli.main", "compare", *arguments, *own, "--out", str(out / name)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    rows = [
        json.loads(line) for line in (data / "llmbar" / "judge_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for judge, subset in LLMBAR:
        found = order_report(contests(rows, judge, subset), rng=np.random.default_rng(0))
        shown = [f"{s.value:.3f}" if s.value is not None else "unknown" for s in (found.accuracy, found.agreement)]
        print(
            f"llmbar {judge} {subset}: accuracy {shown[0]}, orders agree {shown[1]}, inconclusive {found.inconclusive}"
        )


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: python scripts/compare_published.py DATA OUT [--price NAME=USD ...]")
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
