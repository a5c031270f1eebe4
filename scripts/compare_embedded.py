"""Compare three judges of the embedded model on a few runs of a shipped set: `python scripts/compare_embedded.py [N]`.

The embedded model takes seconds a call on a laptop's processor, so N runs (6 when not given) make a demonstration and
not a measurement. The judges are the model under three temperatures. Expect no one to be trusted: that is the result.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from judge.calibration.comparison import compare
from judge.calibration.dataset import join
from judge.calibration.sets import load_set
from judge.calibration.shared_runs import shared_runs
from judge.config import load_settings
from judge.engine.calibrating import judge_set, set_criterion, set_labels
from judge.engine.certifying import SEED, voter
from judge.prompt import load_rubric
from judge.report.compare import comparison_text
from judge.types.comparison import Work

TEMPERATURES = (0.0, 0.7, 1.2)
CRITERION = "process"


def main(runs: int) -> None:
    whole = load_set("refunds")
    asked = set_criterion(whole, CRITERION)
    kept = {run.id for run in whole.trajectories[:runs]}
    few = whole.model_copy(
        update={
            "trajectories": tuple(run for run in whole.trajectories if run.id in kept),
            "labels": tuple(label for label in whole.labels if label.trajectory_id in kept),
        }
    )
    rubric = load_rubric(asked.rubric)
    labels, _ = set_labels(few.labels, asked, rubric.version, few.clusters())
    scale = asked.scale or rubric.criteria[0].scale
    datasets = []
    work: dict[str, Work] = {}
    for temperature in TEMPERATURES:
        settings = load_settings({"temperature": temperature, "samples": 1, "retries": 0})
        judged = judge_set(few, asked, rubric, settings, None, None)
        name = f"{judged.spec.name}, temperature {temperature:g}"
        observations = [replace(observation, source=name) for observation in judged.observations]
        datasets.append(
            join(observations, labels, judge=name, criterion=asked.id, scale=scale, vote=voter("auto", scale))
        )
        work[name] = judged.work
    found = compare(shared_runs(datasets), label_set=few.name, work=work, rng=np.random.default_rng(SEED))
    print(comparison_text(found, {}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)
