"""`judge models serve`: the embedded model for other clients, on loopback, until it is stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

from judge.config import load_settings
from judge.providers.weights import find


@pytest.mark.embedded
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("ignored", [False, True], ids=["in front", "begun in the background"])
def test_the_embedded_model_is_served_on_loopback_until_it_is_stopped(number: signal.Signals, ignored: bool) -> None:
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    if find("smollm2-135m", load_settings()) is None:
        pytest.skip("the weights of the embedded model are not here: judge models pull smollm2-135m")
    command = [sys.executable, "-m", "judge.cli.main", "models", "serve", "--json"]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdout is not None
        lines = []
        while not lines or lines[-1].rstrip() != "}":
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            lines.append(line)
        document = json.loads("".join(lines))
        assert document["openai_base_url"].startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{document['openai_base_url']}/models", timeout=180) as answer:
            assert json.load(answer)["data"]
        process.send_signal(number)
        try:
            assert process.wait(timeout=180) == 0
        finally:
            process.kill()
