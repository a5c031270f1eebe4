"""`judge config`: the settings in force, and where they come from."""

from __future__ import annotations

import typer

from judge.cli import options
from judge.cli.output import emit, say, table

app = typer.Typer(help="Show the settings in force.", no_args_is_help=True)


@app.command("show")
def show(as_json: options.AsJson = False) -> None:
    """Every setting in force, where it comes from, and the variable that sets it. Secrets are named, never shown."""
    from judge.config import SETTING_VARIABLES, load_settings, setting_sources

    settings, sources = load_settings(), setting_sources()
    variables = {field: name for name, field in SETTING_VARIABLES.items()}
    document = {
        "settings": settings.to_json(),
        "sources": sources,
        "variables": variables,
        "default_judge": settings.default_judge,
        "keys": sorted(settings.keys),
    }
    if as_json:
        emit(document)
        return
    values = settings.to_json()
    shown = [*values, *(name for name in variables if name not in values)]
    rows = [
        [name, str(values.get(name, "not set")), sources.get(name, "default"), variables.get(name, "")]
        for name in shown
    ]
    say(table(rows, header=["setting", "value", "from", "variable"]))
    say(f"\nDefault judge: {settings.default_judge}")
    say(f"Keys found in the environment: {', '.join(sorted(settings.keys)) or 'none'}")
