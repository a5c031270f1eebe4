"""Hostile requests to the service: schemathesis against its OpenAPI, and no answer may be a server error.

    python scripts/service_fuzz.py [EXAMPLES] [PHASES]     # 25 for each operation; all phases by default

Starts a service of its own on loopback with a deterministic judge. Exit status 1 when an answer was a 5xx.
"""

from __future__ import annotations

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


def main(examples: int, phases: str) -> int:
    """Runs the requests and prints how many there were."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        given = {"judge": "fake/always-4", "cache_dir": home / "cache", "certificates": home / "certificates"}
        settings = load_settings(given, environment={}, folder=home)
        app = create_app(open_service(Deployment(settings=settings, data=home / "data")))
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        program = [Path(sys.executable).parent / "schemathesis", "run", f"http://127.0.0.1:{port}/openapi.json"]
        options = [
            "--checks",
            "not_a_server_error",
            "--max-examples",
            str(examples),
            "--phases",
            phases,
        ]
        more = ["--generation-database", "none", "--no-color", "--continue-on-failure", "--seed", "7"]
        done = subprocess.run([*program, *options, *more], capture_output=True, text=True, cwd=folder)
        server.should_exit = True
        thread.join(timeout=30)
    sys.stdout.write(done.stdout[-3000:])
    sys.stderr.write(done.stderr[-2000:])
    counted = re.search(r"(\d[\d,]*) generated", done.stdout)
    print(f"cases: {counted[1] if counted else 'unknown'}, exit status of schemathesis: {done.returncode}")
    return done.returncode


if __name__ == "__main__":
    given = sys.argv[1:3]
    sys.exit(main(int(given[0]) if given else 25, given[1] if len(given) > 1 else "examples,coverage,fuzzing"))
