"""`fake/always-N`, `fake/FILE`: a judge that says what its script says. Public, for your own tests.

`fake/always-4`, `fake/always-pass`, `fake/always-unknown` give one answer to every criterion, citing the first step.

A script is YAML or JSON::

    cache: true                  # replies may be cached, as a model's are; false when left out
    repeat: true                 # begin `replies` again at its end; otherwise the end is an error
    replies:                     # in the order of the calls
      - 4                        # a score; "pass", "fail", "unknown" and "not_applicable" too
      - {score: 2, reason: "Searched twice.", evidence: [2, {step: 4, quote: "no result"}]}
      - {scores: {process: 3, tone: pass}}            # for a rubric of several criteria
      - {text: "I would say four.", delay: 0.2}       # raw text, after 0.2 s
      - {finish: length, text: '{"reason": "The'}     # length, content_filter, refusal; no text: empty
      - {error: 429, retry_after: 2, message: "slow down"}   # any HTTP status, "timeout", "connection", "quota"
    trajectories:                # by trajectory id, in place of `replies`; a list is by sample index,
      run-1: [5, [{error: 503}, 3], 4]                # a list inside it by try
      run-2: 1
    default: 3                   # for trajectories that are not named

`usage: {input_tokens: 10, output_tokens: 2}` and `model` may stand in every reply. Two runs are compared by the words
"X", "Y" and "tie" in place of a score, or by `strengths` (`judge.providers.fake_pairs`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from judge.config import Settings
from judge.errors import ConfigError, RequestRefused
from judge.providers.answers import FAIL, NOT_APPLICABLE, PASS, UNKNOWN, Answer, write
from judge.providers.failures import failure
from judge.providers.fake_pairs import PAIR_KEYS, PAIR_WORDS, is_pair, pair_text, stronger
from judge.providers.tokens import estimate_tokens
from judge.types.request import Reply, ReplyStatus, Request
from judge.types.trajectory import Usage

WORDS = (PASS, FAIL, UNKNOWN, NOT_APPLICABLE, *PAIR_WORDS)
_FINISHED: dict[str, ReplyStatus] = {
    "stop": "ok",
    "length": "truncated",
    "content_filter": "content_filter",
    "refusal": "refusal",
}
_SCRIPT_KEYS = {"cache", "repeat", "replies", "trajectories", "default", *PAIR_KEYS}
_REPLY_KEYS = {
    *("score", "scores", "winner", "reason", "evidence", "text", "finish", "delay"),
    *("error", "retry_after", "message", "usage", "model"),
}


def open_provider(model: str, settings: Settings) -> Fake:
    """The provider behind `fake/always-N` and `fake/FILE`.

    Raises:
        ConfigError: The script is missing, does not parse or has an unknown key; the message names it.
    """
    if model.startswith("always-"):
        word = model.removeprefix("always-")
        return Fake(model, {"default": word if word in WORDS else _number(word)}, settings)
    path = Path(model).expanduser()
    if not path.is_file():
        raise ConfigError(
            f"There is no script at {model!r}.",
            hint="Name a YAML or JSON file, or use fake/always-4, fake/always-pass, fake/always-fail.",
        )
    try:
        script = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"The script {model!r} does not parse: {error}.") from None
    if isinstance(script, list):
        script = {"replies": script}
    return Fake(model, _checked(script, model), settings)


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ConfigError(
            f"fake/always-{word}: {word!r} is no score.", hint=f"Use a number or one of {', '.join(WORDS)}."
        ) from None


def _checked(script: Any, name: str) -> dict[str, Any]:
    if not isinstance(script, dict) or not script:
        raise ConfigError(f"The script {name!r} is no mapping with one of: {', '.join(sorted(_SCRIPT_KEYS))}.")
    strange = sorted(str(key) for key in set(script) - _SCRIPT_KEYS)
    if strange:
        raise ConfigError(f"The script {name!r} has unknown keys: {', '.join(strange)}.")
    if not isinstance(script.get("replies", []), list) or not isinstance(script.get("trajectories", {}), dict):
        raise ConfigError(f"In the script {name!r}, replies is a list and trajectories a mapping.")
    by_id = script.get("trajectories", {}).values()
    for entry in _leaves([script.get("replies", []), list(by_id), script.get("default", 0)]):
        if isinstance(entry, bool) or entry is None:
            raise ConfigError(f"The script {name!r} has the reply {entry!r}: quote words such as 'no'.")
        if isinstance(entry, str) and entry not in WORDS:
            raise ConfigError(f"The script {name!r} has the reply {entry!r}, which is none of {', '.join(WORDS)}.")
        if isinstance(entry, dict) and set(entry) - _REPLY_KEYS:
            odd = ", ".join(sorted(map(str, set(entry) - _REPLY_KEYS)))
            raise ConfigError(f"A reply in the script {name!r} has unknown keys: {odd}.")
    return script


def _leaves(value: Any) -> list[Any]:
    return [leaf for each in value for leaf in _leaves(each)] if isinstance(value, list) else [value]


class Fake:
    """Answers by script.

    Attributes:
        calls: Number of calls so far, failed ones included.
    """

    offline = True
    host: str | None = None
    context_tokens: int | None = None

    def __init__(self, model: str, script: dict[str, Any], settings: Settings) -> None:
        self.name = f"fake/{model}"
        self.cacheable = bool(script.get("cache", False))
        self.calls = 0
        self._script = script
        self._secrets = settings.secrets()
        self._identity = hashlib.sha256(json.dumps(script, sort_keys=True, default=str).encode()).hexdigest()
        self._tries: Counter[tuple[str, int]] = Counter()

    def count_tokens(self, text: str) -> int:
        """An estimate."""
        return estimate_tokens(text)

    def payload(self, request: Request) -> dict[str, Any]:
        """The script and the prompt."""
        return {
            "fake": self._identity,
            "system": request.system,
            "segments": request.segments,
            "schema": request.reply_schema,
            "sampling": request.sampling.to_json(),
        }

    async def complete(self, request: Request) -> Reply:
        """The scripted reply, or the scripted error."""
        number = self.calls
        self.calls += 1
        entry = self._entry(request, number)
        given: dict[str, Any] = entry if isinstance(entry, dict) else {"score": entry}
        if given.get("delay"):
            await asyncio.sleep(float(given["delay"]))
        if "error" in given:
            raise failure(_scripted(given), provider=self.name, secrets=self._secrets, now=time.time())
        text = pair_text(request, given) if is_pair(request) else self._text(request, given)
        finish = str(given.get("finish", "stop"))
        status = _FINISHED.get(finish, "ok")
        if status == "ok" and not (text or "").strip():
            status = "empty"
        usage = given.get("usage")
        return Reply(
            text=text,
            status=status,
            finish_reason=finish,
            refusal=text if status == "refusal" else None,
            model=str(given.get("model", self.name)),
            usage=Usage.model_validate(usage) if usage else self._usage(request, text),
            limit=request.sampling.max_output_tokens,
        )

    def _entry(self, request: Request, number: int) -> Any:
        if is_pair(request) and "strengths" in self._script:
            return stronger(self._script, request, self.name)
        subject = request.subject.trajectory_id
        named = self._script.get("trajectories", {})
        if subject in named:
            return self._by_sample(named[subject], subject, request.sample)
        replies = self._script.get("replies")
        if replies:
            if number < len(replies) or self._script.get("repeat"):
                return replies[number % len(replies)]
            raise RequestRefused(
                f"{self.name}: the script has {len(replies)} replies and this is call {number + 1}.",
                provider=self.name,
                reason="script_ended",
            )
        if "default" in self._script:
            return self._by_sample(self._script["default"], subject, request.sample)
        raise RequestRefused(
            f"{self.name}: the script names no reply for trajectory {subject!r}.",
            provider=self.name,
            reason="not_in_script",
        )

    def _by_sample(self, entry: Any, subject: str, sample: int) -> Any:
        if not isinstance(entry, list):
            return entry
        if sample >= len(entry):
            raise RequestRefused(
                f"{self.name}: the script has {len(entry)} samples for {subject!r}, and sample {sample} was asked for.",
                provider=self.name,
                reason="script_ended",
            )
        found = entry[sample]
        if not isinstance(found, list):
            return found
        tries = self._tries[(subject, sample)]
        self._tries[(subject, sample)] += 1
        return found[min(tries, len(found) - 1)]

    def _text(self, request: Request, given: dict[str, Any]) -> str | None:
        if "text" in given:
            return str(given["text"])
        scores = given.get("scores") or (
            dict.fromkeys(request.subject.criteria, given["score"]) if "score" in given else {}
        )
        if not scores:
            return None
        cited = given.get("evidence")
        if cited is None:
            cited = list(request.subject.steps[:1])
        pairs = tuple((e["step"], str(e.get("quote", ""))) if isinstance(e, dict) else (int(e), "") for e in cited)
        reason = str(given.get("reason", "Scripted."))
        return write(request, {n: Answer(score=s, reason=reason, evidence=pairs) for n, s in scores.items()})

    def _usage(self, request: Request, text: str | None) -> Usage:
        prompt = estimate_tokens(request.system) + sum(map(estimate_tokens, request.segments))
        return Usage(input_tokens=prompt, output_tokens=estimate_tokens(text or ""))

    async def aclose(self) -> None:
        """Nothing to close."""


def _scripted(given: dict[str, Any]) -> Exception:
    """A failure in the form in which an SDK raises one."""
    message = str(given.get("message", f"scripted {given['error']}"))
    if given["error"] == "timeout":
        return TimeoutError(message)
    if given["error"] == "connection":
        return ConnectionError(message)
    return _Scripted(given, message)


class _Scripted(Exception):
    """An HTTP status with its headers and body."""

    def __init__(self, given: dict[str, Any], message: str) -> None:
        super().__init__(message)
        kind = given["error"]
        self.status_code = int(kind) if str(kind).isdecimal() else 429 if kind == "quota" else 400
        self.headers = {"retry-after": str(given["retry_after"])} if "retry_after" in given else {}
        self.response = self
        self.body = {"error": {"message": message, "code": "insufficient_quota" if kind == "quota" else None}}
