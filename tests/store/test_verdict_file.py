"""A file of verdicts: what is finished survives a crash, what is torn is counted, the newest answer counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge.errors import UsageError
from judge.store.jsonl import VerdictWriter, key_of, read_verdicts, write_verdicts
from judge.types import RangeScale, Verdict


def verdict(name: str, score: float | None = 1.0, **more: Any) -> Verdict:
    status: Any = "ok" if score is not None else "error"
    scale = RangeScale(min=0, max=5)
    return Verdict(trajectory_id=name, rubric="r", judge="fake/j", status=status, score=score, scale=scale, **more)


def test_a_line_is_on_disk_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "out.jsonl"
    with VerdictWriter(path) as writer:
        writer.append(verdict("a", reason="naïve “quotes”\u2028"))
        assert read_verdicts(path).verdicts == (verdict("a", reason="naïve “quotes”\u2028"),)
        writer.append(verdict("b"))
    assert [found.trajectory_id for found in read_verdicts(path).verdicts] == ["a", "b"]
    assert path.read_bytes().count(b"\n") == 2


def test_a_torn_last_line_spoils_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write_verdicts(path, [verdict("a"), verdict("b")])
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])  # the process died inside the second line
    with VerdictWriter(path) as writer:
        writer.append(verdict("c"))
    found = read_verdicts(path)
    assert [each.trajectory_id for each in found.verdicts] == ["a", "c"]
    assert [(bad.number, bad.message[:8]) for bad in found.bad] == [(2, "not JSON")]


def test_a_line_of_another_kind_is_named_by_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('{"trajectory_id": "a"}\n\n[1]\n', encoding="utf-8")
    found = read_verdicts(path)
    assert found.verdicts == ()
    assert [bad.number for bad in found.bad] == [1, 3]
    assert "'rubric'" in found.bad[0].message


def test_the_newest_verdict_of_a_key_counts_and_a_later_failure_does_not_undo_it(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write_verdicts(
        path, [verdict("a", None), verdict("b", 2.0), verdict("a", 3.0), verdict("b", None), verdict("a", 4.0)]
    )
    found = read_verdicts(path)
    assert [(each.trajectory_id, each.score) for each in found.verdicts] == [("a", 4.0), ("b", 2.0)]
    assert found.replaced == 3


def test_another_judge_rubric_or_content_is_another_key() -> None:
    base = verdict("a", fingerprints={"trajectory": "1", "rubric": "2", "judge": "3"})
    others = [
        verdict("a", fingerprints={"trajectory": "9", "rubric": "2", "judge": "3"}),
        verdict("a", fingerprints={"trajectory": "1", "rubric": "9", "judge": "3"}),
        verdict("a", fingerprints={"trajectory": "1", "rubric": "2", "judge": "9"}),
        verdict("a", fingerprints={"trajectory": "1", "rubric": "2", "judge": "3", "reference": "9"}),
        verdict("b", fingerprints=base.fingerprints),
    ]
    assert len({key_of(each) for each in (base, *others)}) == 6
    assert key_of(base) == key_of(verdict("a", None, fingerprints=base.fingerprints))


def test_a_whole_file_is_replaced_at_once_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write_verdicts(path, [verdict("old")])

    def failing() -> Any:
        yield verdict("new")
        raise RuntimeError("stopped in the middle")

    with pytest.raises(RuntimeError):
        write_verdicts(path, failing())
    assert [each.trajectory_id for each in read_verdicts(path).verdicts] == ["old"]
    assert [each.name for each in tmp_path.iterdir()] == ["out.jsonl"]  # nothing temporary is left
    assert write_verdicts(path, [verdict("new"), verdict("newer")]) == 2


def test_a_place_that_cannot_be_written_or_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be written"):
        VerdictWriter(tmp_path / "file" / "out.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        read_verdicts(tmp_path / "none.jsonl")
