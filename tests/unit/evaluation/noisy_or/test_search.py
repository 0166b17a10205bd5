"""The likeliest set of causes by hand, and against all sets where there are few causes."""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import log, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.noisy_or.search import Search

Shown = Sequence[Mapping[str, float]]
LEAK = 1e-6


def posterior(costs: Sequence[float], shown: Shown, leaks: Mapping[str, float], chosen: Collection[int]) -> float:
    """The logarithm of it, but for a constant."""
    seen = (1 - (1 - leak) * prod(1 - shown[at].get(found, 0.0) for at in chosen) for found, leak in leaks.items())
    return sum(map(log, seen)) - sum(costs[at] for at in chosen)


def test_one_cause_of_all_is_likelier_than_one_for_each() -> None:
    shown = [{"a": 0.95}, {"b": 0.95}, {"c": 0.95}, {"a": 0.95, "b": 0.95, "c": 0.95}]
    assert Search([4.0] * 4, shown, dict.fromkeys("abc", LEAK)).run() == {3}


def test_a_cause_that_explains_little_better_than_others_is_not_added() -> None:
    """It would gain log(0.95 / 0.5) = 0.6, and cost 4; what only it explains gains 13.8."""
    shown = [{"a": 0.95, "b": 0.5}, {"b": 0.95}]
    assert Search([4.0, 4.0], shown, {"a": LEAK, "b": LEAK}).run() == {0}
    assert Search([4.0, 4.0], [{"a": 0.95}, {"b": 0.95}], {"a": LEAK, "b": LEAK}).run() == {0, 1}


def test_what_is_hardly_beyond_chance_names_nobody() -> None:
    assert Search([4.0], [{"a": 0.95}], {"a": 0.1}).run() == frozenset()


def test_two_causes_replace_the_one_that_was_greedily_the_best() -> None:
    """The first explains four of six: then nothing else pays. The two others explain three each."""
    shown = [dict.fromkeys("bcde", 0.95), dict.fromkeys("abc", 0.95), dict.fromkeys("def", 0.95)]
    search = Search([4.0] * 3, shown, dict.fromkeys("abcdef", LEAK))
    search.greedy()
    assert search.chosen == {0, 1, 2}
    assert search.run() == {1, 2}


def test_a_cause_that_is_there_anyway_explains_at_no_cost() -> None:
    shown = [{"a": 0.95}, {"a": 0.95}]
    assert Search([4.0, 0.0], shown, {"a": LEAK}, given=[1]).run() == {1}


def test_the_worth_of_a_cause_is_what_it_adds_to_the_likelihood() -> None:
    search = Search([4.0], [{"a": 0.95}], {"a": LEAK})
    search.run()
    assert search.worth(0) == pytest.approx(log(1 - (1 - LEAK) * 0.05) - log(LEAK))


P = st.sampled_from([0.1, 0.475, 0.95])
ROWS = st.lists(st.dictionaries(st.sampled_from("abcdef"), P, min_size=1), min_size=1, max_size=7)


@given(shown=ROWS, costs=st.lists(st.floats(0.5, 8.0), min_size=7, max_size=7))
def test_no_cause_less_or_more_is_likelier_and_it_is_not_worse_than_greedy(
    shown: Shown, costs: Sequence[float]
) -> None:
    leaks, costs = dict.fromkeys("abcdef", 1e-3), costs[: len(shown)]
    greedy = Search(costs, shown, leaks)
    greedy.greedy()
    found = Search(costs, shown, leaks).run()
    best = posterior(costs, shown, leaks, found)
    assert best >= posterior(costs, shown, leaks, greedy.chosen) - 1e-6
    for at in range(len(shown)):
        assert best >= posterior(costs, shown, leaks, found ^ {at}) - 1e-6


@given(shown=ROWS, costs=st.lists(st.floats(0.5, 8.0), min_size=7, max_size=7))
def test_it_is_within_a_cause_of_the_best_of_all_sets(shown: Shown, costs: Sequence[float]) -> None:
    leaks, costs = dict.fromkeys("abcdef", 1e-3), costs[: len(shown)]
    sets = (each for size in range(len(shown) + 1) for each in combinations(range(len(shown)), size))
    best = max(posterior(costs, shown, leaks, each) for each in sets)
    found = posterior(costs, shown, leaks, Search(costs, shown, leaks).run())
    assert found >= best - max(costs)
