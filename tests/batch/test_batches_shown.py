"""What `judge runs show` says of requests that are at a provider, and of errors without a hint of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from provider_runs import OPENAI, batches

from judge.cli.main import run as command
from judge.report.runs import batch_text
from judge.store.batch_ledger import FOLDER, LEDGER, handed_in


def test_requests_at_the_provider_are_shown_until_their_outcomes_are_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = batches(OPENAI, tmp_path, items=3, samples=1, batch_api={"requests": 2, "first_poll_s": 0.001})
    folder = str(made.folder)
    with made.server:
        made.run(detach=True)
        ledger = made.folder / FOLDER / LEDGER
        before = ledger.read_bytes()
        assert command(["runs", "show", folder]) == 0
        assert "at the provider, and not in the cost: 3 requests in 2 batches" in capsys.readouterr().out
        assert command(["runs", "show", folder, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["at_provider"] == {"batches": 2, "requests": 3}
        assert ledger.read_bytes() == before
        made.run()
    assert command(["runs", "show", folder]) == 0
    assert "at the provider" not in capsys.readouterr().out
    assert handed_in(made.folder) == (0, 0)


def test_a_ledger_that_is_just_being_written_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    assert handed_in(tmp_path) == (0, 0)
    (tmp_path / FOLDER).mkdir()
    whole = b'{"version":1,"run":"0"}\n{"chunk":1,"names":["a","b"]}\n'
    (tmp_path / FOLDER / LEDGER).write_bytes(whole + b'{"chunk":1,"ended":"comp')
    assert handed_in(tmp_path) == (1, 2)


def test_an_error_without_a_hint_shows_its_message(tmp_path: Path) -> None:
    made = batches(OPENAI, tmp_path, items=2, samples=1, batch_api={"first_poll_s": 0.001})
    with made.server:
        made.run(detach=True)
        assert command(["batch", "cancel", str(made.folder)]) == 0
        result = made.run().result
    (group,) = result.summary.error_groups
    assert group.kind == "batch_canceled"
    assert f"e.g. item-0000: {group.example.message}" in batch_text(result)
