"""Compare published judges on published labels and write the pages: `python scripts/compare_published.py DATA [OUT]`.

DATA is the folder with agentprocessbench, livemcpbench, llmbar and pandalm (docs/compare.md says where they are from);
OUT is a folder for the pages, ./published by default. Prices are not part of the data: the frontiers are drawn with
those assumed in scripts/published/prices.yaml, and with `--price NAME=USD` of your own, given after the folders.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from judge.calibration.comparison import compare
from judge.calibration.dataset import Dataset
from judge.calibration.jury_errors import JuryErrors, jury_errors
from judge.calibration.kappa import cohen_kappa
from judge.calibration.pairwise import Contest, Winner, order_report
from judge.calibration.recorded_jury import seat
from judge.calibration.shared_runs import shared_runs
from judge.cli.main import run
from judge.report.calibration import statistic_text
from judge.report.jury import jury_lines
from judge.types.comparison import Comparison
from judge.types.jury import Jury
from judge.types.rubric import BinaryScale

FIELDS = Path(__file__).resolve().parent / "published"
LLMBAR = (
    ("GPT-4", "Natural"),
    ("GPT-4", "Neighbor"),
    ("GPT-4", "Manual"),
    ("ChatGPT", "Natural"),
    ("ChatGPT", "Neighbor"),
)


def comparisons(data: Path) -> dict[str, list[str]]:
    """Arguments of `judge compare` by the name of the report."""
    process, live, panda = data / "agentprocessbench", data / "livemcpbench", data / "pandalm"
    hotpotqa = [
        "--verdicts", str(process / "judge_labels" / "hotpotqa.jsonl"),
        "--labels", str(process / "human_labels" / "hotpotqa_final.jsonl"),
        "--fields", str(FIELDS / "agentprocessbench.yaml"),
    ]  # fmt: skip
    return {
        "agentprocessbench": hotpotqa,
        "agentprocessbench_jury": [*hotpotqa, "--judge", f"jury:{FIELDS / 'jury_hotpotqa.yaml'}"],
        "livemcpbench": [
            "--verdicts", str(live / "judge_outputs.jsonl"),
            "--labels", str(live / "trajectories_with_human_label.jsonl"),
            "--fields", str(FIELDS / "livemcpbench.yaml"),
        ],
        "pandalm": [
            "--verdicts", str(panda / "gpt-3.5-turbo-testset-v1.json"), "--fields", str(FIELDS / "pandalm.yaml"),
            "--verdicts", str(panda / "pandalm-7b-testset-v1.json"), "--fields", str(FIELDS / "pandalm_7b.yaml"),
            "--labels", str(panda / "testset-v1.json"),
            "--judge", f"jury:{FIELDS / 'jury_pandalm.yaml'}",
        ],
    }  # fmt: skip


def assumed_prices(name: str) -> list[str]:
    """`--price` for every judge of a data set whose price is assumed; see prices.yaml."""
    table = yaml.safe_load((FIELDS / "prices.yaml").read_text(encoding="utf-8"))
    tokens, out = table["tokens"], []
    for judge, (sent, written) in table.get(name, {}).items():
        wrote = tokens["thinking" if judge in table["thinking"] else "output"]
        out += ["--price", f"{judge}={(tokens['input'] * sent + wrote * written) / 1e6:.6f}"]
    return out


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


def five_copies(rng: np.random.Generator, n: int = 1_500) -> tuple[Comparison, JuryErrors]:
    """A jury of five copies of one noisy judge beside that judge with five samples, and how the copies err.

    The judge misreads a quarter of the runs nearly always (.9) and the others rarely (.05): asking again cures the
    rare errors and not the steady ones, whoever is asked.
    """
    labels = rng.integers(2, size=n)
    wrong = np.where(rng.random(n) < 0.25, 0.9, 0.05)

    def sample() -> np.ndarray:
        return np.where(rng.random(n) < wrong, 1 - labels, labels)

    def judged(name: str, votes: list[np.ndarray]) -> Dataset:
        said = tuple((np.mean(votes, axis=0) > 0.5).astype(float).tolist())
        items = tuple(f"run-{i}" for i in range(n))
        return Dataset(
            judge=name,
            criterion="overall",
            scale=BinaryScale(),
            items=items,
            labels=tuple(labels.astype(float).tolist()),
            raters={},
            verdicts=said,
            failures=(None,) * n,
            repeats=(said,),
            groups=items,
        )

    samples = judged("one judge, five samples", [sample() for _ in range(5)])
    single = judged("one judge, one sample", [sample()])
    copies = {f"copy {k}": judged(f"copy {k}", [sample()]) for k in range(1, 6)}
    jury = Jury(name="jury of five copies", members=tuple(copies))
    found = compare(
        shared_runs([samples, single, seat(jury, copies).data]),
        label_set="simulated runs",
        rng=np.random.default_rng(1),
    )
    return found, jury_errors(shared_runs(list(copies.values())), jury.members)


def show(name: str, arguments: list[str], out: Path) -> None:
    """Writes one report and prints what it decides."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = run(["compare", *arguments, "--out", str(out / name), "--json"])
    if code:
        sys.exit(code)
    document = json.loads(said.getvalue())
    print(f"== {name}: {len(document['judges'])} judges on {document['n']} runs of {document['n_groups']} tasks")
    for words in document["decision"]["words"]:
        print(f"  {words}")
    pair = next((p for p in document["pairs"] if p["only_a"] is not None and p["better"]), None)
    if pair is not None:
        print(f"  {pair['a']} against {pair['b']}: {_exact(pair)}")
    names = [row["judge"] for row in document["judges"]]
    twins = sorted({name for name in names if [other.casefold() for other in names].count(name.casefold()) > 1})
    if twins:
        print(f"  Names that differ only in case stay two judges: {', '.join(twins)}")
    best = [f"{p['judge']} (${p['usd']:.4g}, {p['right']:.3f})" for p in document["frontier"] if p["on_frontier"]]
    if best:
        print(f"  Frontier at assumed prices (none is both cheaper and better): {'; '.join(best)}")
    for row in document["judges"]:
        if row["failures"]:
            print(f"  {row['judge']}: no score on " + ", ".join(f"{n} ({why})" for why, n in row["failures"].items()))
    for jury, errors in document["juries"].items():
        print("\n".join(f"  {line}" for line in jury_lines(jury, JuryErrors.from_json(errors))))


def _exact(pair: dict[str, Any]) -> str:
    """McNemar's exact p by binomial coefficients alone, beside what the comparison printed."""
    b, c = pair["only_a"], pair["only_b"]
    tail = sum(comb(b + c, k) for k in range(min(b, c) + 1))
    p = min(1.0, 2 * tail / 2 ** (b + c))
    return f"{b} to {c} runs, p {pair['p']:.3g} printed and {p:.3g} counted anew"


def pandalm_people(path: Path) -> None:
    """Kappa of PandaLM's three annotators with each other, and the majority."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    said = [[float(row[f"annotator{k}"]) for row in rows] for k in (1, 2, 3)]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        found = cohen_kappa(said[i], said[j], domain=(0.0, 1.0, 2.0), rng=np.random.default_rng(0))
        print(f"  annotators {i + 1} and {j + 1}: kappa {statistic_text(found)}")
    majority = [max(set(votes), key=votes.count) for votes in zip(*said, strict=True)]
    print("  majority: " + ", ".join(f"{value:g} {majority.count(value)} times" for value in (0.0, 1.0, 2.0)))


def main(data: Path, out: Path, prices: list[str]) -> None:
    for name, arguments in comparisons(data).items():
        show(name, [*arguments, *assumed_prices(name), *(prices if name != "pandalm" else [])], out)
    print("== pandalm, people")
    pandalm_people(data / "pandalm" / "testset-v1.json")
    print("== llmbar, both orders")
    rows = [
        json.loads(line) for line in (data / "llmbar" / "judge_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for judge, subset in LLMBAR:
        pairs = order_report(contests(rows, judge, subset), rng=np.random.default_rng(0))
        shown = [f"{s.value:.3f}" if s.value is not None else "unknown" for s in (pairs.accuracy, pairs.agreement)]
        print(f"  {judge} {subset}: accuracy {shown[0]}, orders agree {shown[1]}, inconclusive {pairs.inconclusive}")
    print("== simulated: five copies of one noisy judge")
    found, errors = five_copies(np.random.default_rng(11))
    for row in found.judges:
        print(f"  {row.judge}: right {statistic_text(row.right)}")
    for pair in found.pairs:
        better = "not shown to differ" if pair.better is None else f"{pair.better} is better"
        print(f"  {pair.a} less {pair.b}: {statistic_text(pair.difference)}, {better}")
    print("\n".join(f"  {line}" for line in jury_lines("why", errors)))


if __name__ == "__main__":
    given = [Path(each) for each in sys.argv[1:3] if not each.startswith("--")]
    if not given:
        sys.exit("usage: python scripts/compare_published.py DATA [OUT] [--price NAME=USD ...]")
    main(given[0], given[1] if len(given) > 1 else Path("published"), sys.argv[1 + len(given) :])
