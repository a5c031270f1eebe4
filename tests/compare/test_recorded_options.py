"""What only live judges can do is refused for recorded ones, and not passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.cli.main import run


@pytest.mark.parametrize(
    ("option", "value"), [("--repeats", "3"), ("--samples", "3"), ("--rubric", "process"), ("--max-usd", "1")]
)
def test_options_of_live_judges_are_refused_for_recorded_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    verdicts, labels = tmp_path / "v.csv", tmp_path / "l.csv"
    verdicts.write_text("id,source,value\nx,A,pass\nx,B,fail\ny,A,fail\ny,B,fail\n", encoding="utf-8")
    labels.write_text("id,value\nx,pass\ny,fail\n", encoding="utf-8")
    command = ["compare", "--verdicts", str(verdicts), "--labels", str(labels), "--scale", "binary"]
    command += ["--map", "id=id,value=value,source=source", "--label-map", "id=id,value=value"]
    assert run(command) == 0
    capsys.readouterr()
    assert run([*command, option, value]) == 2
    assert f"{option} would change nothing" in capsys.readouterr().err
