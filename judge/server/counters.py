"""What the service counts, in the text format of Prometheus. No name of a caller or trajectory is in it."""

from __future__ import annotations

import threading
from collections import defaultdict

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the latency buckets, in seconds."""

HELP = {
    "judge_requests_total": ("counter", "HTTP requests by route and status."),
    "judge_verdicts_total": ("counter", "Verdicts of score requests by status; of batches, see their results."),
    "judge_calls_total": ("counter", "Judge calls made for score requests and batches."),
    "judge_cost_usd_total": ("counter", "Known cost of these calls in US dollars."),
    "judge_calls_unpriced_total": (
        "counter",
        "Judge calls of verdicts whose cost is not known.",
    ),
    "judge_labels_total": ("counter", "Labels saved."),
    "judge_access_failures_total": ("counter", "Requests with a wrong key or without one."),
    "judge_requests_in_flight": ("gauge", "HTTP requests under way."),
}


class Counters:
    """Sums since the process began. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, dict[tuple[tuple[str, str], ...], float]] = {name: {} for name in HELP}
        self._seconds: dict[str, list[float]] = defaultdict(lambda: [0.0] * (len(BUCKETS) + 2))

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Adds to one sum of `HELP`."""
        key = tuple(sorted(labels.items()))
        with self._lock:
            values = self._values[name]
            values[key] = values.get(key, 0.0) + amount

    def spend(self, calls: int, cost_usd: float | None) -> None:
        """Adds judge calls and what they cost; None is counted as calls without a price, and never as 0 dollars."""
        unpriced = calls if cost_usd is None else 0
        self.spend_more(calls, unpriced, 0.0 if cost_usd is None else cost_usd)

    def spend_more(self, calls: int, unpriced: int, known_usd: float) -> None:
        """Adds the judge calls of several verdicts: how many have a price that is not known, what the others cost."""
        self.add("judge_calls_total", calls)
        self.add("judge_calls_unpriced_total", unpriced)
        self.add("judge_cost_usd_total", known_usd)

    def observe(self, route: str, seconds: float) -> None:
        """Counts one request's duration."""
        with self._lock:
            row = self._seconds[route]
            for place, bound in enumerate(BUCKETS):
                row[place] += seconds <= bound
            row[-2] += 1
            row[-1] += seconds

    def text(self) -> str:
        """Everything, in the text format version 0.0.4."""
        out: list[str] = []
        with self._lock:
            for name, (kind, words) in HELP.items():
                out += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
                values = self._values[name] or {(): 0.0}
                out += [f"{name}{_labels(key)} {_number(value)}" for key, value in sorted(values.items())]
            name = "judge_request_seconds"
            out += [f"# HELP {name} Duration of HTTP requests.", f"# TYPE {name} histogram"]
            for route, row in sorted(self._seconds.items()):
                label = ("route", route)
                for place, bound in enumerate(BUCKETS):
                    out.append(f"{name}_bucket{_labels((label, ('le', f'{bound:g}')))} {_number(row[place])}")
                out.append(f"{name}_bucket{_labels((label, ('le', '+Inf')))} {_number(row[-2])}")
                out.append(f"{name}_count{_labels((label,))} {_number(row[-2])}")
                out.append(f"{name}_sum{_labels((label,))} {_number(row[-1])}")
        return "\n".join(out) + "\n"


def _number(value: float) -> str:
    """Every digit of it: a counter that is rounded stands still between two scrapes."""
    return str(int(value)) if value.is_integer() else repr(value)


def _labels(pairs: tuple[tuple[str, str], ...]) -> str:
    if not pairs:
        return ""
    escaped = [(name, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")) for name, value in pairs]
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"
