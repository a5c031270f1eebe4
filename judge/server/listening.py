"""The socket of a service: open before its address is said, so that whoever reads the address is let in."""

from __future__ import annotations

import socket

from judge.errors import UsageError

WAITING = 2048
"""Most connections that wait to be taken."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 takes a free one.

    Raises:
        UsageError: The port is taken, or the host is no address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=WAITING)
    except OSError as error:
        raise UsageError(
            f"Port {port} of {host} cannot be used: {error.strerror}.",
            hint="Name another with --port; 0 takes a free one.",
        ) from None
