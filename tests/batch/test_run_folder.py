"""A run folder: what counts, what is redone, what is refused, and what a reader sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from batch_items import GOOD, RUBRIC, JudgeServer, name_of, recorded, settings_of, write_items
from loopback import Scripted, chat

from judge.engine.batch import BatchOutcome, judge_batch
from judge.errors import FingerprintMismatch, UsageError
from judge.store.index import INDEX
from judge.store.run_folder import RunFolder, find_runs
from judge.types import Verdict

BROKEN = Scripted(400, {"error": {"message": "no such parameter"}})


def once(work: Path, server: JudgeServer, source: Path, **options: Any) -> BatchOutcome:
    flags = {name: options.pop(name) for name in ("concurrency", "temperature", "max_output_tokens") if name in options}
    settings = settings_of(work, server.url, cache=False, **flags)
    return judge_batch([source], options.pop("rubric", RUBRIC), out=work / "run", settings=settings, **options)


def test_verdicts_come_back_in_the_order_of_the_input(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 30)
    slow = {name_of(0): 0.2, name_of(7): 0.1}
    with JudgeServer(lambda item, before: chat(GOOD, delay=slow.get(item, 0.0))) as server:
        once(tmp_path, server, source)
    wanted = [name_of(number) for number in range(30)]
    assert recorded(tmp_path / "run") != wanted  # written as they finished
    with RunFolder.read(tmp_path / "run") as run:
        assert [verdict.trajectory_id for verdict in run.verdicts()] == wanted


def test_errors_are_redone_and_good_ones_kept(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 6)
    bad = {name_of(2), name_of(4)}
    with JudgeServer(lambda item, before: BROKEN if item in bad and before == 0 else chat(GOOD)) as server:
        first = once(tmp_path, server, source)
        assert (first.result.pending, first.result.summary.scored) == (2, 4)
        second = once(tmp_path, server, source, resume=True)
        assert (second.result.judged, second.result.kept, second.result.pending) == (2, 4, 0)
        assert {name: count for name, count in server.calls.items() if count > 1} == dict.fromkeys(bad, 2)
        third = once(tmp_path, server, source, resume=True)
        assert (third.result.judged, server.requests) == (0, 8)
    assert third.result.summary == second.result.summary
    assert third.result.summary.scored == 6


def test_g_d34_the_newest_valid_record_of_an_item_counts_once(
    case: Callable[[str], dict[str, Any]], tmp_path: Path
) -> None:
    entry = case("G-D34")
    given, exact = entry["input"], entry["right"]["exact"]
    source = write_items(tmp_path / "in.jsonl", 0, names=given["dataset"])
    with JudgeServer() as server:
        once(tmp_path, server, source)
        path = tmp_path / "run" / "results.jsonl"
        real = {line["trajectory_id"]: line for line in map(orjson.loads, path.read_bytes().splitlines())}
        lines = []
        for text in given["results_jsonl"]:
            row = json.loads(text)
            lines.append({**real[row["id"]], "status": row["status"], "score": row.get("score")})
        path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
        for file in (tmp_path / "run").glob(f"{INDEX}*"):
            file.unlink()
        with RunFolder.read(tmp_path / "run") as run:
            scores = [verdict.score for verdict in run.verdicts()]
        before = exact["before_resume"]
        assert (len(scores), sum(score is not None for score in scores)) == (before["unique"], before["ok"])
        assert sum(filter(None, scores)) / len(scores) == before["mean"]
        server.calls.clear()
        outcome = once(tmp_path, server, source, resume=True)
    assert outcome.result.judged == exact["resume_calls"]
    assert [line["trajectory_id"] for line in map(orjson.loads, path.read_bytes().splitlines()[3:])] == exact[
        "calls_for"
    ]
    assert outcome.result.summary.scored == 3
    assert outcome.result.summary.total == 3


def test_a_later_error_does_not_undo_a_verdict_on_the_same_content(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 1)
    with JudgeServer() as server:
        once(tmp_path, server, source)
        path = tmp_path / "run" / "results.jsonl"
        failed = {**orjson.loads(path.read_bytes()), "status": "error", "score": None}
        with path.open("ab") as file:
            file.write(orjson.dumps(failed) + b"\n")
        outcome = once(tmp_path, server, source, resume=True)
    assert (outcome.result.judged, outcome.result.summary.scored) == (0, 1)


def test_a_folder_that_is_there_is_refused_without_resume(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 2)
    with JudgeServer() as server:
        once(tmp_path, server, source)
        with pytest.raises(UsageError, match=r"There is a run in .* already.*--resume"):
            once(tmp_path, server, source)
        assert server.requests == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"temperature": 0.5}, r"judge sampling\.temperature: None before, now 0\.5"),
        ({"max_output_tokens": 50}, r"judge sampling\.max_output_tokens: 100 before, now 50"),
        ({"rubric": RUBRIC.model_copy(update={"intent": "Other."})}, "rubric: other content"),
        ({"policy": "Be kind."}, "policy: none before, now given"),
        ({"reference": {"answer": "42"}}, "reference: none before, now given"),
    ],
)
def test_a_changed_run_is_refused_and_says_what_changed(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 2)
    with JudgeServer() as server:
        once(tmp_path, server, source)
        with pytest.raises(FingerprintMismatch, match=said):
            once(tmp_path, server, source, resume=True, **change)
        assert server.requests == 2


def test_settings_that_decide_no_verdict_may_change(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 2)
    with JudgeServer() as server:
        once(tmp_path, server, source)
        assert once(tmp_path, server, source, resume=True, concurrency=3).result.kept == 2


def test_a_changed_trace_under_the_same_id_is_judged_again_once_that_is_accepted(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 3)
    with JudgeServer() as server:
        once(tmp_path, server, source)
        names = [name_of(3), *(name_of(number) for number in (2, 1))]  # one new, one gone, another order
        write_items(source, 0, names=names, said={name_of(1): "another answer of item-0001"})
        with pytest.raises(UsageError, match=r"input .*in\.jsonl: other content .*--new-input"):
            once(tmp_path, server, source, resume=True)
        server.calls.clear()
        outcome = once(tmp_path, server, source, resume=True, new_input=True)
        assert dict(server.calls) == {name_of(3): 1, name_of(1): 1}
    assert (outcome.result.kept, outcome.result.judged, outcome.result.summary.total) == (1, 2, 3)
    with RunFolder.read(tmp_path / "run") as run:
        assert [verdict.trajectory_id for verdict in run.verdicts()] == names
        assert run.counts().removed == 1


def test_a_moved_or_touched_input_is_no_change(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 2)
    with JudgeServer() as server:
        once(tmp_path, server, source)
        other = tmp_path / "elsewhere.jsonl"
        other.write_bytes(source.read_bytes())
        assert once(tmp_path, server, other, resume=True).result.kept == 2


def test_ids_that_stand_twice_are_refused_with_the_list_and_nothing_is_left(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 0, names=["a", "b", "a", "c", "b"])
    other = write_items(tmp_path / "more.jsonl", 0, names=["d", "c"])
    with JudgeServer() as server:
        settings = settings_of(tmp_path, server.url)
        with pytest.raises(UsageError, match=r"Ids that stand for more than one trajectory \(3\): 'a', 'b', 'c'"):
            judge_batch([source, other], RUBRIC, out=tmp_path / "run", settings=settings)
        assert server.requests == 0
        assert not (tmp_path / "run").exists()
        good = judge_batch([other], RUBRIC, out=tmp_path / "run", settings=settings)
    assert good.result.items == 2


def test_a_torn_last_line_spoils_only_itself(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 3)
    with JudgeServer() as server:
        once(tmp_path, server, source)
        path = tmp_path / "run" / "results.jsonl"
        whole = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(whole[0] + whole[1] + whole[2][:40])
        gone = orjson.loads(whole[2])["trajectory_id"]
        server.calls.clear()
        outcome = once(tmp_path, server, source, resume=True)
        assert dict(server.calls) == {gone: 1}
    assert outcome.result.summary.scored == 3
    with RunFolder.read(tmp_path / "run") as run:
        assert run.counts().bad_lines == 1
        assert len(list(run.verdicts())) == 3


@pytest.mark.parametrize("damage", [None, b"no database"])
def test_a_lost_or_damaged_index_is_built_again(damage: bytes | None, tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 5)
    with JudgeServer() as server:
        once(tmp_path, server, source)
        for file in (tmp_path / "run").glob(f"{INDEX}*"):
            file.unlink()
        if damage is not None:
            (tmp_path / "run" / INDEX).write_bytes(damage * 500)
        outcome = once(tmp_path, server, source, resume=True)
        assert (outcome.result.kept, outcome.result.judged, server.requests) == (5, 0, 5)


def test_verdicts_of_another_judge_in_the_file_do_not_count(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 2)
    with JudgeServer() as server:
        once(tmp_path, server, source)
        path = tmp_path / "run" / "results.jsonl"
        line = orjson.loads(path.read_bytes().splitlines()[0])
        line["fingerprints"]["judge"] = "0" * 64
        line["score"] = 1
        with path.open("ab") as file:
            file.write(orjson.dumps(line) + b"\n")
        outcome = once(tmp_path, server, source, resume=True)
    assert (outcome.result.judged, outcome.result.summary.mean) == (0, 4)
    with RunFolder.read(tmp_path / "run") as run:
        assert run.counts().bad_lines == 1


@pytest.mark.parametrize("name", ["a:b", "what?", "CON", "nul.run", "dot.", "com1"])
def test_a_folder_name_that_windows_cannot_hold_is_refused(name: str, tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 1)
    with JudgeServer() as server, pytest.raises(UsageError, match="not possible on Windows"):
        judge_batch([source], RUBRIC, out=tmp_path / name, settings=settings_of(tmp_path, server.url))


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 1)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.doc").write_text("precious", encoding="utf-8")
    with JudgeServer() as server, pytest.raises(UsageError, match="holds other files and no run"):
        once(tmp_path, server, source)


def test_standard_input_is_refused_since_it_comes_once(tmp_path: Path) -> None:
    with JudgeServer() as server, pytest.raises(UsageError, match="standard input comes once"):
        judge_batch(["-"], RUBRIC, out=tmp_path / "run", settings=settings_of(tmp_path, server.url))


def test_the_manifest_holds_no_secret(tmp_path: Path) -> None:
    from judge.config import load_settings

    source = write_items(tmp_path / "in.jsonl", 1)
    with JudgeServer() as server:
        url = server.url.replace("http://", "http://user:hush-hush@")
        environment = {"OPENAI_API_KEY": "sk-hush-hush", "OPENAI_BASE_URL": f"{url}/v1"}
        flags = {"judge": "openai/m1", "cache_dir": tmp_path / "cache", "samples": 1}
        settings = load_settings(flags, environment=environment, folder=tmp_path)
        judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
    for file in (tmp_path / "run").iterdir():
        assert b"hush" not in file.read_bytes(), file.name


def test_runs_are_found_below_a_folder(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 1)
    with JudgeServer() as server:
        once(tmp_path, server, source)
    (tmp_path / "no-run").mkdir()
    (tmp_path / "no-run" / "manifest.json").write_text("{}", encoding="utf-8")
    assert find_runs(tmp_path) == [tmp_path / "run"] == find_runs(tmp_path / "run")


def test_the_final_file_equals_that_of_an_undisturbed_run(tmp_path: Path) -> None:
    """Apart from times: the same verdicts, whatever was interrupted in between."""
    source = write_items(tmp_path / "in.jsonl", 8)

    def verdicts(folder: Path) -> list[Verdict]:
        with RunFolder.read(folder) as run:
            return [verdict.model_copy(update={"seconds": None}) for verdict in run.verdicts()]

    with JudgeServer() as server:
        settings = settings_of(tmp_path, server.url, cache=False)
        judge_batch([source], RUBRIC, out=tmp_path / "whole", settings=settings)
        judge_batch([source], RUBRIC, out=tmp_path / "parts", settings=settings, limit=3)
        judge_batch([source], RUBRIC, out=tmp_path / "parts", settings=settings, resume=True, new_input=True)
    assert verdicts(tmp_path / "parts") == verdicts(tmp_path / "whole")
