"""Secrets out of any text, before it reaches a file, a log or an error."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

MASK = "[hidden]"
_RULES = (
    # user and password of a URL
    (re.compile(r"(?P<keep>[a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@'\"]+@"), r"\g<keep>"),
    # values of query parameters that carry credentials
    (
        re.compile(
            r"(?P<keep>[?&](?:[\w.-]*(?:key|token|secret|signature|password|passwd|auth|credential)[\w.-]*|sig|code)=)"
            r"[^&\s'\"#]+",
            re.IGNORECASE,
        ),
        rf"\g<keep>{MASK}",
    ),
    # Authorization headers in any spelling
    (re.compile(r"(?P<keep>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\g<keep>{MASK}"),
    (
        re.compile(
            r"(?P<keep>\b(?:authorization|proxy-authorization|x-api-key|api-key|api_key)\b['\"]?\s*[:=]\s*['\"]?)"
            r"(?!(?:bearer|basic)\b|\[hidden\])[^\s'\",;}]{4,}",
            re.IGNORECASE,
        ),
        rf"\g<keep>{MASK}",
    ),
    # keys of well-known shape, whole or starred out by a server
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai)-[A-Za-z0-9_*-]{8,}"), MASK),
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with the given secrets, URL credentials and key-like words replaced by ``[hidden]``.

    Args:
        secrets: Exact texts, e.g. `Settings.secrets()`; longest are replaced first.
    """
    for secret in sorted(set(secrets), key=len, reverse=True):
        if secret:
            text = text.replace(secret, MASK)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


CHATTY = ("httpx2", "httpx", "openai._base_client", "anthropic._base_client", "LiteLLM")
"""Loggers of the SDKs and of what they send with; they log whole URLs."""


class _Redacting(logging.Filter):
    def __init__(self, secrets: tuple[str, ...]) -> None:
        super().__init__()
        self.secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage(), self.secrets), ()
        return True


def guard_logs(secrets: Iterable[str]) -> None:
    """Redact what the SDKs log, from now on in this process. Records that nobody handles cost nothing."""
    wanted = tuple(secrets)
    for name in CHATTY:
        logger = logging.getLogger(name)
        if not any(isinstance(known, _Redacting) and known.secrets == wanted for known in logger.filters):
            logger.addFilter(_Redacting(wanted))
