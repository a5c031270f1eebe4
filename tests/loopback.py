"""A scripted HTTP server on the loopback address that speaks like OpenAI and Anthropic, for tests.

It answers from a script in order, repeats the last entry, and records every request. It runs in
threads of its own, so that a test may call it from any loop.

    with LoopbackServer([Scripted(429, headers={"retry-after": "1"}), chat('{"score": 3}')]) as server:
        ...                       # base_url=server.url + "/v1"
        assert len(server.requests) == 2
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    """One request as it came: path with query, headers in lower case, decoded body, arrival in seconds."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    at: float


@dataclass(frozen=True)
class Scripted:
    """One answer. `body` is sent as JSON unless it is text; `reset` drops the connection instead.

    `drip` is the seconds between one byte of the body and the next.
    """

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    reset: bool = False
    drip: float = 0.0


Answer = Scripted | Callable[[Received], Scripted]


def chat(
    content: str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    tokens: tuple[int, int] = (100, 20),
    cached: int = 0,
    model: str = "served-model",
    delay: float = 0.0,
) -> Scripted:
    """A chat completion with one choice."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }
    return Scripted(body=body, delay=delay)


def claude(
    *blocks: Mapping[str, Any], stop: str = "end_turn", usage: Mapping[str, int] | None = None, delay: float = 0.0
) -> Scripted:
    """An Anthropic message made of the given content blocks."""
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-claude",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20, **(usage or {})},
    }
    return Scripted(body=body, delay=delay)


def refused(message: str, *, status: int = 400, param: str | None = None, code: str | None = None) -> Scripted:
    """An error in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Scripted(status, {"error": error})


class LoopbackServer:
    """Serves a script on 127.0.0.1. `answers` is a list in order, or one function of the request."""

    def __init__(self, answers: Sequence[Answer] | Callable[[Received], Scripted]) -> None:
        self._answers = answers
        self._lock = threading.Lock()
        self.requests: list[Received] = []
        self.under_way = 0
        self.most_under_way = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                outer._serve(self)

            do_GET = do_POST

            def log_message(self, format: str, *args: Any) -> None:
                return

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, request: Any, client_address: Any) -> None:
                return  # a client that went away is no failure of the server

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Root URL without a path."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> LoopbackServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _next(self, received: Received) -> Scripted:
        with self._lock:
            position = len(self.requests)
            self.requests.append(received)
        if callable(self._answers):
            return self._answers(received)
        answer = self._answers[min(position, len(self._answers) - 1)]
        return answer(received) if callable(answer) else answer

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            scripted = self._next(Received(handler.command, handler.path, headers, body, time.monotonic()))
            if scripted.delay:
                time.sleep(scripted.delay)
        finally:
            with self._lock:
                self.under_way -= 1
        if scripted.reset:
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        is_text = isinstance(scripted.body, str)
        content = scripted.body.encode() if is_text else json.dumps(scripted.body).encode()
        handler.send_response(scripted.status)
        given = {name.lower() for name in scripted.headers}
        if "content-type" not in given:
            handler.send_header("content-type", "text/html" if is_text else "application/json")
        for name, value in scripted.headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        if scripted.drip:
            for position in range(len(content)):
                handler.wfile.write(content[position : position + 1])
                time.sleep(scripted.drip)
        else:
            handler.wfile.write(content)
