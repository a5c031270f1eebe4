"""Parameters that a model refuses: found in the server's answer, adapted once each, remembered.

One `Adaptation` belongs to one opened model: what it learned holds for the run.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from judge.errors import RequestRefused
from judge.providers.failures import server_error

Sent = TypeVar("Sent")

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
OPTIONAL = ("temperature", "top_p", "seed", "top_logprobs", "logprobs", "reasoning_effort")
"""Parameters that a call can do without."""
_REFUSAL_WORDS = re.compile(
    r"unsupported|not support|does not support|doesn't support|unknown|unrecogni[sz]ed|unexpected|not permitted"
    r"|not allowed|deprecated|cannot (?:both )?be|can not be|invalid|only the default|extra inputs|not available",
    re.IGNORECASE,
)
_SYSTEM_ROLE = re.compile(
    r"system (?:role|message|prompt|instruction)s?\b.{0,60}not (?:supported|allowed|enabled)"
    r"|(?:not|doesn't|does not) support.{0,40}\b(?:system|developer)\b"
    r"|system role not supported|developer instruction is not enabled",
    re.IGNORECASE | re.DOTALL,
)


def refused_parameter(body: Any, sent: Mapping[str, Any], *, names: tuple[str, ...]) -> str | None:
    """The parameter of `sent` that a 400 complains about, or None.

    The error's own ``param`` decides; without it, a name of `names` in the message, together
    with a word that says refusal. "system" stands for a system message that is not taken.
    """
    said = server_error(body)
    message = str(said.get("message") or "")
    param = str(said.get("param") or "").split(".")[0].split("[")[0]
    if param in names and param in sent:
        return param
    if "system" in names and _SYSTEM_ROLE.search(message):
        return "system"
    if not _REFUSAL_WORDS.search(message):
        return None
    found = [
        (match.start(), name)
        for name in names
        if name in sent and (match := re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", message))
    ]
    return min(found)[1] if found else None


class Adaptation:
    """What one model has been found to refuse, as a set of parameter names.

    `apply` turns (body, refused) into the body to send; it is the provider's own.
    """

    def __init__(self, apply: Callable[[dict[str, Any], frozenset[str]], dict[str, Any]]) -> None:
        self._apply = apply
        self._learned: frozenset[str] = frozenset()

    @property
    def learned(self) -> frozenset[str]:
        """Names refused so far in this run."""
        return self._learned

    async def send(
        self, body: dict[str, Any], send: Callable[[dict[str, Any]], Awaitable[Sent]]
    ) -> tuple[Sent, frozenset[str], int]:
        """Send `body`, adapted; on a refusal that names a parameter adapt once more and send again.

        Returns:
            What `send` returned, the names adapted in the body that was accepted, and the requests spent.

        Raises:
            RequestRefused: Names no parameter, or one that was adapted already.
        """
        refused = self._learned
        spent = 0
        while True:
            try:
                spent += 1
                got = await send(self._apply(body, refused))
            except RequestRefused as error:
                name = error.parameter
                if name is None or name in refused:
                    error.attempts = spent
                    raise
                refused = refused | {name}
                continue
            if refused != self._learned:
                self._learned = self._learned | refused
            return got, refused, spent


def dropped(body: Mapping[str, Any], refused: frozenset[str]) -> tuple[str, ...]:
    """The names left out of what was asked, sorted. A token limit that changed its name is not left out."""
    return tuple(sorted(name for name in refused if (name in body or name == "system") and name not in TOKEN_LIMITS))
