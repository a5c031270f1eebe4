"""`judge demo`: the main job end to end on bundled runs, without a key and without a network."""

from __future__ import annotations

from judge.cli import options
from judge.cli.output import emit, note, say


def demo(as_json: options.AsJson = False) -> None:
    """Measure and judge six bundled runs with two judges that need no key, and say what differs."""
    from judge.config import load_settings
    from judge.engine.demo import run_demo
    from judge.report.demo import demo_text

    result = run_demo(load_settings(), progress=note)
    if as_json:
        emit(result.to_json())
    else:
        say(demo_text(result))
