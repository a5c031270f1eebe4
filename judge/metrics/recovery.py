"""What the agent did after a failed or an empty result: changed its attempt, or stalled.

Failure is read from structure alone (a status), never from the words of a result.
"""

from __future__ import annotations

from typing import Any

from judge.metrics.calls import Calls, keys, turns
from judge.metrics.metric import Measured, absent, metric
from judge.types.trajectory import ToolResult

FAILED = frozenset({"error", "denied", "cancelled", "timeout"})
_EMPTY_TEXT = frozenset({"", "[]", "{}", "null", '""'})


def is_empty(result: ToolResult) -> bool:
    """Whether a result was recorded and holds nothing: blank text, [], {}, null, or an object of such values.

    A result of which nothing was recorded (no content, no structure) is not known to be empty.
    """
    if result.structured is not None:
        return _hollow(result.structured)
    if not result.content:
        return False
    for part in result.content:
        if part.type == "text":
            if part.text.strip() not in _EMPTY_TEXT:
                return False
        elif part.type != "json" or not _hollow(part.value):
            return False
    return True


def _hollow(value: Any) -> bool:
    if value is None or value == [] or value == {}:
        return True
    if isinstance(value, str):
        return value.strip() in _EMPTY_TEXT
    if isinstance(value, dict):
        # {"results": [], "total": 0} found nothing; {"balance": 0} is an answer
        rest = [inner for inner in value.values() if isinstance(inner, bool) or inner != 0]
        return bool(rest) and all(_hollow(inner) for inner in rest)
    return False


@metric(unit="calls")
def num_failed_calls(calls: Calls) -> Measured:
    """Number of calls whose result the recording marks as error, denied, cancelled or timeout.

    Range: 0 to the number of calls.
    Not applicable: none is marked and some call has no result, or one whose format has no mark of failure.
    Steps: the failed calls.
    """
    failed = [call.index for call in calls.calls if _status(calls, call.index) in FAILED]
    silent = sum(_status(calls, call.index) in ("unknown", "missing") for call in calls.calls)
    if silent and not failed:
        return absent(f"{silent} of {len(calls.calls)} calls do not say whether they failed")
    return Measured(len(failed), tuple(failed), {"calls_of_unknown_status": silent} if silent else None)


def _status(calls: Calls, call_index: int) -> str:
    result = calls.results.get(call_index)
    return "missing" if result is None else result.status


@metric(unit="ratio")
def error_recovery(calls: Calls) -> Measured:
    """Share of calls with a failed or empty result after which the agent changed its attempt: recovered / (recovered
    + stalled). It stalled if the next turn with tool calls repeats the same call, or if none follows.

    Range: 0 (always stalled) to 1 (always tried something else).
    Not applicable: no result is marked as failed and none is empty.
    Steps: the calls with a failed or empty result; `detail` says which were recovered, which stalled and which were
    only empty.
    """
    tripped = [call.index for call in calls.calls if _tripped(calls, call.index)]
    if not tripped:
        silent = any(_status(calls, call.index) in ("unknown", "missing") for call in calls.calls)
        return absent("no result is marked as failed or is empty" + ("; some say nothing of it" if silent else ""))
    groups, names = calls.once(turns), calls.once(keys)
    recovered: list[int] = []
    stalled: list[int] = []
    following = 0
    for at, group in enumerate(groups):
        following = max(following, at + 1)
        for position in group:
            call = calls.calls[position]
            if not _tripped(calls, call.index):
                continue
            # a call made before the result came in answers nothing
            came = calls.results[call.index].index
            after = max(following, at + 1)
            while after < len(groups) and calls.calls[groups[after][0]].index < came:
                after += 1
            reply = groups[after] if after < len(groups) else []
            changed = bool(reply) and all(names[other] != names[position] for other in reply)
            (recovered if changed else stalled).append(call.index)
    detail = {"recovered": recovered, "stalled": stalled}
    empty = [at for at in tripped if _status(calls, at) not in FAILED]
    if empty:
        detail["empty"] = empty
    return Measured(len(recovered) / len(tripped), tuple(tripped), detail)


def _tripped(calls: Calls, call_index: int) -> bool:
    result = calls.results.get(call_index)
    return result is not None and (result.status in FAILED or is_empty(result))
