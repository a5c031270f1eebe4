"""Every command, argument and option says what it is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer


def commands(command: Any, path: str = "judge") -> Iterator[tuple[str, Any]]:
    """(name, command) of a command and everything below it."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}")


def silent(app: typer.Typer) -> list[str]:
    """Commands and parameters without a help text."""
    out = []
    for path, command in commands(typer.main.get_command(app)):
        if not (command.help or "").strip():
            out.append(path)
        for parameter in command.params:
            if not (getattr(parameter, "help", None) or "").strip():
                out.append(f"{path} {parameter.name}")
    return out


def test_every_command_has_help() -> None:
    from judge.cli.main import app

    assert silent(app) == []


def test_the_commands_of_the_contract_exist() -> None:
    from judge.cli.main import app

    top = {path.removeprefix("judge ") for path, _ in commands(typer.main.get_command(app))}
    assert {"demo", "score", "metrics", "convert", "show", "doctor"} <= top
    assert {"rubrics list", "rubrics show", "rubrics lint", "rubrics new", "models pull"} <= top


def test_the_examples_in_the_help_use_options_that_there_are() -> None:
    from judge.cli.main import app

    lines = {path: c.epilog for path, c in commands(typer.main.get_command(app)) if "Example: " in (c.epilog or "")}
    assert {"judge score", "judge calibrate", "judge run"} <= set(lines)
    known = dict(commands(typer.main.get_command(app)))
    for path, epilog in lines.items():
        line = epilog.removeprefix("Example: ")
        assert line.startswith(path + " ")
        options = {name for parameter in known[path].params for name in parameter.opts}
        assert {word for word in line.split() if word.startswith("-")} <= options


def test_a_command_without_help_is_found() -> None:
    app = typer.Typer(help="An app.")

    @app.command("one", help="Does one thing.")
    def one(path: str = typer.Argument(help="A file."), loud: bool = typer.Option(False, "--loud")) -> None: ...

    @app.command("two")
    def two() -> None: ...

    assert silent(app) == ["judge one loud", "judge two"]
