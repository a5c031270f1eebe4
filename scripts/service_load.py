"""Load on the service, beside a bare FastAPI echo in the same run.

    python scripts/service_load.py [CLIENTS] [REQUESTS]     # 200 clients and 4000 requests by default

Two servers run in processes of their own on loopback: the service with the deterministic judge `fake/always-4`, and
an application that only gives back its body. Then 64 judge calls that take two seconds run while /healthz is asked.
Times are seen by the client, which shares the processors with the servers.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ECHO = """
import sys, uvicorn
from fastapi import FastAPI, Request, Response
app = FastAPI()
@app.post("/v1/score")
async def echo(request: Request):
    return Response(await request.body(), media_type="application/json")
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""
SERVICE = """
import sys, uvicorn
from pathlib import Path
from judge.config import load_settings
from judge.server.app import create_app
from judge.server.service import Deployment, open_service
home = Path(sys.argv[2])
given = {"judge": sys.argv[3], "cache_dir": home / "cache", "certificates": home / "c", "samples": 1}
given["concurrency"] = 128
settings = load_settings(given, environment={}, folder=home)
app = create_app(open_service(Deployment(settings=settings, data=home / "data")))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""
CHAT = [
    {"role": "user", "content": "Refund order 7."},
    {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "refund", "arguments": '{"order": 7}'}}]},
    {"role": "tool", "tool_call_id": "c", "content": "ok"},
    {"role": "assistant", "content": "Order 7 is refunded."},
]
NATIVE = {
    "schema": "judge.trajectory/1",
    "id": "run-1",
    "task": "Refund order 7.",
    "source": {"format": "native"},
    "steps": [
        {"index": 1, "kind": "message", "role": "user", "content": [{"type": "text", "text": "Refund order 7."}]},
        {"index": 2, "kind": "tool_call", "call_id": "c1", "name": "refund", "arguments": {"order": 7}},
        {"index": 3, "kind": "tool_result", "call_id": "c1", "call_index": 2, "pairing": "id", "status": "ok"},
        {"index": 4, "kind": "final", "text": "Order 7 is refunded."},
    ],
}


class Client:
    """One connection that is kept open; HTTP/1.1 by hand, so that the client costs little."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, float]:
        """Status and seconds of one request."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        begun = time.perf_counter()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(answer.partition("content-length: ")[2].split("\r\n")[0])
        await reader.readexactly(length)
        return int(answer.split(" ", 2)[1]), time.perf_counter() - begun

    def close(self) -> None:
        """Ends the connection."""
        if self._streams is not None:
            self._streams[1].close()


def quantile(seconds: list[float], share: float) -> float:
    """The value below which `share` of the times lie, in milliseconds."""
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


async def load(port: int, trajectory: Any, clients: int, requests: int) -> str:
    """One line about `requests` requests by `clients` clients at once."""
    body = json.dumps({"trajectory": trajectory}).encode()
    left = iter(range(requests))
    seconds: list[float] = []
    wrong = 0

    async def work() -> None:
        nonlocal wrong
        client = Client(port)
        for _ in left:
            status, took = await client.ask("POST", "/v1/score", body)
            seconds.append(took)
            wrong += status != 200
        client.close()

    begun = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    rate = requests / (time.perf_counter() - begun)
    times = f"p50 {quantile(seconds, 0.5):7.1f} ms   p99 {quantile(seconds, 0.99):7.1f} ms"
    return f"{rate:8.0f} requests/s   {times}   not 200: {wrong}"


async def health(port: int, slow: int) -> str:
    """One line about /healthz while `slow` judge calls run."""
    bodies = [json.dumps({"trajectory": [*CHAT, {"role": "user", "content": f"{k}"}]}).encode() for k in range(slow)]
    clients = [Client(port) for _ in bodies]
    calls = [asyncio.create_task(c.ask("POST", "/v1/score", b)) for c, b in zip(clients, bodies, strict=True)]
    probe = Client(port)
    await asyncio.sleep(0.3)
    seconds: list[float] = []
    while not all(call.done() for call in calls):
        seconds.append((await probe.ask("GET", "/healthz"))[1])
        await asyncio.sleep(0.005)
    statuses = {(await call)[0] for call in calls}
    for client in (*clients, probe):
        client.close()
    times = f"p50 {quantile(seconds, 0.5):.1f} ms   p99 {quantile(seconds, 0.99):.1f} ms of {len(seconds)} asks"
    return f"{times}; the calls gave {statuses}"


def started(program: str, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """A server in its own process, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    process = subprocess.Popen([sys.executable, "-c", program, str(port), *arguments])
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process, port
        time.sleep(0.05)
    process.kill()
    raise SystemExit("a server did not start")


def main(clients: int, requests: int) -> None:
    """Runs and prints everything."""
    with tempfile.TemporaryDirectory() as folder:
        slow = Path(folder) / "slow.json"
        slow.write_text(json.dumps({"default": {"score": 4, "delay": 2.0}}), encoding="utf-8")
        running = []
        try:
            for server, program, arguments in (
                ("echo", ECHO, ()),
                ("service", SERVICE, (f"{folder}/a", "fake/always-4")),
            ):
                process, port = started(program, *arguments)
                running.append(process)
                for kind, trajectory in (("native", NATIVE), ("chat to be recognised", CHAT)):
                    asyncio.run(load(port, trajectory, 10, 50))  # warm
                    line = asyncio.run(load(port, trajectory, clients, requests))
                    print(f"{server + ', ' + kind:30} {clients} clients: {line}", flush=True)
            process, port = started(SERVICE, f"{folder}/slow", f"fake/{slow}")
            running.append(process)
            print(f"/healthz while 64 judge calls of 2 s run: {asyncio.run(health(port, 64))}")
        finally:
            for process in running:
                process.terminate()
                process.wait()


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    main(given[0] if given else 200, given[1] if len(given) > 1 else 4000)
