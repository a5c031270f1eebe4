"""A judge behind litellm whose provider has no key here."""

from __future__ import annotations

from typing import Any

import pytest

from judge.errors import TerminalError
from judge.providers import connect

VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AZURE_API_KEY")


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.0-flash"])
def test_a_missing_key_ends_the_run_at_once(
    model: str, make_settings: Any, make_request: Any, run: Any, monkeypatch: pytest.MonkeyPatch, hosts_contacted: Any
) -> None:
    """litellm gives each of these another class and status, and two of them look like a server that failed."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    connection = connect(f"litellm/{model}", make_settings(http_retries=4))
    with pytest.raises(TerminalError, match="needs an API key and none is set") as caught:
        run(asked(connection, make_request()))
    assert caught.value.reason == "auth"
    assert "Traceback" not in str(caught.value)
    assert hosts_contacted <= {"127.0.0.1", "::1"}


async def asked(connection: Any, request: Any) -> Any:
    try:
        return await connection.complete(request)
    finally:
        await connection.aclose()
