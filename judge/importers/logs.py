"""The formats that have a reader of their own: how each is recognised, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from judge.importers.dialects import (
    agentevals,
    autogen,
    benchmarks,
    claude_code,
    codex,
    google_adk,
    inspect_log,
    langfuse,
    langsmith,
    mcp_log,
    openclaw,
    openhands,
    otlp,
    swe_agent,
)
from judge.importers.log import Log, Look
from judge.importers.traces import logs_of

LOOKS: tuple[Callable[[dict[str, Any]], Look | None], ...] = (
    inspect_log.look,
    swe_agent.look_mini,
    mcp_log.look,
    claude_code.look,
    codex.look,
    google_adk.look,
    benchmarks.look_agentdojo,
    benchmarks.look_tau2,
    openhands.look,
    swe_agent.look_swe,
    autogen.look,
    openclaw.look,
    otlp.look,
    langfuse.look,
    langsmith.look,
    agentevals.look,
)
"""Each says whether an object is of its format; the first that does decides."""

READERS: dict[str, Callable[[Any], Iterator[Log]]] = {
    "inspect": inspect_log.read,
    "swe-agent": swe_agent.read_swe,
    "mini-swe-agent": swe_agent.read_mini,
    "openhands": openhands.read,
    "claude-code": claude_code.read,
    "codex": codex.read,
    "tau2": benchmarks.read_tau2,
    "agentdojo": benchmarks.read_agentdojo,
    "google-adk": google_adk.read,
    "autogen": autogen.read,
    "mcp": mcp_log.read,
    "openclaw": openclaw.read,
    "otel": logs_of(otlp.read_spans),
    "openinference": logs_of(otlp.read_spans),
    "mlflow": logs_of(otlp.read_spans),
    "langfuse": logs_of(langfuse.read_spans),
    "langsmith": logs_of(langsmith.read_spans),
    "agentevals": agentevals.read,
}
"""Format to reader. It gets the object of a "run", or the list of the records of one run."""


def look(record: dict[str, Any]) -> Look | None:
    """What an object is by its own marks; None where no format of this table knows it."""
    for each in LOOKS:
        found = each(record)
        if found is not None:
            return found
    return None
