"""Hand labels that exist already to the service, and read them back as labels.jsonl.

    python scripts/examples/service/labels.py http://127.0.0.1:8000 QUEUE labels.csv [KEY]

The table has the columns trajectory_id, value, rater and perhaps note. An admin may give labels in the name of others.
Values that a model gave must say so (`rater_kind: model`): they are kept, and never open the gate.
"""

from __future__ import annotations

import csv
import sys
import urllib.request
from pathlib import Path

from score import ask


def main(url: str, queue: str, table: str, key: str = "") -> None:
    """Prints the queue's labels as JSON Lines."""
    with Path(table).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            body = {"queue": queue, "trajectory_id": row["trajectory_id"], "value": float(row["value"])}
            body |= {"rater": row["rater"], "note": row.get("note") or ""}
            ask(url, "/v1/labels", body, key)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(f"{url}/v1/labels/export?queue={queue}", headers=headers)
    with urllib.request.urlopen(request) as answer:
        sys.stdout.write(answer.read().decode("utf-8"))


if __name__ == "__main__":
    main(*sys.argv[1:5])
