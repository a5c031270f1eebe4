"""Prices and context windows: from the settings, else from the table that litellm ships. Unknown stays unknown."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from judge.config import Settings
from judge.errors import ConfigError
from judge.types.record import Record
from judge.types.trajectory import Usage

TABLE = "model_prices_and_context_window_backup.json"
BATCH_SHARE = 0.5
"""What OpenAI and Anthropic take for a token in a batch, as a share of its price otherwise (both say so in their price
lists)."""


class Price(Record):
    """US dollars for one token.

    Attributes:
        cache_read, cache_creation: For input tokens read from or written to a provider's prompt
            cache; None where they cost what other input costs.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_creation: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """Dollars for `usage`; None where the number of input or output tokens is not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        read = (usage.cache_read_input_tokens or 0) if self.cache_read is not None else 0
        created = (usage.cache_creation_input_tokens or 0) if self.cache_creation is not None else 0
        plain = max(0, usage.input_tokens - read - created)
        dollars = plain * self.input + usage.output_tokens * self.output
        dollars += read * (self.cache_read or 0.0) + created * (self.cache_creation or 0.0)
        return round(dollars, 12)


@cache
def table() -> Mapping[str, Any]:
    """litellm's bundled table, read without importing litellm; empty where litellm is absent."""
    found = importlib.util.find_spec("litellm")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / TABLE
        if path.is_file():
            read = json.loads(path.read_text(encoding="utf-8"))
            return read if isinstance(read, dict) else {}
    return {}


@cache
def _own_table(path: Path, changed_ns: int) -> Mapping[str, Any]:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"The price file {str(path)!r} cannot be read: {error}.",
            hint='It is JSON: {"MODEL": {"input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05}}.',
        ) from None
    rows = read if isinstance(read, dict) else {}
    bad = [name for name, row in rows.items() if not isinstance(row, dict) or not _has_price(row)]
    if bad or not rows:
        raise ConfigError(
            f"The price file {str(path)!r} gives no price for {bad[0] if bad else 'any model'!r}.",
            hint="Each model needs input_cost_per_token and output_cost_per_token, in US dollars, at least 0.",
        )
    return rows


def own_entry(judge: str, settings: Settings) -> Mapping[str, Any] | None:
    """The row of the user's price file for a judge's full name, or for its model; None where there is none.

    Raises:
        ConfigError: The file is not there, does not parse, or holds a model without prices.
    """
    path = settings.price_file
    if path is None:
        return None
    try:
        rows = _own_table(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise ConfigError(f"The price file {str(path)!r} cannot be read: {error.strerror or error}.") from None
    found = rows.get(judge, rows.get(judge.partition("/")[2]))
    return found if isinstance(found, dict) else None


def entry(judge: str) -> Mapping[str, Any] | None:
    """The table's row for a judge's full name, or None. "openai/gpt-4o" finds "gpt-4o"."""
    rows = table()
    provider, _, model = judge.partition("/")
    if provider == "litellm":
        names: tuple[str, ...] = (model, model.partition("/")[2])
    elif provider in {"openai", "anthropic"}:
        names = (judge, model)
    else:
        return None
    for name in names:
        row = rows.get(name) if name else None
        if isinstance(row, dict) and (provider == "litellm" or row.get("litellm_provider") in {provider, None}):
            return row
    return None


def batch_price_of(judge: str, settings: Settings) -> Price | None:
    """The price of a judge in its provider's batch API, or None where nobody knows it.

    A price that the price file or litellm's table gives for batches counts; otherwise it is a share of the usual one,
    the user's own included: `batch_api.price_share`, else `BATCH_SHARE`, or all of it behind a `base_url`.
    """
    usual = price_of(judge, settings)
    if usual is None:
        return None
    row: Mapping[str, Any] = {}
    if settings.model(judge).input_usd_per_million is None:
        row = _row(judge, settings) or {}

    share = settings.batch_api.price_share
    if share is None:
        share = 1.0 if settings.provider(judge.partition("/")[0]).base_url else BATCH_SHARE

    def batched(name: str, price: float) -> float:
        stated = _number(row, f"{name}_batches")
        return price * share if stated is None else stated

    read, creation = usual.cache_read, usual.cache_creation
    return Price(
        input=batched("input_cost_per_token", usual.input),
        output=batched("output_cost_per_token", usual.output),
        cache_read=None if read is None else batched("cache_read_input_token_cost", read),
        cache_creation=None if creation is None else batched("cache_creation_input_token_cost", creation),
    )


def _row(judge: str, settings: Settings) -> Mapping[str, Any] | None:
    row = own_entry(judge, settings)
    if row is None and not settings.provider(judge.partition("/")[0]).base_url:
        row = entry(judge)
    return row


def price_of(judge: str, settings: Settings, *, free: bool = False) -> Price | None:
    """The price of a judge by its full name, or None where nobody knows it.

    The settings come first, then the user's price file, then litellm's table. With a `base_url`, the maker's list
    price says nothing about the server that answers: then only the user's own prices count.

    Args:
        free: The judge runs in this process and costs no money.
    """
    own = settings.model(judge)
    if own.input_usd_per_million is not None and own.output_usd_per_million is not None:
        return Price(input=own.input_usd_per_million / 1e6, output=own.output_usd_per_million / 1e6)
    if free:
        return Price(input=0.0, output=0.0)
    row = _row(judge, settings)
    if row is None:
        return None
    needed = _number(row, "input_cost_per_token"), _number(row, "output_cost_per_token")
    if needed[0] is None or needed[1] is None:
        return None
    return Price(
        input=needed[0],
        output=needed[1],
        cache_read=_number(row, "cache_read_input_token_cost"),
        cache_creation=_number(row, "cache_creation_input_token_cost"),
    )


def context_of(judge: str, settings: Settings) -> int | None:
    """Tokens that prompt and reply may take together, from the settings or the table; None where unknown."""
    own = settings.model(judge).context_tokens
    if own is not None:
        return own
    row = entry(judge)
    if row is None or settings.provider(judge.partition("/")[0]).base_url:
        return None
    value = row.get("max_input_tokens")
    return value if isinstance(value, int) and value > 0 else None


def _has_price(row: Mapping[str, Any]) -> bool:
    values = _number(row, "input_cost_per_token"), _number(row, "output_cost_per_token")
    return all(value is not None and value >= 0 for value in values)


def _number(row: Mapping[str, Any], name: str) -> float | None:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
