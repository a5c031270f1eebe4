"""The live interval: weighted by the draw, so that asking most where the judge is unsure does not bend it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from service_runs import run

from judge.prompt import load_rubric
from judge.server.progress import progress_of, share
from judge.store.database import open_database, sqlite_url
from judge.store.label_draw import Known, draw
from judge.store.label_queue import Entry, LabelQueues, QueueSettings
from judge.types.trajectory import Trajectory


def test_equal_chances_give_the_plain_share() -> None:
    found = share([(True, 0.3)] * 9 + [(False, 0.3)], "none")
    assert (found.hits, found.n, found.weighted) == (9, 10, False)
    assert found.value == pytest.approx(0.9)
    assert (found.low, found.high) == pytest.approx((0.5958, 0.9821), abs=1e-4)  # Wilson, 9 of 10


def test_a_run_that_was_drawn_for_sure_weighs_least() -> None:
    # Weights 1, 1, 4: 1 + 4 of 6 hits; effective size 36 / 18 = 2.
    found = share([(True, 1.0), (False, 1.0), (True, 0.25)], "none")
    assert (found.hits, found.n, found.weighted) == (2, 3, True)
    assert found.value == pytest.approx(5 / 6)
    # Wilson for 5/6 of 2: centre (5/6 + 3.8415 / 4) / (1 + 3.8415 / 2) = 0.61414
    assert ((found.low or 0) + (found.high or 0)) / 2 == pytest.approx(0.61414, abs=1e-4)


def test_a_share_below_the_bar_is_not_helped_by_more_labels() -> None:
    found = share([(False, 1.0)] * 5, "none")
    assert (found.value, found.more) == (0.0, None)
    assert found.reason == "that is not above the 80 % to clear, and more labels of this kind would not lift it"


def test_nothing_counted_is_no_share() -> None:
    found = share([], "no run has two raters")
    assert (found.value, found.low, found.more, found.reason) == (None, None, None, "no run has two raters")


def test_the_share_under_the_uncertain_order_aims_at_the_share_of_all_runs() -> None:
    """A judge right on 90 of 100 sure runs and on 10 of 100 unsure ones: 0.5 of all.

    Chances are as 0.25 to 1, so of 60 drawn 12 are sure and 48 unsure: (12 * 0.9 + 48 * 0.1) / 60 = 0.26 of those.
    """
    known = {f"r{k:03d}": Known(score=1.0 if k < 100 else 0.5) for k in range(200)}
    right = {f"r{k:03d}": k % 100 < (90 if k < 100 else 10) for k in range(200)}
    rng = np.random.default_rng(11)
    weighted, plain = [], []
    for _ in range(400):
        found = share([(right[one.id], one.probability) for one in draw(known, 60, "uncertainty", rng)], "none")
        weighted.append(found.value or 0.0)
        plain.append(found.hits / found.n)
    assert np.mean(weighted) == pytest.approx(0.5, abs=0.02)
    assert np.mean(plain) == pytest.approx(0.26, abs=0.02)


def test_progress_of_a_queue_uses_the_recorded_chances(tmp_path: Path) -> None:
    rubric = load_rubric("process")
    queues = LabelQueues(open_database(sqlite_url(tmp_path / "d.sqlite")))
    settings = QueueSettings(
        id="q", rubric="process", rubric_version=rubric.version, criterion=rubric.criteria[0], pass_mark=4, n=4
    )
    queues.create(settings, [Trajectory.from_json(run(f"r{k}")) for k in range(10)])
    ids = [item.trajectory.id for item in queues.items("q")]
    assert queues.chances("q") == dict.fromkeys(ids, 0.4)
    for rater, values in (("ana", (4, 5, 2, 3)), ("ben", (4, 5, 2, 2))):
        for id, value in zip(ids, values, strict=True):
            queues.save("q", Entry(trajectory_id=id, rater=rater, value=value))
    found = progress_of(queues, "q").between_raters
    assert (found.hits, found.n, found.value, found.weighted) == (3, 4, 0.75, False)
