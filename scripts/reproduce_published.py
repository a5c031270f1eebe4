"""Reproduces published figures on labels, repeats and orders through the generic reader and a field mapping each.

python scripts/reproduce_published.py DATA

DATA is a folder with agentprocessbench, livemcpbench, llmbar, pandalm, prometheus_gpt4_3samples and
tau_bench_airline as their authors published them. The mappings are in scripts/published; there is no code for one
data set here, only which statistic of which file is meant. Exit status 1 when a figure differs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import TypeAdapter

from judge.calibration.dataset import Dataset, join
from judge.calibration.fields import FieldMap
from judge.calibration.kappa import cohen_kappa
from judge.calibration.observations import Reading, Scales, observe, read_rows
from judge.calibration.pass_k import mean_over_tasks
from judge.calibration.wobble import wobble
from judge.engine.certifying import voter
from judge.importers import load
from judge.types.rubric import Scale

MAPS = Path(__file__).parent / "published"
RNG = np.random.default_rng(0)
"""Only intervals draw from it, and no interval is printed here."""


@dataclass(frozen=True)
class Row:
    """One figure, as published and as it comes out here, each as text with the digits that were published."""

    what: str
    published: str
    ours: str

    @property
    def equal(self) -> bool:
        """Whether all digits are the same."""
        return self.published == self.ours


@dataclass(frozen=True)
class Files:
    """A mapping with the files that it reads."""

    name: str
    verdicts: Path
    labels: Path | None = None

    def given(self) -> dict[str, Any]:
        """The mapping as it stands in its file."""
        value: dict[str, Any] = yaml.safe_load((MAPS / f"{self.name}.yaml").read_text(encoding="utf-8"))
        return value

    def scale(self) -> Scales:
        """The scale of both files' values."""
        adapter: TypeAdapter[Scales] = TypeAdapter(Scale)
        return adapter.validate_python(self.given()["scale"])

    def read(self, side: str) -> Reading:
        """The observations of "verdicts" or "labels"."""
        path = self.verdicts if side == "verdicts" else self.labels
        if path is None:
            raise ValueError(f"{self.name}: no file of {side}.")
        fields = FieldMap.model_validate(self.given()[side])
        return observe(read_rows(path, fields.records), fields, self.scale(), what=str(path))

    def joined(self, judge_name: str) -> Dataset:
        """One judge with the labels; several raters decide by majority."""
        return _joined(self, judge_name)


@cache
def _readings(files: Files) -> tuple[Reading, Reading]:
    return files.read("verdicts"), files.read("labels")


@cache
def _joined(files: Files, judge_name: str) -> Dataset:
    verdicts, labels = _readings(files)
    vote = voter("majority", files.scale())
    return join(
        verdicts.observations,
        labels.observations,
        judge=judge_name,
        criterion="overall",
        scale=files.scale(),
        vote=vote,
    )


def equal_share(data: Dataset) -> float:
    """Share of the items with the label's value; an item without a verdict counts as wrong."""
    return float(np.mean([said == label for said, label in zip(data.verdicts, data.labels, strict=True)]))


def kappa(data: Dataset) -> float:
    """Cohen's kappa in which a failed verdict is a class of its own, that no label is in."""
    domain: list[float] = [*(data.domain or ()), 1e6]
    said = [1e6 if value is None else value for value in data.verdicts]
    found = cohen_kappa(list(data.labels), said, domain=domain, rng=RNG).value
    assert found is not None
    return found


def short(value: float, digits: int = 3) -> str:
    """.571"""
    return f"{value:.{digits}f}".removeprefix("0")


def livemcpbench(data: Path) -> Iterator[Row]:
    """Ten judges of whole texts: the word anywhere, and the last status line."""
    folder = data / "livemcpbench"
    files = (folder / "judge_outputs.jsonl", folder / "trajectories_with_human_label.jsonl")
    anywhere = Files("livemcpbench", *files)
    published = {
        "openai_gpt-4.1-mini": "85.26", "qwen25_72b_int4_instruct": "84.21", "deepseek_deepseek-chat-v3-0324": "81.05",
        "qwen_qwen3-235b-a22b": "74.74", "qwen_qwen3-32b": "73.68", "models_gemini-2.5-pro": "72.63",
        "claude-sonnet-4-20250514": "71.58", "openai_gpt-4.1": "71.58", "claude-opus-4-20250514": "68.42",
        "deepseek_deepseek-r1-0528": "58.95",
    }  # fmt: skip
    for name, figure in published.items():
        found = anywhere.joined(name)
        yield Row(
            f"livemcpbench, word anywhere, {name} (n = {len(found.items)})", figure, f"{100 * equal_share(found):.2f}"
        )
    status = Files("livemcpbench_status", *files)
    moved = {
        "models_gemini-2.5-pro": "76.84", "claude-opus-4-20250514": "70.53", "deepseek_deepseek-r1-0528": "60.00",
        "claude-sonnet-4-20250514": "70.53", "qwen_qwen3-235b-a22b": "72.63",
    }  # fmt: skip
    for name in published:
        figure = moved.get(name, published[name])
        yield Row(f"livemcpbench, last status line, {name}", figure, f"{100 * equal_share(status.joined(name)):.2f}")
    texts = Files("livemcpbench_words", *files).read("verdicts").observations
    failed = sum(observation.failed is not None for observation in texts)
    yield Row("livemcpbench, verdicts that are unparsed text", "228 of 950", f"{failed} of {len(texts)}")
    mini = anywhere.joined("openai_gpt-4.1-mini")
    cells = Counter(zip(mini.labels, mini.verdicts, strict=True))
    table = [cells[1.0, 1.0], cells[1.0, 0.0], cells[0.0, 1.0], cells[0.0, 0.0]]
    yield Row("livemcpbench, gpt-4.1-mini, the four cells", "65 2 12 16", " ".join(str(n) for n in table))
    yield Row("livemcpbench, gpt-4.1-mini, sensitivity", ".970", short(table[0] / (table[0] + table[1])))
    yield Row("livemcpbench, gpt-4.1-mini, specificity", ".571", short(table[3] / (table[2] + table[3])))
    yield Row("livemcpbench, gpt-4.1-mini, kappa", ".604", short(kappa(mini)))


def agentprocessbench(data: Path) -> Iterator[Row]:
    """Final labels and step labels of three judges; one of them failed four times."""
    folder = data / "agentprocessbench"
    files = (folder / "judge_labels" / "hotpotqa.jsonl", folder / "human_labels" / "hotpotqa_final.jsonl")
    final, steps = Files("agentprocessbench_final", *files), Files("agentprocessbench_steps", *files)
    published = {
        "Gemini-3-Flash-Preview-Thinking": (".828", ".584", ".757"),
        "GPT-5.2": (".816", ".583", ".721"),
        "Llama-3.2-3B-Instruct": (".656", ".160", ".443"),
    }
    for name, (accuracy, coefficient, by_step) in published.items():
        runs, parts = final.joined(name), steps.joined(name)
        yield Row(f"agentprocessbench, {name}, accuracy (n = {len(runs.items)})", accuracy, short(equal_share(runs)))
        yield Row(f"agentprocessbench, {name}, kappa", coefficient, short(kappa(runs)))
        yield Row(f"agentprocessbench, {name}, steps (n = {len(parts.items)})", by_step, short(equal_share(parts)))


def pandalm(data: Path) -> Iterator[Row]:
    """Three raters in a row, their majority, and results that are texts."""
    folder = data / "pandalm"
    found = Files("pandalm_people", folder / "pandalm-7b-testset-v1.json", folder / "testset-v1.json").joined(
        "PandaLM-7B"
    )
    for one, other, figure in (("first", "second", ".852"), ("first", "third", ".879"), ("second", "third", ".862")):
        people = [list(found.raters[name]) for name in (one, other)]
        value = cohen_kappa(people[0], people[1], domain=list(found.domain or ()), rng=RNG).value
        yield Row(f"pandalm, kappa of {one} and {other} annotator", figure, short(value or 0.0))
    counts = Counter(found.labels)
    yield Row("pandalm, majority labels 0/1/2", "105/422/472", "/".join(str(counts[float(k)]) for k in range(3)))
    gpt = Files("pandalm_gpt", folder / "gpt-3.5-turbo-testset-v1.json").read("verdicts").observations
    yield Row("pandalm, results that do not parse", "63", str(sum(o.failed is not None for o in gpt)))


def prometheus(data: Path) -> Iterator[Row]:
    """Three samples of the same prompt."""
    published = {"mt_bench": ("44.1", "7.2", ".362", ".851"), "vicuna": ("62.2", "0.6", ".223", ".808")}
    for name, (same, far, sd, correlation) in published.items():
        path = data / "prometheus_gpt4_3samples" / f"{name}_eval.json"
        samples: dict[str, list[float]] = {}
        for observation in Files("prometheus", path).read("verdicts").observations:
            value = np.nan if observation.value is None else observation.value
            samples.setdefault(observation.item, []).append(value)
        found = wobble(np.asarray(list(samples.values())), rng=RNG)
        items = [entry for entry in found.items if entry is not None]
        yield Row(
            f"prometheus, {name}, all samples equal", same, f"{100 * np.mean([i.spread == 0 for i in items]):.1f}"
        )
        yield Row(
            f"prometheus, {name}, range of 2 or more", far, f"{100 * np.mean([i.spread >= 2 for i in items]):.1f}"
        )
        yield Row(f"prometheus, {name}, mean SD within an item", sd, short(float(np.mean([i.sd for i in items]))))
        yield Row(f"prometheus, {name}, ICC(1,1)", correlation, short(found.icc.value or 0.0))


def llmbar(data: Path) -> Iterator[Row]:
    """Pairs in both orders: accuracy over the orders, and how often they agree."""
    path = data / "llmbar" / "judge_outputs.jsonl"
    files = Files("llmbar", path, path)
    published = (
        ("GPT-4", "Natural", "95.5", "95.0"), ("GPT-4", "Neighbor", "78.7", "93.3"),
        ("GPT-4", "Manual", "80.4", "82.6"),
        ("ChatGPT", "Natural", "81.5", "71.0"), ("ChatGPT", "Neighbor", "19.4", "71.6"),
    )  # fmt: skip
    for name, subset, accuracy, same in published:
        whole = files.joined(name)
        found = whole.part([value == subset for value in whole.slices["subset"]])
        orders = np.asarray([[np.nan if v is None else v for v in values] for values in found.orders.values()])
        right = 100 * float(np.mean(orders == np.asarray(found.labels)))
        yield Row(f"llmbar, {name} Vanilla, {subset}, accuracy over both orders", accuracy, f"{right:.1f}")
        yield Row(
            f"llmbar, {name} Vanilla, {subset}, agreement of the orders",
            same,
            f"{100 * np.mean(orders[0] == orders[1]):.1f}",
        )


def tau_bench(data: Path) -> Iterator[Row]:
    """Attempts at tasks, through the importer; the file repeats ids of calls."""
    runs = list(load(data / "tau_bench_airline" / "gpt-4o-airline.json"))
    tasks: dict[str, list[bool]] = {}
    for run in runs:
        tasks.setdefault(run.group or run.id, []).append(run.labels["reward"] == 1)
    counts = [(len(passed), sum(passed)) for passed in tasks.values()]
    for k, figure in enumerate((".420", ".273", ".220", ".200"), start=1):
        value = mean_over_tasks(counts, k, rng=RNG).value
        yield Row(f"tau_bench_airline, pass^{k} over {len(counts)} tasks", figure, short(value or 0.0))
    notes = [[note for note in run.diagnostics if note.code == "DUPLICATE_CALL_ID"] for run in runs]
    repeating = sum(bool(found) for found in notes)
    yield Row("tau_bench_airline, runs that repeat a call id", "49 of 200", f"{repeating} of {len(runs)}")
    repeats = [note for found in notes for note in found]
    others = sum("another call" in note.message for note in repeats)
    yield Row("tau_bench_airline, repeats that are another call", "71 of 73", f"{others} of {len(repeats)}")


SOURCES = (livemcpbench, agentprocessbench, pandalm, prometheus, llmbar, tau_bench)


def rows(data: Path) -> Iterator[Row]:
    """Every figure, in the order of `SOURCES`."""
    for source in SOURCES:
        yield from source(data)


def table(found: Iterable[Row]) -> str:
    """The rows as text: what, published, ours, equal?"""
    lines = [("what", "published", "ours", "equal?")]
    lines += [(row.what, row.published, row.ours, "yes" if row.equal else "NO") for row in found]
    widths = [max(len(line[i]) for line in lines) for i in range(4)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def main() -> int:
    """Prints the table; 1 when a figure differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="Folder with the published data sets.")
    found = list(rows(parser.parse_args().data))
    print(table(found))
    different = sum(not row.equal for row in found)
    print(f"{len(found) - different} of {len(found)} figures are equal.")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
