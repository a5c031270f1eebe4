"""The demonstration: six bundled runs, measured by rules and judged by two judges that need no key; then both
judges are calibrated on a shipped set whose labels are known by construction, and certified or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from judge.calibration.sets import load_set, only_faults
from judge.config import DEFAULT_LOCAL_JUDGE, Settings
from judge.engine.calibrating import calibrate_set
from judge.engine.certifying import Calibration
from judge.engine.facade import score_many
from judge.metrics import measure
from judge.types import MetricResult, Record, Reference, Trajectory, Verdict
from judge.types.calibration_set import CalibrationSet

BASELINE = "rules/process"
EMBEDDED = DEFAULT_LOCAL_JUDGE
EMBEDDED_SAMPLES = 3
DECIDES = "passed_path"
METRICS = (
    "num_tool_calls",
    "has_redundant_call",
    "matches_reference",
    "answered_without_tool",
    "num_failed_calls",
)


class DemoScene(Record):
    """Runs of one task that end alike and got there by different paths.

    Attributes:
        better: Id of the run whose path is sound by construction; the others are `worse`.
    """

    set_name: str
    title: str
    better: str
    worse: tuple[str, ...]
    reference: Reference | None = None


class DemoRun(Record):
    """One run of a scene with all that was found out about it; verdicts by judge name."""

    scene: str
    trajectory: Trajectory
    metrics: dict[str, MetricResult]
    verdicts: dict[str, Verdict]


class DemoCalibration(Record):
    """One judge on one set.

    Attributes:
        title: What is asked here.
        caught: Fault to (runs with it that the judge failed, runs with it), for runs of the test split.
    """

    title: str
    judge: str
    calibration: Calibration
    caught: dict[str, tuple[int, int]] = {}


class Demo(Record):
    """Everything that the demonstration prints, in order."""

    scenes: tuple[DemoScene, ...]
    runs: tuple[DemoRun, ...]
    judges: tuple[str, ...]
    calibrations: tuple[DemoCalibration, ...] = ()


SCENES = (
    DemoScene(
        set_name="docs_search",
        title="Three runs answer one question about the documentation",
        better="docs-clean",
        worse=("docs-wasteful", "docs-no-search"),
        reference=Reference(sequence=("tool_call:search_docs", "final")),
    ),
    DemoScene(
        set_name="refunds",
        title="Three runs end in the same refund reply",
        better="refund-careful",
        worse=("refund-lucky", "refund-unsafe"),
    ),
)


SEEN_FAULTS = ("wasteful_repeat", "gave_up", "stalled", "wandering")
"""Faults of docs_search that deterministic metrics can see."""
EMBEDDED_TASKS = 10
"""Tasks of docs_search that the embedded model is asked about, one sound and one faulty run of each."""


def run_demo(settings: Settings, *, progress: Callable[[str], None] = lambda line: None) -> Demo:
    """Measure and judge the bundled runs; the same seed gives the same votes.

    Raises:
        UsageError: The weights of the embedded model are not here; the hint says how to get them.
    """
    chosen: list[tuple[DemoScene, Trajectory]] = []
    for scene in SCENES:
        by_id = {trajectory.id: trajectory for trajectory in load_set(scene.set_name).trajectories}
        chosen.extend((scene, by_id[run]) for run in (scene.better, *scene.worse))
    trajectories = [trajectory for _, trajectory in chosen]
    verdicts: dict[str, dict[str, Verdict]] = {}
    for judge, samples in ((BASELINE, 1), (EMBEDDED, EMBEDDED_SAMPLES)):
        progress(f"{judge}: judging {len(trajectories)} runs, {samples} vote{'s' if samples > 1 else ''} each")
        own = settings.model_copy(update={"judge": judge, "samples": samples, "rubric": "process"})
        verdicts[judge] = {v.trajectory_id: v for v in score_many(trajectories, settings=own)}
    runs = tuple(
        DemoRun(
            scene=scene.set_name,
            trajectory=trajectory,
            metrics=measure(trajectory, scene.reference, only=METRICS),
            verdicts={judge: found[trajectory.id] for judge, found in verdicts.items()},
        )
        for scene, trajectory in chosen
    )
    calibrations = tuple(_calibrations(settings, progress))
    return Demo(scenes=SCENES, runs=runs, judges=(BASELINE, EMBEDDED), calibrations=calibrations)


def _calibrations(settings: Settings, progress: Callable[[str], None]) -> Iterator[DemoCalibration]:
    whole = load_set("docs_search")
    asked = (
        ("every fault that the set implants", BASELINE, whole),
        ("only the faults that rules can see", BASELINE, only_faults(whole, SEEN_FAULTS)),
        (f"{2 * EMBEDDED_TASKS} runs of {EMBEDDED_TASKS} tasks", EMBEDDED, pairs(whole, EMBEDDED_TASKS)),
    )
    for title, judge, chosen in asked:
        progress(f"{judge}: calibrating on {chosen.name}")
        own = settings.model_copy(update={"judge": judge, "samples": 1})
        found = calibrate_set(chosen, settings=own, now=datetime.now(UTC))
        yield DemoCalibration(title=title, judge=judge, calibration=found, caught=caught(found, chosen))


def pairs(whole: CalibrationSet, tasks: int) -> CalibrationSet:
    """The first sound and the first faulty run of each of the first `tasks` test tasks; the name says so."""
    passed = {label.trajectory_id: label.value for label in whole.labels if label.criterion == DECIDES}
    splits, clusters = whole.splits(), whole.clusters()
    chosen: dict[tuple[str, float | str | None], str] = {}
    for run in whole.trajectories:
        if splits.get(run.id) == "test":
            chosen.setdefault((clusters[run.id], passed.get(run.id)), run.id)
    groups = list(dict.fromkeys(group for group, _ in chosen))[:tasks]
    kept = {run for (group, _), run in chosen.items() if group in groups}
    return whole.model_copy(
        update={
            "name": f"{whole.name}[{len(kept)} runs]",
            "trajectories": tuple(run for run in whole.trajectories if run.id in kept),
            "labels": tuple(label for label in whole.labels if label.trajectory_id in kept),
        }
    )


def caught(found: Calibration, chosen: CalibrationSet) -> dict[str, tuple[int, int]]:
    """How many runs with each fault the judge failed, of how many, on the test split; no score is no catch."""
    failed = {item for item, value in found.verdicts.items() if value == 0}
    counts: dict[str, tuple[int, int]] = {}
    for label in chosen.labels:
        if label.criterion == DECIDES and label.split == "test" and label.value == 0:
            fault = label.note.removeprefix("fault: ")
            right, total = counts.get(fault, (0, 0))
            counts[fault] = (right + (label.trajectory_id in failed), total + 1)
    return counts
