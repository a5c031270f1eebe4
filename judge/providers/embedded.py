"""The llama.cpp server inside this process: one for each weights file, on a loopback port, closed at exit."""

from __future__ import annotations

import atexit
import http.client
import importlib.util
import json
import os
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from judge.errors import ConfigError, MissingExtra

MOST_THREADS = 4
PROMPT_CACHE_MIB = 1024
"""Room for the prefixes of about six long trajectories (23 KB a token), so that samples asked in turns still share."""
QUIET = -1


class EmbeddedServer:
    """Serves one weights file; `/v1/chat/completions`, `/v1/messages` and `/tokenize` on 127.0.0.1.

    One slot: the two or four threads of the model are busy with one judgment, and a second slot
    would split the cached prefix that the samples of one trajectory share.
    """

    def __init__(self, weights: Path, *, context_tokens: int) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.n_ctx = context_tokens
        params.n_parallel = 1
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.ui = False
        params.verbosity = QUIET
        params.cache_ram_mib = PROMPT_CACHE_MIB
        params.n_threads_http = 8
        for threads in (params.cpuparams, params.cpuparams_batch):
            threads.n_threads = min(MOST_THREADS, _cores())
            threads.poll = 0  # a polling thread takes the core that the other threads need
        try:
            self._server: Any = xllamacpp.Server(params)
        except Exception as error:
            raise ConfigError(f"llama.cpp does not load {str(weights)!r}: {error}.") from None
        self.url: str = self._server.listening_address
        self._count = lru_cache(maxsize=4096)(self._ask_count)

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the model's own tokenizer, exact; a few milliseconds, remembered."""
        return self._count(text)

    def _ask_count(self, text: str) -> int:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=30)
        try:
            body = json.dumps({"content": text, "add_special": False}).encode("utf-8", "surrogatepass")
            connection.request("POST", "/tokenize", body, {"content-type": "application/json"})
            return len(json.loads(connection.getresponse().read())["tokens"])
        finally:
            connection.close()

    def close(self) -> None:
        """Stop the server and free the weights."""
        self._server = None


_servers: dict[Path, EmbeddedServer] = {}  # the weights are loaded once for a process, whoever asks
_lock = threading.Lock()


def embedded_server(weights: Path, *, context_tokens: int) -> EmbeddedServer:
    """The running server of a weights file, started on first use.

    Raises:
        MissingExtra: xllamacpp is not installed.
        ConfigError: llama.cpp does not take the file.
    """
    need_llama()
    path = weights.resolve()
    with _lock:
        if path not in _servers:
            if not _servers:
                atexit.register(close_servers)
            _servers[path] = EmbeddedServer(path, context_tokens=context_tokens)
        return _servers[path]


def close_servers() -> None:
    """Stop every embedded server of this process."""
    with _lock:
        while _servers:
            _servers.popitem()[1].close()


def need_llama() -> None:
    """Raises MissingExtra where llama.cpp is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra(
            "The embedded judge needs the package xllamacpp, which is not installed.",
            hint='Install it with: pip install "trajudge[local]". Or name another judge, e.g. --judge rules/process.',
        )


def _cores() -> int:

    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)
