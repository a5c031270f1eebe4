"""The search for similar word sets gives exactly what comparing each with each gives."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.metrics.word_overlap import ALL_PAIRS, earliest_similar, jaccard


def brute_force(sets: list[frozenset[str]], threshold: float) -> list[int | None]:
    return [
        next((at for at in range(position) if sets[position] and jaccard(sets[position], sets[at]) >= threshold), None)
        for position in range(len(sets))
    ]


def word_sets(rng: random.Random, count: int, vocabulary: int, longest: int) -> list[frozenset[str]]:
    return [
        frozenset(f"w{int(rng.paretovariate(0.6)) % vocabulary}" for _ in range(rng.randint(0, longest)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("threshold", [0.05, 0.1, 0.3, 0.5, 0.6, 2 / 3, 0.8, 0.95, 1.0])
@pytest.mark.parametrize(("vocabulary", "longest"), [(6, 4), (30, 8), (200, 12), (60, 40), (400, 90)])
def test_search_equals_brute_force_on_random_sets(threshold: float, vocabulary: int, longest: int) -> None:
    rng = random.Random(f"{threshold} {vocabulary} {longest}")
    for _ in range(3):
        sets = word_sets(rng, 150, vocabulary, longest)
        # near copies, so that values close to the threshold occur
        sets += [frozenset(list(words)[: len(words) - rng.randint(0, 3)]) | {"new"} for words in sets[:60] if words]
        assert earliest_similar(sets, threshold) == brute_force(sets, threshold)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.frozensets(st.sampled_from("abcdefghij"), max_size=7), min_size=ALL_PAIRS + 1, max_size=60),
    st.floats(min_value=0.01, max_value=1.0),
)
def test_search_equals_brute_force_for_any_threshold(sets: list[frozenset[str]], threshold: float) -> None:
    assert earliest_similar(sets, threshold) == brute_force(sets, threshold)


@given(st.frozensets(st.sampled_from("abcdefgh")), st.frozensets(st.sampled_from("abcdefgh")))
def test_jaccard_is_symmetric_and_within_its_range(left: frozenset[str], right: frozenset[str]) -> None:
    assert jaccard(left, right) == jaccard(right, left)
    assert 0 <= jaccard(left, right) <= 1
    assert (jaccard(left, right) == 1) == (left == right and bool(left))


def test_a_set_exactly_at_the_threshold_counts() -> None:
    # {a b c d e} and {a b c}: 3 of 5 words = 0.6, which 0.6 * 5 in floats overshoots
    assert earliest_similar([frozenset("abcde"), frozenset("abc")], 0.6) == [None, 0]
    assert earliest_similar([frozenset("abcde"), frozenset("abc")], 0.61) == [None, None]


def test_empty_sets_resemble_nothing() -> None:
    assert earliest_similar([frozenset(), frozenset(), frozenset("a")], 0.1) == [None, None, None]
