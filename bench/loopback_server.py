"""A chat-completions server on the loopback address that answers every request after a fixed time.

    python bench/loopback_server.py --latency 0.2 [--peers]

It prints its port and runs until its standard input is closed. It is as thin as a server can be, so that
what is measured beside it on the same machine is the client. With --peers it also answers in the forms that other
libraries ask for: a tool call, another set of keys, a grade in plain text.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

QUOTE = "Please find out whether my order qualifies for a refund"
"""Stands word for word in step 1 of every benchmark trajectory, so that the reply's evidence holds."""

REASON = "Step 1 states the task and the run answers it with the calls that it needed."
ANSWER = json.dumps({
    "reason": REASON,
    "evidence": [{"step": 1, "quote": QUOTE}],
    "score": 4,
})  # fmt: skip


def response(message: dict[str, Any], *, finish: str = "stop", logprobs: dict[str, Any] | None = None) -> bytes:
    """A whole HTTP response with one choice."""
    body = json.dumps({
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 1,
        "model": "bench",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, **message},
                "finish_reason": finish,
                "logprobs": logprobs,
            }
        ],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 60, "total_tokens": 1060},
    }).encode()  # fmt: skip
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def tool_call(name: str, **arguments: Any) -> bytes:
    """A response that calls one tool."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return response({"tool_calls": [call]}, finish="tool_calls")


RESPONSE = response({"content": ANSWER})
LIKELY = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in (("8", -0.1), ("7", -2.4))]
PEERS = {
    b"select_choice": tool_call("select_choice", reasons=REASON, choice="good"),
    b"final_result": tool_call("final_result", reason=REASON, score=0.8, **{"pass": True}),
    b"GRADE:": response({"content": f"{REASON}\n\nGRADE: C"}),
    b'"top_logprobs"': response(
        {"content": json.dumps({"reason": REASON, "score": 8})},
        logprobs={"content": [{**LIKELY[0], "top_logprobs": LIKELY}], "refusal": None},
    ),
    b'"reasoning"': response({"content": json.dumps({"reasoning": REASON, "score": 0.8})}),
}
"""What marks a request of a library, and its answer; the first that is found counts."""


class Connection(asyncio.Protocol):
    """One kept-alive HTTP/1.1 connection: waits for a whole request, then answers `latency` seconds later."""

    def __init__(self, latency: float, answers: dict[bytes, bytes]) -> None:
        self._latency = latency
        self._answers = answers
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
            body = self._buffer[end + 4 : end + 4 + size]
            self._buffer = self._buffer[end + 4 + size :]
            answer = next((answer for mark, answer in self._answers.items() if mark in body), RESPONSE)
            asyncio.get_running_loop().call_later(self._latency, self._answer, answer)

    def _answer(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


async def serve(latency: float, answers: dict[bytes, bytes]) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(latency, answers), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds before each answer")
    parser.add_argument("--peers", action="store_true", help="answer in the forms that other libraries ask for")
    given = parser.parse_args()
    asyncio.run(serve(given.latency, PEERS if given.peers else {}))


if __name__ == "__main__":
    main()
