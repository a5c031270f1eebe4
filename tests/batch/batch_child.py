"""One session with batches at a provider, in a process of its own that may be killed.

python batch_child.py INPUT FOLDER URL WORK PROVIDER REQUESTS
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from batch_items import RUBRIC, provider_settings  # noqa: E402

from judge.engine.batch import judge_batch  # noqa: E402


def main() -> None:
    source, folder, url, work, provider, requests = sys.argv[1:]
    settings = provider_settings(Path(work), url, provider, batch_api={"requests": int(requests)})
    judge_batch([source], RUBRIC, out=folder, settings=settings, engine="provider-batch")


if __name__ == "__main__":
    main()
