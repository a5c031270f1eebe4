"""Judge a file of native runs as a batch through the service, and follow it until it ends.

python scripts/service_examples/batch.py http://127.0.0.1:8000 runs.jsonl [KEY]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from score import ask


def main(url: str, traces: str, key: str = "") -> None:
    """Prints the progress, then every verdict, a page at a time."""
    runs = [json.loads(line) for line in Path(traces).read_text(encoding="utf-8").splitlines() if line.strip()]
    job = ask(url, "/v1/batches", {"trajectories": runs}, key)
    while job["state"] in ("queued", "running"):
        time.sleep(0.5)
        job = ask(url, f"/v1/batches/{job['id']}", key=key)
        print(job["state"], job["progress"], file=sys.stderr)
    cursor: int | None = 0
    while cursor is not None:
        page = ask(url, f"/v1/batches/{job['id']}/results?limit=100&cursor={cursor}", key=key)
        for verdict in page["results"]:
            print(json.dumps({name: verdict[name] for name in ("trajectory_id", "status", "score")}))
        cursor = page["next"]


if __name__ == "__main__":
    main(*sys.argv[1:4])
