"""Loopback servers that speak the batch APIs of OpenAI (files and batches) and Anthropic (message batches).

They check what they are sent as the real ones do (custom ids, files, headers, limits), work through the states of a
batch one look at a time, and give outcomes in another order than that of the requests. What is to go wrong is told to
them in advance; what was executed, and so paid, is counted for each item.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from batch_items import GOOD, ITEM
from loopback import LoopbackServer, Received, Scripted, chat, claude

RESET = Scripted(reset=True)
Answer = Callable[[str, int], Any]
"""(item, how often it was answered before) → a `Scripted` reply or error, "expired", "canceled", or "missing"."""


@dataclass
class Made:
    """A batch at the server."""

    id: str
    entries: list[dict[str, Any]]
    created: float
    looks: int
    metadata: dict[str, str] | None = None
    file: str = ""
    canceled: bool = False
    outcomes: list[dict[str, Any]] | None = None
    failed: dict[str, str] | None = None
    errors: list[dict[str, Any]] = field(default_factory=list)


class BatchServer:
    """What both servers share.

    Attributes:
        paid: Executed requests by item.
        made: Batches in the order of making.
        looks: How often a batch is looked at before it ends.
        before_create: Called with every batch once it is made and before the answer leaves; what it returns, if
            anything, is sent in place of the answer.
        down: How many of the next batches are lost on their way in; `busy`: how many are refused with 429 first.
        twice, strange: Whether to give one outcome twice, and one under an unknown custom id.
    """

    page = 2
    """Batches on one page of a list."""

    def __init__(self, answer: Answer | None = None, *, looks: int = 1, most: int = 1000) -> None:
        self.answer: Answer = answer or (lambda item, before: self.good())
        self.looks = looks
        self.most = most
        self.paid: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.made: list[Made] = []
        self.calls: Counter[str] = Counter()
        self.before_create: Callable[[Made], Scripted | None] = lambda made: None
        self.down = self.busy = 0
        self.twice = self.strange = False
        self._lock = threading.Lock()
        self.server = LoopbackServer(self._locked)

    def good(self) -> Scripted:
        raise NotImplementedError

    def serve(self, received: Received) -> Scripted:
        raise NotImplementedError

    def _locked(self, received: Received) -> Scripted:
        with self._lock:
            return self.serve(received)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def sizes(self) -> list[int]:
        return [len(made.entries) for made in self.made]

    def __enter__(self) -> Any:
        self.server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.__exit__(*error)

    def lost(self) -> Scripted | None:
        """What comes in place of the batch that was to be made, where something is due."""
        self.busy -= 1
        if self.busy >= 0:
            return Scripted(429, {"error": {"message": "busy", "type": "rate_limit_error"}}, {"retry-after-ms": "5"})
        self.down -= 1
        return RESET if self.down >= 0 else None

    def make(self, entries: list[dict[str, Any]], **more: Any) -> Made:
        number = len(self.made) + 1
        made = Made(f"batch_{number:03d}", entries, time.time(), self.looks, **more)
        self.made.append(made)
        return made

    def find(self, id: str) -> Made | None:
        return next((made for made in self.made if made.id == id), None)

    def listed(self, query: dict[str, list[str]], cursor: str) -> tuple[list[Made], bool]:
        newest = self.made[::-1]
        for made in newest:
            self.work(made)
        after = query.get(cursor, [None])[0]
        if after is not None:
            newest = newest[[made.id for made in newest].index(after) + 1 :]
        return newest[: self.page], len(newest) > self.page

    def work(self, made: Made) -> None:
        """One look: the batch ends when its looks are used up, or when it was canceled."""
        made.looks -= 1
        if made.outcomes is None and not made.failed and (made.looks <= 0 or made.canceled):
            made.outcomes = list(self._outcomes(made))[::-1]

    def _outcomes(self, made: Made) -> Iterator[dict[str, Any]]:
        for entry in made.entries:
            found = ITEM.search(json.dumps(entry))
            item = found[0] if found else "none"
            got = "canceled" if made.canceled else self.answer(item, self.answered[item])
            self.answered[item] += 1
            if got == "missing":
                continue
            if isinstance(got, Scripted) and got.status == 200:
                self.paid[item] += 1
            yield self.outcome(entry["custom_id"], got)
        first = made.entries[0]["custom_id"]
        if self.twice:
            yield self.outcome(first, self.good())
        if self.strange:
            yield self.outcome(f"{first}-x", self.good())

    def outcome(self, custom_id: str, got: Any) -> dict[str, Any]:
        raise NotImplementedError


def _refused(status: int, message: str) -> Scripted:
    return Scripted(status, {"error": {"message": message, "type": "invalid_request_error"}})


def _lines(rows: list[dict[str, Any]]) -> Scripted:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return Scripted(200, text, {"content-type": "application/jsonl"})


class OpenAIBatchServer(BatchServer):
    """POST /v1/files, GET /v1/files/ID/content, POST and GET /v1/batches, GET /v1/batches/ID, POST …/cancel."""

    def __init__(self, answer: Answer | None = None, *, looks: int = 1, most: int = 1000) -> None:
        super().__init__(answer, looks=looks, most=most)
        self.files: dict[str, list[dict[str, Any]]] = {}
        self.direct: Counter[str] = Counter()

    def good(self) -> Scripted:
        return chat(GOOD)

    def serve(self, received: Received) -> Scripted:
        parts = urlsplit(received.path)
        path, query = parts.path, parse_qs(parts.query)
        self.calls[f"{received.method} {re.sub('(batch|file)[-_][^/]+', 'ID', path)}"] += 1
        if not received.headers.get("authorization", "").startswith("Bearer "):
            return _refused(401, "no key")
        if path == "/v1/chat/completions":
            found = ITEM.search(json.dumps(received.body))
            item = found[0] if found else "none"
            self.direct[item] += 1
            return Scripted(**vars(self.answer(item, self.direct[item] - 1)))
        if (received.method, path) == ("POST", "/v1/files"):
            return self._upload(received)
        if (received.method, path) == ("POST", "/v1/batches"):
            return self.lost() or self._create(received.body)
        if (received.method, path) == ("GET", "/v1/batches"):
            made, more = self.listed(query, "after")
            return Scripted(body={"object": "list", "data": [self._shown(each) for each in made], "has_more": more})
        if found := re.fullmatch(r"/v1/files/([^/]+)/content", path):
            return _lines(self.files[found[1]]) if found[1] in self.files else _refused(404, "no such file")
        if found := re.fullmatch(r"/v1/batches/([^/]+?)(/cancel)?", path):
            batch = self.find(found[1])
            if batch is None:
                return _refused(404, "no such batch")
            if found[2]:
                batch.canceled = True
            else:
                self.work(batch)
            return Scripted(body=self._shown(batch))
        return _refused(404, f"no route {path}")

    def _upload(self, received: Received) -> Scripted:
        raw = received.body
        boundary = re.search(r"boundary=([^;]+)", received.headers["content-type"])
        assert boundary is not None
        fields = {}
        for part in raw.split(b"--" + boundary[1].strip('"').encode())[1:-1]:
            head, _, content = part.strip(b"\r\n").partition(b"\r\n\r\n")
            name = re.search(rb'name="([^"]+)"', head)
            assert name is not None
            fields[name[1].decode()] = content
        if fields.get("purpose") != b"batch":
            return _refused(400, "purpose must be batch")
        id = f"file-{len(self.files) + 1}"
        self.files[id] = [json.loads(line) for line in fields["file"].split(b"\n") if line.strip()]
        return Scripted(
            body={
                "id": id,
                "object": "file",
                "bytes": len(fields["file"]),
                "created_at": int(time.time()),
                "filename": "x.jsonl",
                "purpose": "batch",
                "status": "processed",
            }
        )

    def _create(self, body: dict[str, Any]) -> Scripted:
        entries = self.files.get(body["input_file_id"])
        if entries is None or body["endpoint"] != "/v1/chat/completions" or body["completion_window"] != "24h":
            return _refused(400, "not a batch")
        made = self.make(entries, metadata=body.get("metadata"), file=body["input_file_id"])
        ids = [entry["custom_id"] for entry in entries]
        wrong = [entry for entry in entries if (entry["method"], entry["url"]) != ("POST", body["endpoint"])]
        if len(ids) != len(set(ids)) or wrong or not all("messages" in entry["body"] for entry in entries):
            made.failed = {"code": "invalid_file", "message": "lines are not unique or not requests"}
        elif len(entries) > self.most:
            made.failed = {"code": "token_limit_exceeded", "message": "too many enqueued tokens"}
        return self.before_create(made) or Scripted(body=self._shown(made))

    def _shown(self, made: Made) -> dict[str, Any]:
        status = "failed" if made.failed else "in_progress" if made.outcomes is None else "completed"
        rows = made.outcomes or []
        if made.canceled:
            status = "cancelling" if made.outcomes is None else "cancelled"
        elif any((row["error"] or {}).get("code") == "batch_expired" for row in rows):
            status = "expired"
        good = [row for row in rows if (row["response"] or {}).get("status_code") == 200]
        bad = [row for row in rows if row not in good]
        shown: dict[str, Any] = {
            "id": made.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "input_file_id": made.file,
            "created_at": int(made.created),
            "status": status,
            "metadata": made.metadata,
            "request_counts": {"total": len(made.entries), "completed": len(good), "failed": len(bad)},
            "errors": {"object": "list", "data": [{**made.failed, "line": None, "param": None}]}
            if made.failed
            else None,
        }
        for name, part in (("output_file_id", good), ("error_file_id", bad)):
            if part:
                shown[name] = f"file-{made.id}-{name}"
                self.files[shown[name]] = part
        return shown

    def outcome(self, custom_id: str, got: Any) -> dict[str, Any]:
        if isinstance(got, str):
            code = {"expired": "batch_expired", "canceled": "batch_cancelled"}[got]
            error = {"code": code, "message": f"This request was not executed: {got}."}
            return {"id": "batch_req_1", "custom_id": custom_id, "response": None, "error": error}
        response = {"status_code": got.status, "request_id": "req_1", "body": got.body}
        return {"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": None}


class MessageBatchServer(BatchServer):
    """POST and GET /v1/messages/batches, GET …/ID, GET …/ID/results, POST …/ID/cancel."""

    def good(self) -> Scripted:
        return claude({"type": "text", "text": GOOD})

    def serve(self, received: Received) -> Scripted:
        parts = urlsplit(received.path)
        path, query = parts.path, parse_qs(parts.query)
        self.calls[f"{received.method} {re.sub('batch_[^/]+', 'ID', path)}"] += 1
        if "anthropic-version" not in received.headers or not {"x-api-key", "authorization"} & received.headers.keys():
            return _refused(401, "no version or no key")
        if (received.method, path) == ("POST", "/v1/messages/batches"):
            return self.lost() or self._create(received.body["requests"])
        if (received.method, path) == ("GET", "/v1/messages/batches"):
            made, more = self.listed(query, "after_id")
            shown = [self._shown(each) for each in made]
            ends = {"first_id": made[0].id, "last_id": made[-1].id} if made else {"first_id": None, "last_id": None}
            return Scripted(body={"data": shown, "has_more": more, **ends})
        if found := re.fullmatch(r"/v1/messages/batches/([^/]+?)(/results|/cancel)?", path):
            batch = self.find(found[1])
            if batch is None:
                return _refused(404, "no such batch")
            if found[2] == "/results":
                return _lines(batch.outcomes or [])
            if found[2] == "/cancel":
                batch.canceled = True
            elif not self.from_results(received):
                self.work(batch)
            return Scripted(body=self._shown(batch))
        return _refused(404, f"no route {path}")

    def from_results(self, received: Received) -> bool:
        """Whether the SDK looks a batch up on its way to the results: one that has ended is left as it is."""
        batch = self.find(received.path.rsplit("/", 1)[-1])
        return batch is not None and batch.outcomes is not None

    def _create(self, requests: list[dict[str, Any]]) -> Scripted:
        ids = [request["custom_id"] for request in requests]
        if len(ids) != len(set(ids)) or not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id) for id in ids):
            return _refused(400, "custom ids must be unique and of 1 to 64 characters")
        if not all({"model", "max_tokens", "messages"} <= request["params"].keys() for request in requests):
            return _refused(400, "params are no message")
        if len(requests) > self.most:
            return _refused(413, "too many requests in the batch")
        made = self.make(requests)
        return self.before_create(made) or Scripted(body=self._shown(made))

    def _shown(self, made: Made) -> dict[str, Any]:
        created = datetime.fromtimestamp(made.created, UTC)
        counts = Counter(row["result"]["type"] for row in made.outcomes or [])
        names = ("succeeded", "errored", "canceled", "expired")
        ended = made.outcomes is not None
        return {
            "id": made.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "canceling" if made.canceled else "in_progress",
            "request_counts": {
                "processing": 0 if ended else len(made.entries),
                **{name: counts[name] for name in names},
            },
            "created_at": created.isoformat(),
            "expires_at": (created + timedelta(days=1)).isoformat(),
            "ended_at": created.isoformat() if ended else None,
            "archived_at": None,
            "cancel_initiated_at": created.isoformat() if made.canceled else None,
            "results_url": f"{self.url}/v1/messages/batches/{made.id}/results" if ended else None,
        }

    def outcome(self, custom_id: str, got: Any) -> dict[str, Any]:
        if isinstance(got, str):
            return {"custom_id": custom_id, "result": {"type": got}}
        if got.status == 200:
            return {"custom_id": custom_id, "result": {"type": "succeeded", "message": got.body}}
        error = {"type": "error", "error": got.body["error"]}
        return {"custom_id": custom_id, "result": {"type": "errored", "error": error}}
