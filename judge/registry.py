"""Names to objects, lazily: built in as "module:attribute", or from an installed package's entry points.

Entry point groups: ``judge.providers``, ``judge.importers``, ``judge.metrics``, ``judge.checks``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

from judge.errors import UnknownName

Kind = Literal["providers", "importers", "metrics", "checks"]

BUILT_IN: dict[Kind, dict[str, str]] = {
    # prefix of a judge's name → function (model, settings) → Provider
    "providers": {
        "anthropic": "judge.providers.anthropic:open_provider",
        "openai": "judge.providers.openai:open_provider",
        "litellm": "judge.providers.litellm:open_provider",
        "local": "judge.providers.local:open_provider",
        "replay": "judge.providers.replay:open_provider",
        "rules": "judge.providers.rules:open_provider",
        "fake": "judge.providers.fake:open_provider",
    },
    # format name → Importer instance; order breaks no ties
    "importers": {
        "native": "judge.importers.native:importer",
        "events": "judge.importers.events:importer",
        "steps": "judge.importers.steps:importer",
        "calls": "judge.importers.calls:importer",
        "openai-chat": "judge.importers.openai_chat:importer",
        "anthropic": "judge.importers.anthropic:importer",
        "atif": "judge.importers.atif:importer",
        "inspect": "judge.importers.inspect_log:importer",
        "swe-agent": "judge.importers.swe_agent_log:importer",
        "mini-swe-agent": "judge.importers.mini_swe_agent:importer",
        "openhands": "judge.importers.openhands_log:importer",
        "claude-code": "judge.importers.claude_code_log:importer",
        "codex": "judge.importers.codex_log:importer",
        "tau2": "judge.importers.tau2:importer",
        "agentdojo": "judge.importers.agentdojo:importer",
        "google-adk": "judge.importers.google_adk_log:importer",
        "autogen": "judge.importers.autogen_log:importer",
        "mcp": "judge.importers.mcp_log_file:importer",
        "openclaw": "judge.importers.openclaw_log:importer",
        "openai-responses": "judge.importers.openai_responses:importer",
        "langchain": "judge.importers.langchain:importer",
        "pydantic-ai": "judge.importers.pydantic_ai:importer",
        "vercel-ai": "judge.importers.vercel_ai:importer",
        "otel": "judge.importers.otel:importer",
        "genai-messages": "judge.importers.genai_messages:importer",
        "openinference": "judge.importers.openinference:importer",
        "langfuse": "judge.importers.langfuse:importer",
        "langsmith": "judge.importers.langsmith:importer",
        "mlflow": "judge.importers.mlflow:importer",
        "agentevals": "judge.importers.agentevals:importer",
    },
    # metric name → Metric instance
    "metrics": {
        "num_tool_calls": "judge.metrics.counts:num_tool_calls",
        "num_steps": "judge.metrics.counts:num_steps",
        "num_turns": "judge.metrics.counts:num_turns",
        "tokens": "judge.metrics.cost:tokens",
        "seconds": "judge.metrics.cost:seconds",
        "cost_usd": "judge.metrics.cost:cost_usd",
        "has_redundant_call": "judge.metrics.redundancy:has_redundant_call",
        "num_redundant_calls": "judge.metrics.redundancy:num_redundant_calls",
        "num_exact_repeats": "judge.metrics.repeats:num_exact_repeats",
        "answered_without_tool": "judge.metrics.stopping:answered_without_tool",
        "stop_behaviour": "judge.metrics.stopping:stop_behaviour",
        "num_failed_calls": "judge.metrics.recovery:num_failed_calls",
        "error_recovery": "judge.metrics.recovery:error_recovery",
        "matches_reference": "judge.metrics.reference:matches_reference",
        "match_strict": "judge.metrics.matching:match_strict",
        "match_in_order": "judge.metrics.matching:match_in_order",
        "match_any_order": "judge.metrics.matching:match_any_order",
        "match_subset": "judge.metrics.matching:match_subset",
        "match_superset": "judge.metrics.matching:match_superset",
        "call_precision": "judge.metrics.overlap:call_precision",
        "call_recall": "judge.metrics.overlap:call_recall",
        "call_f1": "judge.metrics.overlap:call_f1",
        "call_order_f1": "judge.metrics.overlap:call_order_f1",
        "reference_overlap": "judge.metrics.reference:reference_overlap",
    },
    # name of a custom check → CustomCheck; none is built in, packages bring them by entry point
    "checks": {},
}


@cache
def _plugins(kind: Kind) -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=f"judge.{kind}")}


def names(kind: Kind) -> tuple[str, ...]:
    """Every registered name of a kind, built in first, in a stable order."""
    built_in = BUILT_IN[kind]
    return (*built_in, *sorted(name for name in _plugins(kind) if name not in built_in))


@cache
def find(kind: Kind, name: str) -> Any:
    """The object registered under `name`.

    Raises:
        UnknownName: Nothing is; the message suggests the nearest name.
    """
    target = BUILT_IN[kind].get(name)
    if target is not None:
        module, attribute = target.split(":")
        return getattr(import_module(module), attribute)
    plugin = _plugins(kind).get(name)
    if plugin is not None:
        return plugin.load()
    raise unknown(kind.rstrip("s"), name, names(kind))


def unknown(what: str, name: str, known: Iterable[str]) -> UnknownName:
    """An error that names what was asked for, the nearest known name, and all of them."""
    known = tuple(known)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
    return UnknownName(f"No {what} is named {name!r}.", hint=hint)


def shipped(folder: Literal["rubrics", "calibration_sets"]) -> Path:
    """The folder of shipped data: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / "shipped" / folder
    return installed if installed.is_dir() else package.parent / folder
