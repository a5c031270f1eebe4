"""Hostile requests to the service: schemathesis against its OpenAPI, and no answer may be a server error.

    python scripts/service_fuzz.py [EXAMPLES] [quick]     # 25 for each operation by default

First single requests of every kind, valid and broken; then chains along the links of the description: a job that was
begun is polled, followed, paged through and cancelled, a queue labelled, exported and removed. Starts a service of its
own on loopback with deterministic judges. Exit status 1 when an answer was a 5xx.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import uvicorn

from judge.config import load_settings
from judge.server.app import create_app
from judge.server.service import Deployment, open_service

JUDGES = ("fake/always-4", "fake/always-2")
SINGLE, QUICK = ("--phases", "examples,coverage,fuzzing"), ("--phases", "examples,fuzzing")
"""The coverage phase tries every boundary of every field, more than a thousand requests however few examples."""
CHAINS = ("--phases", "stateful", "--mode", "positive")


def main(examples: int, quick: bool) -> int:
    """Sends the requests and prints how many there were."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        given = {"judge": JUDGES[0], "cache_dir": home / "cache", "certificates": home / "certificates"}
        settings = load_settings(given, environment={}, folder=home)
        service = open_service(Deployment(settings=settings, data=home / "data", judges=JUDGES))
        server = uvicorn.Server(uvicorn.Config(create_app(service), host="127.0.0.1", port=0, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/openapi.json"
        hooks = {"PYTHONPATH": str(Path(__file__).parent), "SCHEMATHESIS_HOOKS": "service_fuzz_hooks"}
        done = [
            attack(url, home, *(QUICK if quick else SINGLE), "--max-examples", str(examples), environment={}),
            attack(url, home, *CHAINS, "--max-examples", str(4 * examples), environment=hooks),
        ]
        server.should_exit = True
        thread.join(timeout=30)
        answered = re.findall(
            r'judge_requests_total\{route="(/v1/[^"]*)",status="(2\d\d)"\} (\d+)', service.counters.text()
        )
    for route, status, count in answered:
        print(f"{route}: {count} answered {status}")
    cases = [int(found[1].replace(",", "")) for _, text in done if (found := re.search(r"(\d[\d,]*) generated", text))]
    code = max(code for code, _ in done)
    told = f"{sum(cases)} ({' and '.join(map(str, cases))} in chains)" if len(cases) == 2 else "unknown"
    print(f"cases: {told}, exit status of schemathesis: {code}")
    return code


def attack(url: str, folder: Path, *options: str, environment: dict[str, str]) -> tuple[int, str]:
    """Exit status and words of one run of schemathesis."""
    program = [Path(sys.executable).parent / "schemathesis", "run", url, "--checks", "not_a_server_error"]
    more = ["--generation-database", "none", "--no-color", "--continue-on-failure", "--seed", "7"]
    more += ["--request-timeout", "120"]  # for a machine that is busy with something else
    done = subprocess.run(
        [*program, *options, *more], capture_output=True, text=True, cwd=folder, env={**os.environ, **environment}
    )
    sys.stdout.write(done.stdout[-3000:])
    sys.stderr.write(done.stderr[-2000:])
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 25, "quick" in sys.argv[2:]))
