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


def postgres_tools() -> Path | None:
    """Folder of initdb and pg_ctl: on the path, or where Debian and Ubuntu put the newest; None without them."""
    found = shutil.which("pg_ctl")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name.zfill(4))
    folders = [*([Path(found).resolve().parent] if found else []), *reversed(installed)]
    return next((folder for folder in folders if (folder / "initdb").is_file() and (folder / "pg_ctl").is_file()), None)


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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    start = [tools / "pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "start"]
    for command in ([tools / "initdb", "-D", data, "-U", "judge", "-A", "trust", "-E", "UTF8"], start):
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, **as_user, timeout=60)
        if done.returncode != 0:
            pytest.skip(f"PostgreSQL could not be started: {done.stderr[-300:]}")
    yield f"postgresql://judge@127.0.0.1:{port}"
    subprocess.run(
        [tools / "pg_ctl", "-D", data, "-m", "immediate", "stop"], capture_output=True, cwd=folder, **as_user
    )
    shutil.rmtree(folder, ignore_errors=True)
