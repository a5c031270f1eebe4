"""CPU time and memory of a full calibration report: 1,000 trajectories, 5 samples, 3 criteria.

Each criterion is joined, examined, certified and written as a page and as text: two raters, 100 tasks, four agents,
three slices, six metrics, a review band, and a reason and a view for each run. Ends with exit status 1 above 10 s of
CPU or 1 GB, imports and the drawing of plots included.

    python bench/report.py [--profile] [--quick]
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

RUNS, SAMPLES, TASKS = 1_000, 5, 100
MOST_SECONDS, MOST_MB = 10.0, 1_000.0


def report_all(runs: int, seed: int = 7) -> int:
    """Calibrates a judge of three criteria (binary, binary, five levels) on `runs`; returns the bytes of the pages."""
    from judge.calibration.examine import Beside
    from judge.calibration.observations import Observation, Scales
    from judge.calibration.pass_mark import Costs
    from judge.engine.certifying import Judged, Terms, finish
    from judge.report.calibration import calibration_text
    from judge.report.page import calibration_page
    from judge.types.rubric import BinaryScale, RangeScale
    from judge.types.verdict import JudgeSpec

    rng = np.random.default_rng(seed)
    items = [f"run-{i}" for i in range(runs)]
    task = rng.integers(0, TASKS, runs)
    easy = rng.beta(1.2, 0.8, TASKS)[task]
    slices = [{"agent": f"agent-{i % 4}", "tool": f"tool-{i % 7}", "length": f"length-{i % 5}"} for i in range(runs)]
    text = "The agent looked the order up [S3] and answered from what came back [S4]. " * 4
    beside = Beside(
        metrics={f"metric_{k}": dict(zip(items, rng.poisson(3, runs).astype(float), strict=True)) for k in range(6)},
        agents={item: where["agent"] for item, where in zip(items, slices, strict=True)},
        reasons=dict.fromkeys(items, text),
        notes=dict.fromkeys(items, "No fault seen."),
        views=dict.fromkeys(items, text * 10),
        usd_per_vote=0.001,
    )
    scales: tuple[Scales, ...] = (BinaryScale(), BinaryScale(), RangeScale(min=1, max=5, step=1))
    size = 0
    for k, scale in enumerate(scales):
        levels = 2 if scale.type == "binary" else 5

        def around(share: np.ndarray, noise: float, levels: int = levels, low: float = scale.low) -> np.ndarray:
            moved = np.clip(share + rng.normal(0, noise, runs), 0, 0.999)
            return np.asarray(low + np.floor(moved * levels))

        raters = {name: around(easy, 0.1) for name in ("ann", "bob")}
        votes = [around(easy, 0.15) for _ in range(SAMPLES)]
        labels = [
            Observation(
                item=item, criterion=f"c{k}", source=name, value=float(raters[name][i]), group=f"task-{task[i]}",
                split="dev" if task[i] % 5 == 0 else "test", rater_kind="human", slices=slices[i],
            )
            for name in raters
            for i, item in enumerate(items)
        ]  # fmt: skip
        said = tuple(
            Observation(item=item, criterion=f"c{k}", source="bench", value=float(vote[i]), sample=sample)
            for sample, vote in enumerate(votes)
            for i, item in enumerate(items)
        )
        judged = Judged(
            spec=JudgeSpec(name="bench", provider="recorded", model="bench"),
            rubric="bench",
            rubric_version="1",
            rubric_fingerprint="0",
            vote="auto",
            observations=said,
            beside=beside,
        )
        terms = Terms(label_set="bench", design="random", costs=Costs(false_pass=10, false_fail=2, review=1))
        cut = None if scale.type == "binary" else 4.0
        found = finish(judged, labels, f"c{k}", scale, terms, datetime(2026, 1, 1, tzinfo=UTC), cut=cut)
        page = calibration_page(found.report, found.certificate)
        size += len(page) + len(calibration_text(found.report, found.certificate, found.label_next))
    return size


def main() -> int:
    """Prints seconds and megabytes; 1 when either is over."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--profile", action="store_true", help="Also print where the time goes.")
    parser.add_argument("--quick", action="store_true", help="A fifth of the trajectories, against the same targets.")
    given = parser.parse_args()
    runs = RUNS // 5 if given.quick else RUNS
    profile = cProfile.Profile() if given.profile else None
    if profile:
        profile.enable()
    size = report_all(runs)
    if profile:
        profile.disable()
        pstats.Stats(profile).sort_stats("cumulative").print_stats(35)
    seconds = time.process_time()
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{runs:,} trajectories × {SAMPLES} samples × 3 criteria: {size / 1e6:.1f} MB of pages and text")
    print(f"{seconds:.1f} s of CPU (at most {MOST_SECONDS:g}), {used:.0f} MB (at most {MOST_MB:,.0f})")
    return 1 if seconds > MOST_SECONDS or used > MOST_MB else 0


if __name__ == "__main__":
    sys.exit(main())
