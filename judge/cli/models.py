"""`judge models`: which judges can be named here, and the weights of the embedded one."""

from __future__ import annotations

import sys
import threading
from typing import Annotated

import typer

from judge.cli import options
from judge.cli.interrupts import stoppable
from judge.cli.output import emit, note, say, table

app = typer.Typer(help="List judges; fetch the embedded model.", no_args_is_help=True)


@app.command("list")
def list_(as_json: options.AsJson = False) -> None:
    """The kinds of judge that can be named, and whether each is ready here."""
    from judge.config import load_settings
    from judge.engine.jury_file import jury_names
    from judge.providers import known_judges
    from judge.providers.catalogue import KnownJudge

    settings = load_settings()
    seated = jury_names(settings.juries) or ("jury/NAME",)
    where = f"several judges as one, from {settings.juries}/NAME.yaml"
    known = [
        *known_judges(settings),
        *(KnownJudge(name=name, ready=name != "jury/NAME", detail=where) for name in seated),
    ]
    if as_json:
        emit({"default": settings.default_judge, "judges": [entry.to_json() for entry in known]})
        return
    rows = [[entry.name, "ready" if entry.ready else "not ready", entry.detail] for entry in known]
    say(table(rows, header=["judge", "state", "detail"]))
    say(f"\nDefault judge: {settings.default_judge}")


@app.command("pull")
def pull(
    name: Annotated[str, typer.Argument(help="Name of the embedded model.")] = "smollm2-135m",
    as_json: options.AsJson = False,
) -> None:
    """Fetch the weights of the embedded model, hash-checked. Does nothing when they are there."""
    from judge.config import load_settings
    from judge.providers.weights import pull as pull_weights

    path = pull_weights(name, load_settings(), say=note)
    if as_json:
        emit({"name": name, "path": str(path)})
    else:
        say(f"{name}: {path}")


@app.command("serve")
def serve(
    name: Annotated[str, typer.Argument(help="Name of the model, or the path of a .gguf file.")] = "smollm2-135m",
    as_json: options.AsJson = False,
) -> None:
    """Serve the embedded model on a loopback port until Ctrl-C, for the OpenAI, Anthropic and litellm clients."""
    from judge.config import load_settings
    from judge.providers.embedded import embedded_server, need_llama
    from judge.providers.weights import KNOWN, find_weights

    need_llama()
    path = find_weights(name, load_settings())
    known = KNOWN.get(name)
    server = embedded_server(path, context_tokens=known.context_tokens if known else 8192)
    document = {"openai_base_url": f"{server.url}/v1", "anthropic_base_url": server.url, "model": name}
    with stoppable():
        if as_json:
            emit(document)
        else:
            say(f"OpenAI and litellm: --base-url {server.url}/v1\nAnthropic: --base-url {server.url}\nCtrl-C stops it.")
        sys.stdout.flush()
        threading.Event().wait()
