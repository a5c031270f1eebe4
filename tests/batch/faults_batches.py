"""Faults of batches at a provider: a kill between submit and save, and requests that expire."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from batch_apis import Made
from batch_items import PATIENCE_S, RUBRIC, name_of, provider_settings, recorded, write_items
from faults import Fault
from provider_runs import APIS

from judge.engine.batch import judge_batch
from judge.store.run_folder import RunFolder

API = {api.provider: api for api in APIS}
ITEMS = 12
REQUESTS = 6
"""In one batch, so that there are two of them."""


def killed_between_submit_and_save(provider: str, work: Path) -> Fault:
    """The provider has the second batch, and the process dies before it hears so; others hand in such batches too."""
    api = API[provider]
    source, folder = write_items(work / "in.jsonl", ITEMS), work / "run"
    with api.server() as server:
        program = [sys.executable, str(Path(__file__).with_name("batch_child.py")), str(source), str(folder)]
        root = Path(__file__).parents[2]
        child = subprocess.Popen([*program, server.url, str(work), api.provider, str(REQUESTS)], cwd=root)

        def kill(made: Made) -> None:
            if len(server.made) == 2:
                os.kill(child.pid, signal.SIGKILL)
                for number in range(2):
                    entries = [{"custom_id": f"other-{number}-{n}", "params": {}, "body": {}} for n in range(REQUESTS)]
                    server.make(entries, metadata={"judge_batch": "another"}).looks = 2

        server.before_create = kill
        killed = child.wait(timeout=PATIENCE_S) == -signal.SIGKILL
        done_before = len(recorded(folder))
        settings = provider_settings(work, server.url, api.provider, batch_api={"requests": REQUESTS})
        outcome = judge_batch([source], RUBRIC, out=folder, settings=settings, engine="provider-batch", resume=True)
        ours = [made for made in server.made if not str(made.entries[0]["custom_id"]).startswith("other")]
        paid = {name: server.paid[name] for name in map(name_of, range(ITEMS))}
    names = recorded(folder)
    twice = sum(count > 1 for count in paid.values())
    return Fault(
        f"kill -9 between submit and save ({api.provider})",
        f"{ITEMS} items in {len(ours)} batches beside {len(server.made) - len(ours)} of others, {done_before} verdicts "
        f"before, {len(names)} after; {sum(paid.values())} requests paid, {twice} twice",
        killed
        and outcome.error is None
        and outcome.result.pending == 0
        and [len(made.entries) for made in ours] == [REQUESTS, REQUESTS]
        and set(paid.values()) == {1}
        and sorted(names) == [name_of(number) for number in range(ITEMS)],
    )


def batch_expired(provider: str, work: Path) -> Fault:
    """Half of the requests expire once, and one item every time: it fails by name, and has no score."""
    api = API[provider]
    source, folder = write_items(work / "in.jsonl", ITEMS), work / "run"
    never = name_of(ITEMS - 1)

    def answer(item: str, before: int) -> Any:
        late = int(item[-1]) % 2 == 1
        return "expired" if item == never or (late and before == 0) else server.good()

    server = api.server(answer)
    with server:
        settings = provider_settings(work, server.url, api.provider, batch_api={"requests": REQUESTS, "tries": 3})
        outcome = judge_batch([source], RUBRIC, out=folder, settings=settings, engine="provider-batch")
        sizes, paid = server.sizes, sum(server.paid.values())
    with RunFolder.read(folder) as run:
        failed = [verdict for verdict in run.verdicts() if verdict.status == "error"]
    causes = [(verdict.trajectory_id, verdict.errors[0].kind, verdict.score) for verdict in failed]
    summary = outcome.result.summary
    return Fault(
        f"provider batch expired ({api.provider})",
        f"{ITEMS} items in batches of {', '.join(map(str, sizes))}; {summary.scored} scored, {len(failed)} failed as "
        f"{causes[0][1] if causes else 'nothing'} without a score, {paid} requests paid",
        outcome.error is None
        and sizes == [6, 6, 6, 1]
        and summary.scored == paid == ITEMS - 1
        and causes == [(never, "batch_expired", None)],
    )


SCENARIOS = (
    *(partial(killed_between_submit_and_save, provider) for provider in API),
    *(partial(batch_expired, provider) for provider in API),
)
