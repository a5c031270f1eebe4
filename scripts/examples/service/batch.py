"""Judge a file of native runs as a batch through the service, and follow it until it ends.

python scripts/examples/service/batch.py http://127.0.0.1:8000 runs.jsonl [KEY]
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
    path = f"/v1/batches/{job['id']}/results?limit=100"
    page = ask(url, path, key=key)
    while True:
        for verdict in page["results"]:
            print(json.dumps({name: verdict[name] for name in ("trajectory_id", "status", "score")}))
        if page["next"] is None:
            return
        page = ask(url, f"{path}&cursor={page['next']}", key=key)


if __name__ == "__main__":
    main(*sys.argv[1:4])
