"""A Ray cluster for the time of a run: one that is there already, or a local one that ends with it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from judge.config import keep_ray_offline
from judge.errors import ConfigError, MissingExtra

STORE_BYTES = 128 * 2**20
"""Memory of a local cluster's object store: blocks under way are far smaller."""
KNOCK_S = 10.0


@asynccontextmanager
async def joined(address: str | None = None) -> AsyncIterator[Any]:
    """The module `ray`, connected for the time of the block; a connection that was there is used and left.

    Args:
        address: HOST:PORT of a cluster's head, or "auto" for that of this machine; None starts one on this machine.

    Raises:
        MissingExtra: Ray is not installed.
        ConfigError: No cluster answers at the address.
    """
    ray = await asyncio.to_thread(_ray)  # the import takes a while
    if ray.is_initialized():
        yield ray
        return
    await asyncio.to_thread(connect, ray, address)
    try:
        yield ray
    finally:
        await asyncio.to_thread(ray.shutdown)


def check_address(address: str | None) -> None:
    """Finds out whether Ray is there and somebody listens at the address; Ray is not imported.

    Raises:
        MissingExtra: Ray is not installed.
        ConfigError: The address is that of a client server, or nobody answers there.
    """
    if find_spec("ray") is None:
        raise _missing("it is not installed")
    if address is not None and "://" in address:
        raise ConfigError(
            f"{address!r} is the address of a Ray client server, through which verdicts cannot stream.",
            hint="Run the command on a machine of the cluster with --address auto, or submit it with `ray job submit`.",
        )
    if address is not None:
        _knock(address)


def is_plain(address: str) -> bool:
    """Whether an address is a HOST:PORT, at which `check_address` has knocked."""
    return ":" in address


def _ray() -> Any:
    keep_ray_offline()
    try:
        import ray
    except ImportError as error:
        raise _missing(str(error)) from None
    return ray


def _missing(why: str) -> MissingExtra:
    return MissingExtra(
        f"The engine 'ray' needs the package ray: {why}.", hint='Install it with: pip install "trajudge[ray]".'
    )


def connect(ray: Any, address: str | None, *, cpus: int | None = None) -> None:
    """Joins the cluster at `address`, or starts one here with `cpus` processors (None for all there are), quietly.

    Raises:
        ConfigError: No cluster answers at the address.
    """
    from ray._private import worker

    # What Ray tells of dead workers goes to standard output, where results belong; the run's log says it as well.
    if hasattr(worker, "_worker_logs_enabled"):
        worker._worker_logs_enabled = False
    quiet = {"logging_level": "error", "log_to_driver": False}
    if address is None:
        ray.init(address="local", num_cpus=cpus, include_dashboard=False, object_store_memory=STORE_BYTES, **quiet)
        return
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise _nobody(address, str(error).strip().splitlines()[0]) from None


def _knock(address: str) -> None:
    """Raises at once where nobody listens: Ray itself would go on trying."""
    if not is_plain(address):
        return  # "auto", or a name that Ray knows
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=KNOCK_S).close()
    except (OSError, ValueError) as error:
        raise _nobody(address, str(error)) from None


def _nobody(address: str, why: str) -> ConfigError:
    return ConfigError(
        f"No Ray cluster could be joined at {address!r}: {why}",
        hint="Start one with `ray start --head`, give its HOST:PORT, or leave --address out for a local one.",
    )
