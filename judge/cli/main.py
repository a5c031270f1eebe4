"""The command `judge`: assembles the commands and holds the one error boundary.

Exit status: 0 done and passed, 1 a check or gate failed, 2 usage or configuration, 3 trust was
required and is not there, 4 a provider failure stopped the run, 5 the budget is reached. 130 interrupted, and 141 the
reader of standard output went away, as shells have it.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence

import typer

from judge.cli import (
    batch,
    cache,
    calibrate,
    cases,
    certificates,
    check,
    compare,
    config,
    convert,
    demo,
    diff,
    doctor,
    escalate,
    label,
    metrics,
    models,
    pairwise,
    plan,
    policies,
    probe,
    replay,
    rubrics,
    runs,
    score,
    serve,
    sets,
    show,
)
from judge.cli import run as suite_run
from judge.cli.output import note, printable
from judge.errors import JudgeError

# Newer typer carries a click of its own, older ones use the package: this is the base of both kinds of usage error.
ClickException: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

UNREAD = 141

app = typer.Typer(
    name="judge",
    help="Score the trajectories of AI agents with an LLM judge, and prove whether that judge can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from judge import __version__

        typer.echo(__version__)
        raise typer.Exit(0)


app.command("demo")(demo.demo)
app.command("score", epilog="Example: judge score run.json --judge rules/process --rubric process")(score.score)
app.add_typer(batch.app, name="batch")
app.add_typer(runs.app, name="runs")
app.command("metrics", epilog="Example: judge metrics runs.jsonl --reference reference.json")(metrics.metrics)
app.command("calibrate", epilog="Example: judge calibrate docs_search --judge rules/process --out report")(
    calibrate.calibrate
)
app.command("probe", epilog="Example: judge probe --set refunds --judge rules/process --limit 5")(probe.probe)
app.command("plan", epilog="Example: judge plan --set refunds --judge rules/process --target-flip 0.02")(plan.plan)
app.command(
    "escalate",
    epilog="Example: judge escalate --set docs_search --judge rules/process --allowed 0.1 --out escalation.json",
)(escalate.escalate)
app.command(
    "compare", epilog="Example: judge compare --set refunds --judge rules/process --judge openai/MODEL --out compared"
)(compare.compare)
app.command("pairwise", epilog="Example: judge pairwise runs.jsonl --judge openai/MODEL --out pairs")(pairwise.pairwise)
app.command("run", epilog="Example: judge run cases.yaml --traces runs/ --judge rules/process --out first")(
    suite_run.run
)
app.command("diff", epilog="Example: judge diff first/result.json second/result.json --critical-tag money")(diff.diff)
app.command("replay", epilog="Example: judge replay runs.jsonl --environment my_world:Shop")(replay.replay)
app.command("check", epilog="Example: judge check runs.jsonl --policy refund_desk.yaml --explain")(check.check)
app.command("convert", epilog="Example: judge convert run.json --out runs.jsonl")(convert.convert)
app.command("show", epilog="Example: judge show run.json")(show.show)
app.command("label", epilog="Example: judge label runs.jsonl --rater YOU --pass-mark 4 --open")(label.label)
app.command("serve", epilog="Example: judge serve --judge rules/process --port 8000")(serve.serve)
app.add_typer(rubrics.app, name="rubrics")
app.add_typer(policies.app, name="policies")
app.add_typer(sets.app, name="sets")
app.add_typer(cases.app, name="cases")
app.add_typer(models.app, name="models")
app.add_typer(certificates.app, name="certificates")
app.add_typer(cache.app, name="cache")
app.add_typer(config.app, name="config")
app.command("doctor")(doctor.doctor)


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit status; errors are printed, never raised."""
    as_json = "--json" in arguments
    try:
        code = app(args=list(arguments), standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.Exit as stop:
        return int(stop.exit_code)
    except typer.Abort:
        note("Stopped.")
        return 130
    except ClickException as error:
        message = getattr(error, "format_message", error.__str__)()
        if type(error).__name__ == "NoArgsIsHelpError":  # the message is the help of a group
            note(str(message))
            return 2
        _show("usage_error", str(message), _usage_hint(error), as_json)
        return 2
    except JudgeError as error:
        _show(error.kind, error.message, error.hint, as_json)
        return error.exit_code
    except KeyboardInterrupt:
        note("Stopped.")
        return 130
    except BrokenPipeError:
        return _unread()
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # typer has met it first
            return _unread()
        raise


def _unread() -> int:
    """The reader went away (`| head`): nothing may be printed any more, and what was found is neither good nor bad."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return UNREAD


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    warnings.showwarning = _warn
    sys.exit(run(sys.argv[1:]))


def _warn(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: object = None, line: object = ""
) -> None:
    """A warning as people read it: without the place in the code that gave it."""
    note(f"warning: {message}")


def _usage_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "judge"
    return f"See `{path} --help`."


def _show(kind: str, message: str, hint: str, as_json: bool) -> None:
    if as_json:
        sys.stderr.write(json.dumps({"error": {"kind": kind, "message": message, "hint": hint}}) + "\n")
        return
    sys.stderr.write(printable(f"error: {message}\n" + (f"  {hint}\n" if hint else "")))


if __name__ == "__main__":
    main()
