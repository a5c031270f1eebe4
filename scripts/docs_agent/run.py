"""Runs the documentation agent on questions and writes its trajectories, ready to measure and judge.

cd scripts
python -m docs_agent.run --model openai/gpt-4o-mini --out runs.jsonl
python -m docs_agent.run --scripted --out runs.jsonl
judge metrics runs.jsonl
judge score runs.jsonl --rubric process
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

from set_builder.docs_tasks import TASKS

from docs_agent.agent import Think, answer, by_model, by_script
from judge.config import load_settings
from judge.providers import connect
from judge.types import Trajectory

Moves = tuple[tuple[str, str], ...]


def scripted() -> Iterator[tuple[str, str, str, Moves]]:
    """(id, group, question, moves): one run that searches once, one that circles, one that never looks."""
    task = TASKS[0]
    part = task.parts[0]
    reply = ("answer", task.answers[0])
    yield "docs-agent-clean", task.group, task.question, (("search", part.queries[0]), reply)
    circles = tuple(("search", query) for query in part.queries)
    yield "docs-agent-wasteful", task.group, task.question, (*circles, reply)
    yield "docs-agent-no-search", task.group, task.question, (("answer", task.guess),)


async def by_scripts() -> list[Trajectory]:
    """The scripted runs."""
    return [await answer(asked, by_script(moves), id=id, group=group) for id, group, asked, moves in scripted()]


async def _by_model(name: str, limit: int) -> list[Trajectory]:
    connection = connect(name, load_settings({"judge": name}))
    try:
        think: Think = by_model(connection)
        return [
            await answer(
                task.question, think, id=f"{task.group}-live", group=task.group, name=name, price=connection.price
            )
            for task in TASKS[:limit]
        ]
    finally:
        await connection.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--model", help="Any judge name, e.g. anthropic/MODEL, openai/MODEL, litellm/ANY, local/NAME.")
    who.add_argument("--scripted", action="store_true", help="Three scripted runs; no model.")
    parser.add_argument("--limit", type=int, default=len(TASKS), help="Questions to ask.")
    parser.add_argument("--out", type=Path, required=True, help="JSON Lines file to write.")
    given = parser.parse_args()
    runs = asyncio.run(by_scripts() if given.scripted else _by_model(given.model, given.limit))
    lines = [json.dumps(run.to_json(), ensure_ascii=False) for run in runs]
    given.out.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    print(f"wrote {len(runs)} runs to {given.out}")


if __name__ == "__main__":
    main()
