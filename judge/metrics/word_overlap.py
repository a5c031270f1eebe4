"""Which word sets resemble an earlier one, exactly, without comparing each with each.

Two sets of sizes a and b have Jaccard similarity ≥ t exactly when they share at least
``ceil(t / (1 + t) * (a + b))`` words. With the words of every set in one order, rare ones first, sets that share
k words share d of them within the first ``size - k + d`` of each: the prefix filter (Chaudhuri, Ganti, Kaushik 2006,
doi:10.1109/ICDE.2006.9), with position and size filters as in Xiao et al. 2011 (doi:10.1145/2000824.2000825).
Sets are filed under three or two words at once where few words must be shared, under single words otherwise, so that
common words alone bring no candidates.

Worst case: quadratic, where very many sets share rare words in their prefixes and still stay below the threshold.
No exact method is known that avoids it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import combinations
from math import ceil

MOST_SHARED_IN_TRIPLES = 4
MOST_SHARED_IN_PAIRS = 8
"""Shared words up to which sets are filed under three and under two words; single words serve the longer sets."""
LEAST_THRESHOLD_FOR_SEVERAL = 0.4
"""Below it prefixes are nearly whole sets, which have too many pairs of words to file."""
ALL_PAIRS = 12
"""Number of sets up to which comparing each with each is cheaper."""

Key = tuple[int, ...]
Files = dict[Key, dict[tuple[int, int], list[int]]]
"""Words of a key → (size of the set, place of the key's last word in it) → positions, ascending."""
_NOTHING: dict[tuple[int, int], list[int]] = {}


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared words over all words of both, in [0, 1]; of two empty sets 0, since nothing is shared."""
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared) if shared else 0.0


def earliest_similar(sets: Sequence[frozenset[str]], threshold: float) -> list[int | None]:
    """For each set, the position of the first earlier one with Jaccard similarity ≥ `threshold`, or None.

    Args:
        sets: Word sets in the order of the calls; an empty one resembles nothing.
        threshold: In (0, 1].
    """
    first: dict[frozenset[str], int] = {}
    distinct: list[int] = []
    same: list[int] = []
    for position, words in enumerate(sets):
        original = first.setdefault(words, position)
        same.append(original)
        if original == position and words:
            distinct.append(position)
    search = _compare_all if len(distinct) <= ALL_PAIRS else _search
    found = search(sets, distinct, threshold)
    out: list[int | None] = []
    for position, original in enumerate(same):
        partner = found.get(original)
        if partner is None and original != position and sets[position]:
            partner = original
        out.append(partner)
    return out


def _compare_all(sets: Sequence[frozenset[str]], distinct: list[int], threshold: float) -> dict[int, int]:
    found: dict[int, int] = {}
    for at, position in enumerate(distinct):
        for earlier in distinct[:at]:
            if jaccard(sets[position], sets[earlier]) >= threshold:
                found[position] = earlier
                break
    return found


def _search(sets: Sequence[frozenset[str]], distinct: list[int], threshold: float) -> dict[int, int]:
    counts = Counter(word for position in distinct for word in sets[position])
    rank = {word: at for at, word in enumerate(sorted(counts, key=lambda word: (counts[word], word)))}
    filed: Files = {}
    found: dict[int, int] = {}
    for position in distinct:
        words = sets[position]
        ranks = sorted([rank[word] for word in words])
        keys = _keys(ranks, threshold)
        before = -1
        for earlier in _candidates(len(ranks), keys, filed, threshold):
            if earlier == before:
                continue
            before = earlier
            if jaccard(words, sets[earlier]) >= threshold:
                found[position] = earlier
                break
        for key, at in keys:
            filed.setdefault(key, {}).setdefault((len(ranks), at), []).append(position)
    return found


def _shared(left: int, right: int, threshold: float) -> int:
    """Least number of words that two similar sets of these sizes share; never too high by rounding."""
    return max(1, ceil(threshold / (1 + threshold) * (left + right) - 1e-9))


def _keys(ranks: list[int], threshold: float) -> list[tuple[Key, int]]:
    """What a set is filed under and looks for: (key, place in the set of the key's last word).

    A similar set has between t·size and size/t words, so the words shared with it are t·size to size.
    """
    size = len(ranks)
    least = max(1, ceil(threshold * size - 1e-9))
    keys: list[tuple[Key, int]] = []
    for depth in (1, 2, 3):
        fewest = next((shared for shared in range(least, size + 1) if _depth(shared, threshold) == depth), None)
        if fewest is not None:
            prefix = enumerate(ranks[: size - fewest + depth])
            keys += [(tuple([rank for _, rank in some]), some[-1][0]) for some in combinations(prefix, depth)]
    return keys


def _depth(shared: int, threshold: float) -> int:
    """Words in a key for sets that share at least `shared`: more words bring fewer candidates, and more keys."""
    if threshold < LEAST_THRESHOLD_FOR_SEVERAL:
        return 1
    if shared <= MOST_SHARED_IN_TRIPLES:
        return min(shared, 3)
    return 2 if shared <= MOST_SHARED_IN_PAIRS else 1


def _candidates(own: int, keys: list[tuple[Key, int]], filed: Files, threshold: float) -> Iterator[int]:
    """Positions of earlier sets that may be similar, ascending, merged lazily."""
    lists: list[list[int]] = []
    for key, at in keys:
        for (size, there), positions in filed.get(key, _NOTHING).items():
            shared = _shared(own, size, threshold)
            slack = _depth(shared, threshold) - 1
            if len(key) == slack + 1 and at <= own - shared + slack and there <= size - shared + slack:
                lists.append(positions)
    return iter(lists[0]) if len(lists) == 1 else merge(*lists)
