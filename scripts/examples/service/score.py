"""Score one run through the service, and stop where the judge is not certified.

    python scripts/examples/service/score.py http://127.0.0.1:8000 run.json [KEY]

Only the standard library: any language does it the same way.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any


def ask(url: str, path: str, body: Any = None, key: str = "") -> Any:
    """The decoded answer of one request; a problem document is printed and ends the program."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, data=data, headers=headers)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        raise SystemExit(f"{error.code} {problem['title']}: {problem['detail']}") from None


def main(url: str, trace: str, key: str = "") -> None:
    """Prints score, reason and trust of each verdict."""
    run = json.loads(Path(trace).read_text(encoding="utf-8"))
    for verdict in ask(url, "/v1/score", {"trajectory": run, "rubric": "process"}, key)["results"]:
        print(verdict["trajectory_id"], verdict["status"], verdict["score"], verdict["trust"]["state"])
        print(" ", verdict["reason"])


if __name__ == "__main__":
    main(*sys.argv[1:4])
