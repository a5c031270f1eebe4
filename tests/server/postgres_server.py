"""A PostgreSQL server of our own on loopback, where its programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENCE_S, TRIES = 300, 5
"""Seconds that the server may take to start, and ports that are tried."""


def postgres_tools() -> Path | None:
    """Folder of initdb and pg_ctl: on the path, or where Debian and Ubuntu put the newest; None without them."""
    found = shutil.which("pg_ctl")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name.zfill(4))
    folders = [*([Path(found).resolve().parent] if found else []), *reversed(installed)]
    return next((folder for folder in folders if (folder / "initdb").is_file() and (folder / "pg_ctl").is_file()), None)


def _run(command: list[Any], folder: Path, as_user: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    words = list(map(str, command))
    return subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=2 * PATIENCE_S, **as_user)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a PostgreSQL server of our own on loopback; without its programs the test is skipped."""
    pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed")
    tools = postgres_tools()
    if tools is None:
        pytest.skip("no PostgreSQL server is installed here")
    as_user: dict[str, Any] = {}
    # Not beneath the folder of the tests, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="judge-postgres-"))
    if os.geteuid() == 0:  # PostgreSQL does not run as root
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        as_user = {"user": user.pw_uid, "group": user.pw_gid}
        os.chown(folder, user.pw_uid, user.pw_gid)
    data = folder / "data"
    made = _run([tools / "initdb", "-D", data, "-U", "judge", "-A", "trust", "-E", "UTF8"], folder, as_user)
    port, said = 0, made.stderr
    for _ in range(TRIES if made.returncode == 0 else 0):
        with socket.socket() as free:  # which another program may take before the server does
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        start = [tools / "pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "-t", PATIENCE_S, "start"]
        begun = _run(start, folder, as_user)
        if begun.returncode == 0:
            break
        said = begun.stderr
    else:
        pytest.skip(f"PostgreSQL could not be started: {said[-300:]}")
    yield f"postgresql://judge@127.0.0.1:{port}"
    _run([tools / "pg_ctl", "-D", data, "-m", "immediate", "stop"], folder, as_user)
    shutil.rmtree(folder, ignore_errors=True)
