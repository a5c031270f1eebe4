"""What is wrong or doubtful in a rubric file, with its line: the faults that move scores without an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from judge.document import Document, Finding, Path_
from judge.prompt.reading import read_rubric
from judge.prompt.wording import asks_twice, is_adjectives_only, out_of, overlap, ranges_in
from judge.types.rubric import BinaryScale, Criterion, LevelScale, Rubric

CODES = {
    "syntax": "The file is no YAML mapping.",
    "unknown-key": "A key that no rubric has; the nearest is suggested.",
    "duplicate-key": "One key stands twice in a mapping.",
    "unquoted-boolean": "yes, no, on, off, true or false without quotes where text is wanted.",
    "invalid": "A value does not fit, for example a scale whose min is not below its max.",
    "duplicate-name": "Two criteria share an id, or two criteria the same question.",
    "template-syntax": "The rubric's own template does not parse.",
    "undefined-variable": "The template uses a variable that does not exist.",
    "score-before-reason": "The template asks for the score before the reason.",
    "scale-contradiction": "A text names another range than the scale, or an anchor stands on no value of it.",
    "weights": "Weights that look like shares do not add up to 1 (or to 100).",
    "missing-anchor": "A level, an end of a range, or pass or fail does not say what a run there looks like.",
    "adjective-anchor": "An anchor only judges (good, poor) and says nothing that can be seen in a run.",
    "double-question": "A criterion asks two things at once.",
    "overlap": "Two criteria ask much the same.",
    "no-not-applicable-rule": "Nothing says when the criterion applies.",
    "gate-without-citation": "A gate does not require evidence, or does not say what must be cited.",
    "diagnostic-gate": "A diagnostic rubric has a gate.",
    "no-policy": "A criterion speaks of the policy, and the rubric does not take one.",
}
"""Every code that a finding can have, and what it means."""


def lint_text(text: str) -> tuple[Finding, ...]:
    """Findings about the text of a rubric file, by line; empty for a clean one."""
    rubric, document = read_rubric(text)
    if rubric is not None:
        examine(document, rubric)
    return tuple(sorted(document.findings, key=lambda finding: (finding.line, finding.code)))


def examine(document: Document, rubric: Rubric) -> None:
    """Adds what is doubtful about a rubric that loads to the findings of its file."""
    for position, criterion in enumerate(rubric.criteria):
        at = ("criteria", position)
        _anchors(document, criterion, at)
        _question(document, criterion, at)
        _scale_words(document, rubric, criterion, at)
        if not criterion.applies_when:
            document.wrong(
                document.line(at),
                "no-not-applicable-rule",
                f"Criterion {criterion.id!r} does not say when it applies: add `applies_when`, so that a run without "
                "such a case is left out of the mean and not guessed at.",
                "warning",
            )
        if criterion.gate and (criterion.evidence != "required" or not criterion.cite.strip()):
            document.wrong(
                document.line((*at, "gate")),
                "gate-without-citation",
                f"Gate {criterion.id!r} can fail a run without proof: set `evidence: required` and say in `cite` what.",
            )
        if criterion.gate and rubric.diagnostic:
            document.wrong(document.line((*at, "gate")), "diagnostic-gate", "A diagnostic rubric is a hint; no gate.")
        if "policy" in criterion.question.casefold() and not rubric.policy:
            document.wrong(
                document.line((*at, "question")),
                "no-policy",
                f"Criterion {criterion.id!r} speaks of a policy: set `policy: true`, so that one must be given.",
                "warning",
            )
    _pairs(document, rubric)
    _weights(document, rubric)
    _order(document, rubric)


def _anchors(document: Document, criterion: Criterion, at: Path_) -> None:
    scale = criterion.scale
    said = {key.strip(): text.strip() for key, text in criterion.anchors.items()}
    wanted: list[tuple[str, str, Path_]] = []
    if isinstance(scale, LevelScale):
        base = (*at, "scale") if (*at, "scale", 0) in document.lines else (*at, "scale", "levels")
        for k, level in enumerate(scale.levels):
            text = level.anchor or said.pop(str(level.value), "") or said.pop(level.name, "")
            wanted.append((f"level {level.value} ({level.name})", text, (*base, k)))
    elif isinstance(scale, BinaryScale):
        wanted = [(key, said.pop(key, ""), (*at, "anchors", key)) for key in ("pass", "fail")]
    else:
        ends = {float(key): key for key in said if _is_number(key)}
        for end in (scale.low, scale.high):
            key = ends.get(end, f"{end:g}")
            wanted.append((f"the end {end:g}", said.pop(key, ""), (*at, "anchors", key)))
        for key, text in list(said.items()):
            if _is_number(key) and scale.contains(float(key)):
                wanted.append((f"the value {key}", text, (*at, "anchors", key)))
                said.pop(key)
    for name, text, path in wanted:
        line = document.line(path)
        if not text.strip():
            message = f"Criterion {criterion.id!r} does not say what a run at {name} looks like."
            document.wrong(line, "missing-anchor", message)
        elif is_adjectives_only(text):
            document.wrong(
                line,
                "adjective-anchor",
                f"The anchor of {name} only judges ({text.strip()[:60]!r}): say what can be seen in such a run.",
                "warning",
            )
    for key in said:
        message = f"Criterion {criterion.id!r} has an anchor at {key!r}, which is no value of its scale."
        document.wrong(document.line((*at, "anchors", key)), "scale-contradiction", message)


def _question(document: Document, criterion: Criterion, at: Path_) -> None:
    if why := asks_twice(criterion.question):
        document.wrong(
            document.line((*at, "question")),
            "double-question",
            f"Criterion {criterion.id!r} asks two things ({why}): make two criteria of it.",
            "warning",
        )


def _scale_words(document: Document, rubric: Rubric, criterion: Criterion, at: Path_) -> None:
    for path, text in _texts(rubric, criterion, at):
        for low, high, words in ranges_in(text):
            if (low, high) != (criterion.scale.low, criterion.scale.high):
                document.wrong(
                    document.line_in(path, text, text.find(words)),
                    "scale-contradiction",
                    f"The text says {words!r}, and the scale of {criterion.id!r} runs from {criterion.scale.low:g} to "
                    f"{criterion.scale.high:g}.",
                )
        for top, words in out_of(text):
            if top != criterion.scale.high:
                document.wrong(
                    document.line_in(path, text, text.find(words)),
                    "scale-contradiction",
                    f"The text says {words!r}, and the scale of {criterion.id!r} ends at {criterion.scale.high:g}.",
                )


def _texts(rubric: Rubric, criterion: Criterion, at: Path_) -> Iterator[tuple[Path_, str]]:
    if len(rubric.criteria) == 1:
        yield ("intent",), rubric.intent
        if rubric.template:
            yield ("template",), rubric.template
    for name in ("question", "counts", "not_counts", "applies_when", "cite"):
        yield (*at, name), getattr(criterion, name) or ""
    for key, text in criterion.anchors.items():
        yield (*at, "anchors", key), text
    if isinstance(criterion.scale, LevelScale):
        for k, level in enumerate(criterion.scale.levels):
            yield (*at, "scale", k, "anchor"), level.anchor


def _pairs(document: Document, rubric: Rubric) -> None:
    for k, one in enumerate(rubric.criteria):
        for j, other in enumerate(rubric.criteria[:k]):
            share = overlap(one.question, other.question)
            if share == 1:
                document.wrong(
                    document.line(("criteria", k, "question")),
                    "duplicate-name",
                    f"Criteria {other.id!r} and {one.id!r} ask the same question.",
                )
            elif share >= 0.6:
                document.wrong(
                    document.line(("criteria", k, "question")),
                    "overlap",
                    f"Criteria {other.id!r} (line {document.line(('criteria', j))}) and {one.id!r} share {share:.0%} "
                    "of their words: a fault would be counted twice.",
                    "warning",
                )


def _weights(document: Document, rubric: Rubric) -> None:
    given: list[tuple[int, Fraction]] = []
    for k, criterion in enumerate(rubric.criteria):
        if not criterion.gate and "weight" in criterion.model_fields_set:
            given.append((k, Fraction(str(criterion.weight))))
    if len(given) < sum(not criterion.gate for criterion in rubric.criteria) or not given:
        shares = [weight for _, weight in given if weight < 1]
        if shares:
            line = document.line(("criteria", given[0][0], "weight"))
            document.wrong(
                line, "weights", "Some criteria have a weight below 1 and others have none, which counts as 1."
            )
        return
    total = sum(weight for _, weight in given)
    line = document.line(("criteria", given[-1][0], "weight"))
    if any(weight < 1 for _, weight in given) and total != 1:
        document.wrong(line, "weights", f"The weights are shares and add up to {float(total):g}, not to 1.")
    elif 90 <= total <= 110 and total != 100 and len(given) > 1:
        document.wrong(line, "weights", f"The weights look like per cent and add up to {float(total):g}, not to 100.")


_SCORE_FIRST = re.compile(
    r"\b(?:score|rating|grade|mark|number)\b[^.\n]{0,60}?\b(?:then|followed by|before|and afterwards|and then)\b"
    r"[^.\n]{0,40}?\b(?:reason|reasons|explain|explanation|justify|justification|why)\b",
    re.IGNORECASE,
)


def _order(document: Document, rubric: Rubric) -> None:
    text = rubric.template or ""
    score, reason = (re.search(rf"""["']{key}["']""", text) for key in ("score", "reason"))
    first = score if score and reason and score.start() < reason.start() else _SCORE_FIRST.search(text)
    if first:
        line = document.line_in(("template",), text, first.start())
        document.wrong(
            line,
            "score-before-reason",
            "The template asks for the score before the reason: the reason would only defend a number already given.",
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
