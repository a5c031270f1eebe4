"""A chat-completions server on the loopback address that answers every request after a fixed time.

    python bench/loopback_server.py --latency 0.2

It prints its port and runs until its standard input is closed. It is as thin as a server can be, so that
what is measured beside it on the same machine is the client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

QUOTE = "Please find out whether my order qualifies for a refund"
"""Stands word for word in step 1 of every benchmark trajectory, so that the reply's evidence holds."""

ANSWER = json.dumps({
    "reason": "Step 1 states the task and the run answers it with the calls that it needed.",
    "evidence": [{"step": 1, "quote": QUOTE}],
    "score": 4,
})  # fmt: skip
BODY = json.dumps({
    "id": "chatcmpl-bench",
    "object": "chat.completion",
    "created": 1,
    "model": "bench",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop", "logprobs": None}
    ],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 60, "total_tokens": 1060},
}).encode()  # fmt: skip
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(BODY), BODY)


class Connection(asyncio.Protocol):
    """One kept-alive HTTP/1.1 connection: waits for a whole request, then answers `latency` seconds later."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            size = 0
            for line in self._buffer[:end].lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    size = int(line.split(b":", 1)[1])
            if len(self._buffer) < end + 4 + size:
                return
            self._buffer = self._buffer[end + 4 + size :]
            asyncio.get_running_loop().call_later(self._latency, self._answer)

    def _answer(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(RESPONSE)


async def serve(latency: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(latency), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds before each answer")
    asyncio.run(serve(parser.parse_args().latency))


if __name__ == "__main__":
    main()
