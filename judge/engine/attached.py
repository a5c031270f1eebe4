"""Coming back to a run whose batches are at a provider: wait for them and finish the run, or end them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from judge.config import Settings, load_settings
from judge.engine.batch import BatchOutcome, judge_batch
from judge.engine.batch_call import BatchCall, read_call
from judge.engine.control import Control
from judge.engine.loop import PRIVATE
from judge.engine.run import Progress
from judge.errors import RequestRefused
from judge.providers.batches import BatchApi, open_batches, patiently
from judge.store.batch_ledger import BatchLedger, held_ledger
from judge.types.record import Record


class CanceledBatches(Record):
    """What became of the batches of a run that were under way.

    Attributes:
        canceled: Ids of batches that the provider was asked to end; what was done by then is billed.
        ended: Ids of batches that had ended by themselves.
        unclear: Numbers of batches of which it cannot be told yet whether the provider has them; ask again later.
        never_received: Numbers of batches that the provider does not have.
    """

    omit_none: ClassVar[bool] = False

    canceled: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    unclear: tuple[int, ...] = ()
    never_received: tuple[int, ...] = ()


def attach_batch(
    folder: str | Path,
    *,
    settings: Settings | None = None,
    changes: Mapping[str, Any] | None = None,
    control: Control | None = None,
    progress: Callable[[Progress], None] | None = None,
    detach: bool = False,
    notice: Callable[[str], None] | None = None,
) -> BatchOutcome:
    """Waits for the batches of a run, fetches their outcomes and finishes the run, as it was started.

    Works again after a kill at any moment. With `detach` it waits for nothing: it takes what is there, hands in what
    follows from it, and returns.

    Args:
        settings: In place of those that the run was started with.
        changes: Settings that are to be other than they were then, such as `max_usd`.

    Raises:
        UsageError: The folder holds no such run, its input is gone or has changed, or another process works on it.
    """
    path = Path(folder)
    call = read_call(path)
    used = settings or settings_then(call, changes or {})
    return judge_batch(
        call.inputs,
        call.rubric,
        out=path,
        judge=call.judge,
        reference=call.references,
        policy=call.policy,
        resume=True,
        engine="provider-batch",
        settings=used,
        control=control,
        progress=progress,
        detach=detach,
        notice=notice,
        **call.reading,
    )


def cancel_batches(folder: str | Path, *, settings: Settings | None = None) -> CanceledBatches:
    """Asks the provider to end every batch of a run that is under way.

    What was done by then is billed, and `attach_batch` fetches it; requests that were not reached become verdicts of
    kind "batch_canceled", which are not handed in again before the run is taken up with `resume`.

    Raises:
        UsageError: The folder holds no such run, or another process works on it.
        ProviderError: The provider does not answer.
    """
    path = Path(folder)
    call = read_call(path)
    used = settings or settings_then(call, {})
    with held_ledger(path) as ledger:
        return PRIVATE.run(_cancel(ledger, open_batches(call.judge, used), used))


async def _cancel(ledger: BatchLedger, api: BatchApi, settings: Settings) -> CanceledBatches:
    canceled, ended, unclear, never = [], [], [], []
    try:
        for chunk in ledger.under_way():
            if chunk.batch is None:
                known = frozenset(other.batch for other in ledger.chunks.values() if other.batch is not None)
                mark, total, since = ledger.mark(chunk.number), len(chunk.names), chunk.at
                got = await patiently(lambda: api.search(mark, total=total, since=since, known=known), settings)  # noqa: B023  # awaited at once
                if got.found is not None:
                    ledger.submitted(chunk, got.found.id)
                elif got.unclear or time.time() - chunk.sent_at < settings.batch_api.settle_s:
                    unclear.append(chunk.number)
                else:
                    ledger.given_up(chunk, "canceled before it was received")
                    never.append(chunk.number)
            id = chunk.batch
            if id is None:
                continue
            try:
                await patiently(lambda: api.cancel(id), settings)  # noqa: B023  # awaited at once
            except RequestRefused:
                ended.append(id)
                continue
            ledger.canceled(chunk)
            canceled.append(id)
    finally:
        await api.aclose()
    return CanceledBatches(
        canceled=tuple(canceled), ended=tuple(ended), unclear=tuple(unclear), never_received=tuple(never)
    )


def settings_then(call: BatchCall, changes: Mapping[str, Any]) -> Settings:
    """The settings that a run was started with. How a provider is reached, and every secret, is what it is now.

    Raises:
        ConfigError: They no longer fit.
    """
    now = load_settings()
    provider = call.judge.partition("/")[0]
    then = {name: value for name, value in call.settings.items() if name != "providers"}
    if now.cache == then.get("cache"):
        del then["cache"]  # with the password that the environment holds
    url = (call.settings.get("providers", {}).get(provider) or {}).get("base_url")
    if url != now.provider(provider).base_url:
        then["base_url"] = url
    return load_settings({**then, "judge": call.judge, **{k: v for k, v in changes.items() if v is not None}})
