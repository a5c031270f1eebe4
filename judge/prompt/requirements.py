"""The worked part of an answer: requirements with their proof, wrong steps, the case for failure."""

from __future__ import annotations

from typing import Any, NamedTuple

from judge.prompt.evidence import Shown, clean, step_index

_MET = ("yes", "no", "unknown")


class Worked(NamedTuple):
    """What a judge worked out before it scored.

    Attributes:
        detail: `requirements`, `partial` counts, `wrong_steps`, `failure_case`, as JSON.
        problem: A cited step or quote that does not exist, or a requirement without a legal `met`; "" if none.
        unmet, undecided: Names of requirements answered "no" and "unknown", joined.
        proof: Steps cited for requirements.
    """

    detail: dict[str, Any] | None = None
    problem: str = ""
    unmet: str = ""
    undecided: str = ""
    proof: tuple[int, ...] = ()

    def against_a_pass(self, evidence: tuple[int, ...], shown: Shown) -> str:
        """What forbids a pass, or "": no requirement, one that is not met, or no result cited where there are some."""
        if self.detail is None or not self.detail["requirements"]:
            return "a pass was given without listing what the task requires"
        if self.unmet:
            return f"a pass was given although these are not met: {self.unmet}"
        steps = {*evidence, *self.proof}
        if shown.has_kind("tool_result") and not any(shown.kind(index) == "tool_result" for index in steps):
            return "a pass was given without citing the result of any tool"
        return ""


def worked(answer: dict[str, Any], shown: Shown) -> Worked:
    """The worked part of `answer`, checked against the steps that were shown."""
    requirements: list[dict[str, Any]] = []
    proof: dict[int, None] = {}
    for entry in _items(answer.get("requirements")):
        met = entry.get("met")
        name = clean(str(entry.get("id") or "")).strip()
        if met not in _MET:
            return Worked(problem=f"requirement {name[:60]!r} is answered neither yes, no nor unknown")
        steps: list[int] = []
        for value in _list(entry.get("steps")):
            index = step_index(value)
            if index is None or index not in shown:
                return Worked(problem=f"requirement {name[:60]!r} cites a step that was not shown: {str(value)[:40]!r}")
            steps.append(index)
        quote = entry.get("quote")
        quote = quote if isinstance(quote, str) else ""
        if quote.strip() and not any(shown.says(index, quote) for index in steps):
            return Worked(problem=f"the words quoted for requirement {name[:60]!r} stand in none of its steps")
        proof |= dict.fromkeys(steps)
        requirements.append({"id": name, "met": met, "steps": steps, "quote": clean(quote)})
    wrong: list[dict[str, Any]] = []
    for entry in _items(answer.get("wrong_steps")):
        index = step_index(entry.get("step"))
        if index is None or index not in shown:
            return Worked(problem=f"a wrong step is named that was not shown: {str(entry.get('step'))[:40]!r}")
        wrong.append({"step": index, "why": clean(str(entry.get("why") or ""))})
    count = {met: sum(entry["met"] == met for entry in requirements) for met in _MET}
    case = answer.get("failure_case")
    return Worked(
        detail={
            "requirements": requirements,
            "partial": {"met": count["yes"], "not_met": count["no"], "unknown": count["unknown"]},
            "wrong_steps": wrong,
            "failure_case": clean(case) if isinstance(case, str) else "",
        },
        unmet=_names(requirements, "no"),
        undecided=_names(requirements, "unknown"),
        proof=tuple(proof),
    )


def _names(requirements: list[dict[str, Any]], met: str) -> str:
    return ", ".join(entry["id"][:60] or "(unnamed)" for entry in requirements if entry["met"] == met)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _items(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in _list(value) if isinstance(entry, dict)]
