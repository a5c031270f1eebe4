"""The demonstration: six bundled runs, measured by rules and judged by two judges that need no key."""

from __future__ import annotations

from collections.abc import Callable

from judge.calibration.sets import load_set
from judge.config import DEFAULT_LOCAL_JUDGE, Settings
from judge.engine.facade import score_many
from judge.metrics import measure
from judge.types import MetricResult, Record, Reference, Trajectory, Verdict

BASELINE = "rules/process"
EMBEDDED = DEFAULT_LOCAL_JUDGE
EMBEDDED_SAMPLES = 3
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


class Demo(Record):
    """Everything that the demonstration prints, in order."""

    scenes: tuple[DemoScene, ...]
    runs: tuple[DemoRun, ...]
    judges: tuple[str, ...]


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
    return Demo(scenes=SCENES, runs=runs, judges=(BASELINE, EMBEDDED))
