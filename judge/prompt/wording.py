"""What can be told from the words of a rubric: two questions in one, ranges, anchors that only judge."""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z][a-z'-]+")
_STOP_WORDS = """
a an and any are as at be been being but by can did do does for from had has have how if in into is it its may no not
of on one or over own so than that the their them then there they this to under use used was were what when where
whether which while who why will with without would agent agents run runs step steps
"""
_JUDGING_WORDS = """
good bad poor poorly great excellent fine okay ok acceptable unacceptable adequate inadequate mediocre average fair
decent perfect perfectly flawless terrible awful best worst better worse very quite really mostly somewhat extremely
fairly rather highly well badly high low medium strong weak solid superb outstanding satisfactory unsatisfactory
sufficient insufficient appropriate inappropriate reasonable unreasonable efficient inefficient helpful unhelpful
clear unclear correct incorrect quality performance work job overall level result process all always never completely
fully partly totally generally only some most bit little lot more less
"""
_STOP = frozenset(_STOP_WORDS.split())
_JUDGING = frozenset(_JUDGING_WORDS.split())
_RATING = re.compile(
    r"\b(?:scor\w*|scale|rat(?:e|es|ed|ing|ings)|points?|grad(?:e|es|ing)|marks?|values?|numbers?)\b", re.I
)
_RANGE = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?)\s*(?:-|–|—|\bto\b|\.\.)\s*(\d+(?:\.\d+)?)(?![\w%])"
    r"|\bbetween\s+(\d+(?:\.\d+)?)\s+and\s+(\d+(?:\.\d+)?)(?![\w%])",
    re.I,
)
_OUT_OF = re.compile(r"(?<![\w.])\d+(?:\.\d+)?\s*(?:/|out of)\s*(\d+(?:\.\d+)?)(?![\w%])", re.I)
_VERB = r"(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|should)"
_SECOND_QUESTION = re.compile(rf"\b(?:and|or)\s+(?:also\s+)?(?:{_VERB}|whether|how|what|why|which|when)\b", re.I)


def content_words(text: str) -> frozenset[str]:
    """Words of `text` that carry meaning, in lower case."""
    return frozenset(word for word in _WORD.findall(text.casefold()) if word not in _STOP)


def overlap(one: str, other: str) -> float:
    """Jaccard similarity in [0, 1] of the content words; 0 where either has none."""
    a, b = content_words(one), content_words(other)
    return len(a & b) / len(a | b) if a and b else 0.0


def asks_twice(question: str) -> str:
    """Why `question` seems to hold two questions, or ""."""
    if question.count("?") > 1:
        return f"{question.count('?')} question marks"
    if "and/or" in question.casefold():
        return "and/or"
    if found := _SECOND_QUESTION.search(question):
        return found.group()
    return ""


def is_adjectives_only(anchor: str) -> bool:
    """Whether no word of `anchor` says what can be seen: all of them judge, grade or join."""
    return not content_words(anchor) - _JUDGING


def ranges_in(text: str) -> list[tuple[float, float, str]]:
    """Ranges of scores that `text` speaks of, as (low, high, words): "0-1", "from 1 to 5", "between 0 and 1".

    A range counts only in a sentence that also speaks of scoring.
    """
    out: list[tuple[float, float, str]] = []
    for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n", text):
        if not _RATING.search(sentence):
            continue
        for found in _RANGE.finditer(sentence):
            low, high = (float(group) for group in found.groups() if group is not None)
            if low < high:
                out.append((low, high, found.group()))
    return out


def out_of(text: str) -> list[tuple[float, str]]:
    """Tops of scales that `text` speaks of as "x out of N" or "x/N", in sentences about scoring."""
    return [
        (float(found.group(1)), found.group())
        for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n", text)
        if _RATING.search(sentence)
        for found in _OUT_OF.finditer(sentence)
    ]
