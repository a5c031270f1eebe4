"""`judge sets`: the calibration sets that are shipped, or yours."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, say, table

app = typer.Typer(help="List and show calibration sets.", no_args_is_help=True)


@app.command("list")
def list_(as_json: options.AsJson = False) -> None:
    """The shipped calibration sets, a line each."""
    from judge.calibration.sets import load_set, set_names

    loaded = [load_set(name) for name in set_names()]
    if as_json:
        emit({"sets": [{"name": s.name, "trajectories": len(s.trajectories), "labels": len(s.labels)} for s in loaded]})
        return
    rows = [[s.name, str(len(s.trajectories)), str(len(s.labels)), s.settings.title] for s in loaded]
    say(table(rows, header=["set", "trajectories", "labels", "title"]))


@app.command("show")
def show(name: Annotated[str, typer.Argument(help="Name or path.")], as_json: options.AsJson = False) -> None:
    """The card of one set: who labelled, how it was drawn, what it is not."""
    from judge.calibration.sets import load_set

    loaded = load_set(name)
    if as_json:
        emit({"name": loaded.name, "card": loaded.card, "settings": loaded.settings.to_json()})
    else:
        say(loaded.card.rstrip())
