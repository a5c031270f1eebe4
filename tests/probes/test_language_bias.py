"""Language: parallel phrases take turns, the user's translations are compared with the run, and mistakes are named."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from refund_runs import refund
from scripted import Scripted

from judge.calibration.probes.biases import bias_pairs
from judge.calibration.probes.language import (
    ENGLISH,
    LANGUAGES,
    PARALLEL,
    Translation,
    framed,
    read_translations,
    translated,
    translated_pairs,
)
from judge.cli.main import run as command
from judge.config import Settings
from judge.engine.probing import ProbeRuns, planting, probe
from judge.errors import UsageError
from judge.prompt import load_rubric
from judge.types.probe import BiasRow
from judge.types.request import Request
from judge.types.trajectory import Final, Message, Trajectory

GERMAN = "Ich habe 40 für INV-7 erstattet."
RUBRIC = load_rubric("process")
DIALS = (0.0, 0.25, 0.5)


def runs(count: int) -> list[Trajectory]:
    return [Trajectory.from_json(refund(f"r{n}", f"task {n}")) for n in range(count)]


def of(run: Trajectory, **keys: Any) -> Translation:
    return Translation(trajectory_id=run.id, language="de", **keys)


def test_languages_take_turns_and_each_has_the_english_phrase_against_it() -> None:
    others, plains = bias_pairs(runs(7), judge="openai/m", names=["language"])
    seen = [
        next(phrase.language for phrase in PARALLEL if phrase.closing in (one.trajectory.final or "")) for one in others
    ]
    assert seen == [*LANGUAGES, *LANGUAGES[:2]]
    answer = "I refunded 40 for INV-7."
    assert [one.trajectory.final for one in plains] == [framed(answer, ENGLISH)] * 7
    assert [one.mutation.parent for one in others] == [one.trajectory.id for one in plains]


def test_phrases_say_nothing_of_the_task_and_are_of_alike_length() -> None:
    assert len(set(LANGUAGES)) == len(LANGUAGES) >= 5
    for phrase in (ENGLISH, *PARALLEL):
        assert not any(letter.isdigit() for letter in phrase.opening + phrase.closing)
        assert phrase.opening.isprintable()
        assert phrase.closing.isprintable()
        assert len(phrase.opening + phrase.closing) <= 1.3 * len(ENGLISH.opening + ENGLISH.closing)


def row_of(settings: Settings, dial: float) -> BiasRow:
    """What the probe says of a judge that takes `dial` from runs whose answer is in German."""

    def opinion(request: Request) -> tuple[float, tuple[int, ...]]:
        return 0.75 - dial * (GERMAN in "".join(request.segments)), ()

    given = runs(24)
    made = planting(
        ProbeRuns(given, "the test"),
        RUBRIC,
        settings=settings,
        judge="fake/one",
        kinds=("bias",),
        translations=[of(run, answer=GERMAN) for run in given],
    )
    report = probe(made, settings=settings, judge=Scripted(opinion, "fake/one"))
    return next(row for row in report.biases if row.type == "translated_answer")


def test_a_dialled_dislike_of_a_language_is_recovered_monotonically(settings: Settings) -> None:
    rows = [row_of(settings, dial) for dial in DIALS]
    found = [row.effect.value for row in rows]
    assert found == pytest.approx([-dial for dial in DIALS])
    assert all(a > b for a, b in pairwise(found) if a is not None and b is not None)
    assert [row.state for row in rows] == ["clear", "flagged", "flagged"]
    assert rows[0].pairs == 24
    assert "translation" in rows[0].note


def test_a_translation_changes_what_is_said_and_nothing_else(run: Trajectory) -> None:
    made = translated(run, of(run, answer=GERMAN, steps={2: "Ich sehe nach."}))
    assert made.trajectory.final == GERMAN
    said = [step for step in made.trajectory.steps if isinstance(step, Message | Final)]
    assert [step.index for step in said] == [step.index for step in run.steps if isinstance(step, Message | Final)]
    changed = [new.index for new, old in zip(made.trajectory.steps, run.steps, strict=True) if new != old]
    assert changed == [2, run.steps[-1].index]
    assert (made.mutation.type, made.mutation.variant) == ("translated_answer", "de")
    assert made.mutation.parent == run.id


@pytest.mark.parametrize(
    ("index", "said"), [(1, "Step 1 of run .* is message"), (3, "is tool_call"), (99, "is not there")]
)
def test_only_what_the_agent_says_is_translated(index: int, said: str, run: Trajectory) -> None:
    with pytest.raises(UsageError, match=said):
        translated(run, of(run, steps={index: "Guten Tag."}))


def test_translations_of_no_probed_run_are_refused(run: Trajectory, settings: Settings) -> None:
    stranger = Translation(trajectory_id="nobody", language="de", answer=GERMAN)
    with pytest.raises(UsageError, match="None of the 1 translations is of one of the 1 runs"):
        translated_pairs([run], [stranger])
    with pytest.raises(UsageError, match="was not asked for"):
        planting(
            ProbeRuns([run], "the test"),
            RUBRIC,
            settings=settings,
            kinds=("fault",),
            translations=[of(run, answer="x")],
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1 is no translation"),
        ('{"trajectory_id": "a", "answer": "x"}', "line 1 is no translation"),
        ('{"trajectory_id": "a", "language": "de"}', "line 1 translates nothing of 'a'"),
        ('{"trajectory_id": "a", "language": "de", "answer": " "}', "translates nothing"),
        ('{"trajectory_id": "a", "language": "de", "answer": "x"}\n' * 2, "line 2 translates 'a' again"),
        ("\n", "holds no translation"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "translations.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_translations(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_translations(tmp_path / "none.jsonl")


def test_the_command_takes_translations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_CACHE_DIR", str(tmp_path / "cache"))
    given = runs(4)
    lines = [json.dumps(run.to_json()) for run in given]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    lines = [json.dumps({"trajectory_id": run.id, "language": "de", "answer": GERMAN}) for run in given]
    (tmp_path / "german.jsonl").write_text("\n".join(lines), encoding="utf-8")
    arguments = ["probe", "runs.jsonl", "-j", "fake/always-3", "--kinds", "biases", "--translations", "german.jsonl"]
    assert command([*arguments, "--json"]) in (0, 1, 3)
    report = json.loads(capsys.readouterr().out)
    row = next(row for row in report["biases"] if row["type"] == "translated_answer")
    assert (row["pairs"], row["effect"]["value"]) == (4, 0.0)
