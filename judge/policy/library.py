"""Policies from files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from judge.document import Finding, read_text
from judge.errors import PolicyError
from judge.policy.form import read_policy
from judge.policy.lint import examine, lint_text, unknown_tools
from judge.types.policy import Policy


def load_policy(source: str | Path | Mapping[str, Any]) -> Policy:
    """A policy from a YAML file, or from the content of one as a mapping.

    Raises:
        PolicyError: It does not load; the message begins with file and line and ends with what to do.
    """
    if isinstance(source, Mapping):
        return parse_policy(yaml.safe_dump(dict(source), sort_keys=False, allow_unicode=True), where="the policy given")
    return parse_policy(read_text(Path(source), "policy", PolicyError), where=str(source))


def parse_policy(text: str, *, where: str = "policy") -> Policy:
    """A policy from the text of a policy file.

    Args:
        where: The file, for messages.

    Raises:
        PolicyError: As `load_policy`.
    """
    policy, document = read_policy(text)
    if policy is not None:
        examine(document, policy)
    errors = [finding for finding in document.findings if finding.severity == "error"]
    if errors or policy is None:
        first = min(errors, key=lambda finding: finding.line)
        more = f" {len(errors) - 1} more: `judge policies lint {where}` lists them." if len(errors) > 1 else ""
        raise PolicyError(f"{where}:{first.line}: {first.message}{more}")
    return policy


def lint_policy(path: str | Path, seen: Collection[str] | None = None) -> tuple[Finding, ...]:
    """Findings about a policy file, by line; empty for a clean one.

    Args:
        seen: Tool names of some traces; None where none are known. A name that neither they nor the policy have is an
            error where a near name exists, else a warning.

    Raises:
        PolicyError: The file cannot be read as text. Faults inside it are findings and not errors.
    """
    text = read_text(Path(path), "policy", PolicyError)
    found = lint_text(text)
    if seen is None or any(finding.severity == "error" for finding in found):
        return found
    policy, document = read_policy(text)
    if policy is None:
        return found
    for position, place, name, near in unknown_tools(policy, seen):
        line = document.line(("checks", position, *place))
        check = policy.checks[position].id
        if near is not None:
            message = f"Check {check!r} names the tool {name!r}, which no trace has. Did you mean {near!r}?"
            document.wrong(line, "unknown-tool", message)
        else:
            message = f"Check {check!r} names the tool {name!r}, which no trace has: the check proves little here."
            document.wrong(line, "unknown-tool", message, "warning")
    return tuple(sorted((*found, *document.findings), key=lambda finding: finding.line))
