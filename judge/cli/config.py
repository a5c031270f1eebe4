"""`judge config`: the settings in force, and where they come from."""

from __future__ import annotations

import typer

from judge.cli import options
from judge.cli.output import emit, say, table

app = typer.Typer(help="Show the settings in force.", no_args_is_help=True)


@app.command("show")
def show(as_json: options.AsJson = False) -> None:
    """Every setting in force. Secrets are named, never shown."""
    from judge.config import load_settings

    settings = load_settings()
    document = {"settings": settings.to_json(), "default_judge": settings.default_judge, "keys": sorted(settings.keys)}
    if as_json:
        emit(document)
        return
    rows = [[name, str(value)] for name, value in settings.to_json().items()]
    say(table(rows, header=["setting", "value"]))
    say(f"\nDefault judge: {settings.default_judge}")
    say(f"Keys found in the environment: {', '.join(sorted(settings.keys)) or 'none'}")
