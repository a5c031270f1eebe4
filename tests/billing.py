"""Loopback servers that bill as OpenAI and Anthropic do: the prompt of a request with `n` once, a cached prefix apart.

A token is four characters here. What matters is what is counted when, not how a text is cut.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from loopback import Received, Scripted, claude, refused

PATIENCE_S = 120.0
"""Longer than calls that are made side by side are apart on a slow machine."""
LEAST_CACHED = 1024
"""Tokens of a prefix below which Anthropic keeps none of its models' prompts."""


def tokens(text: str) -> int:
    return -(-len(text) // 4)


def verdicts(*scores: int) -> Iterator[str]:
    """Replies with these scores, then with the last one for ever."""
    endless = itertools.chain(scores, itertools.repeat(scores[-1]))
    return (json.dumps({"reason": f"draw {n}", "score": score}) for n, score in enumerate(endless, start=1))


class ChatCompletions:
    """Chat completions with `n`; `choose` may change the choices of an answer.

    Attributes:
        prompt_tokens, output_tokens: Billed so far.
    """

    def __init__(
        self,
        *scores: int,
        takes_n: bool = True,
        refusal: str | None = None,
        choose: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] | None = None,
    ) -> None:
        """
        Args:
            takes_n: Whether `n` is obeyed; else it is ignored.
            refusal: Message of the 400 that a request with `n` gets.
        """
        self._texts = verdicts(*(scores or (4,)))
        self._takes_n = takes_n
        self._refusal = refusal
        self._choose = choose
        self._lock = threading.Lock()
        self.prompt_tokens = 0
        self.output_tokens = 0

    def __call__(self, received: Received) -> Scripted:
        body = received.body
        wanted = body.get("n", 1)
        if self._refusal is not None and "n" in body:
            return refused(self._refusal)
        with self._lock:
            texts = [next(self._texts) for _ in range(wanted if self._takes_n else 1)]
            sent = sum(tokens(message["content"]) for message in body["messages"])
            written = sum(map(tokens, texts))
            self.prompt_tokens += sent
            self.output_tokens += written
        choices: list[dict[str, Any]] = [
            {"index": n, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": None}
            for n, text in enumerate(texts)
        ]
        if self._choose is not None:
            choices = self._choose(choices)
        usage = {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}
        return Scripted(body={"id": "c", "object": "chat.completion", "model": "m", "choices": choices, "usage": usage})


class CachingMessages:
    """Messages with a prompt cache: what stands before a mark can be read once the answer that wrote it has begun.

    Attributes:
        plain, created, read: Input tokens billed so far, by price: as they are, written to the cache, read from it.
        requests: (begin, end, tokens read) of each request, in seconds and in the order of their arrival.
    """

    def __init__(self, *scores: int, seconds: float = 0.05, together: tuple[int, int] = (0, 1)) -> None:
        """
        Args:
            together: From which request on how many wait for one another: without them there is no answer.
        """
        self._from, beside = together
        self._meeting = threading.Barrier(beside, timeout=PATIENCE_S)
        self._texts = verdicts(*(scores or (4,)))
        self._seconds = seconds
        self._lock = threading.Lock()
        self._ready: dict[str, float] = {}
        self.plain = self.created = self.read = 0
        self.requests: list[tuple[float, float, int]] = []

    @property
    def anew(self) -> int:
        """Input tokens that were worked through, written to the cache or not."""
        return self.plain + self.created

    def __call__(self, received: Received) -> Scripted:
        with self._lock:
            now = time.monotonic()
            begun = now + self._seconds
            plain, created, read = self._billed(_prefixes(received.body), now, begun)
            self.plain, self.created, self.read = self.plain + plain, self.created + created, self.read + read
            place = len(self.requests)
            self.requests.append((now, begun, read))
            text = next(self._texts)
        if place >= self._from:
            self._meeting.wait()
        usage = {
            "input_tokens": plain, "output_tokens": tokens(text),
            "cache_creation_input_tokens": created, "cache_read_input_tokens": read,
        }  # fmt: skip
        return claude({"type": "text", "text": text}, usage=usage, delay=self._seconds)

    def _billed(self, prefixes: list[tuple[str, int, bool]], now: float, begun: float) -> tuple[int, int, int]:
        marked = [(text, size) for text, size, mark in prefixes if mark and size >= LEAST_CACHED]
        read = max((size for text, size in marked if self._ready.get(text, now + 1) <= now), default=0)
        kept = max((size for _, size in marked), default=0)
        for text, _ in marked:
            self._ready.setdefault(text, begun)
        return prefixes[-1][1] - kept, kept - read, read


def _prefixes(body: Mapping[str, Any]) -> list[tuple[str, int, bool]]:
    """Everything up to each block: its text, its tokens, and whether the block ends in a mark."""
    out = []
    text, size = json.dumps(body.get("tools") or []), 0
    for block in [*body["system"], *body["messages"][0]["content"]]:
        text += "\0" + block["text"]
        size += tokens(block["text"])
        out.append((text, size, "cache_control" in block))
    return out
