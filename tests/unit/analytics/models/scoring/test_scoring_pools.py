"""Young series are calibrated by what older ones of their kind have learned."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.models.scoring.scorer import SeriesScorer
from analytics.snapshot.stateful import State
from common.errors import BadInput

Floats = NDArray[np.float64]
START_NS = 1_700_000_000 * 10**9
OLD, YOUNG, BEFORE = 24, 60, 1000  # series, series, values of the old ones before the young ones come


def times(first: int, rounds: int, series: int) -> NDArray[np.int64]:
    return np.repeat(START_NS + (first + np.arange(rounds, dtype=np.int64)) * 10 * 10**9, series)


def score(detector: SeriesScorer, first: int, values: Floats, sids: NDArray[np.int64], kind: int | None) -> Floats:
    """Scores of values[rounds, series], as they come live: round by round."""
    rounds = len(values)
    kinds = None if kind is None else np.full(values.size, kind)
    at = times(first, rounds, sids.size)
    return detector.score(at, values.ravel(), np.tile(sids, rounds), kinds).score.reshape(values.shape)


def normal(rng: np.random.Generator, rounds: int, series: int) -> Floats:
    return rng.normal(100, 10, (rounds, series))


def with_bursts(rng: np.random.Generator, rounds: int, series: int) -> Floats:
    """One value of thirty is ten to a hundred times the others' spread: ordinary for this kind."""
    burst = rng.random((rounds, series)) < 0.03
    return np.where(burst, 100 + 10 * rng.lognormal(3, 1, (rounds, series)), normal(rng, rounds, series))


def alone_and_with_kind(old: Floats, young: Floats) -> tuple[Floats, Floats]:
    found = []
    for kind in (None, 3):
        detector = SeriesScorer()
        score(detector, 0, old, np.arange(OLD), kind)
        found.append(score(detector, len(old), young, OLD + np.arange(young.shape[1]), kind))
    return found[0], found[1]


def test_what_is_ordinary_for_the_kind_does_not_alert() -> None:
    rng = np.random.default_rng(1)
    alone, pooled = alone_and_with_kind(with_bursts(rng, BEFORE, OLD), with_bursts(rng, 300, YOUNG))
    assert (alone >= 1).sum() > 50
    assert (pooled >= 1).sum() < (alone >= 1).sum() / 10


def test_what_is_unheard_of_for_the_kind_alerts_sooner() -> None:
    rng = np.random.default_rng(2)
    young = normal(rng, 120, YOUNG)
    young[60] += 75  # seven and a half standard deviations
    alone, pooled = alone_and_with_kind(normal(rng, BEFORE, OLD), young)
    assert (pooled[60] >= 1).sum() > 1.5 * (alone[60] >= 1).sum()
    assert not (pooled[:60] >= 1).any()


def test_other_kinds_change_nothing() -> None:
    rng = np.random.default_rng(3)
    detector, young = SeriesScorer(), normal(rng, 300, YOUNG)
    score(detector, 0, with_bursts(rng, BEFORE, OLD), np.arange(OLD), 0)
    found = score(detector, BEFORE, young, OLD + np.arange(YOUNG), 1)
    assert np.array_equal(found, score(SeriesScorer(), BEFORE, young, np.arange(YOUNG), None))


@pytest.mark.parametrize("cut", [1, 29, 30, 31, 299])
def test_portions_and_a_restart_change_nothing(cut: int) -> None:
    rng = np.random.default_rng(4)
    old, young, sids = with_bursts(rng, BEFORE, OLD), with_bursts(rng, 300, YOUNG), OLD + np.arange(YOUNG)
    whole, first, second = SeriesScorer(), SeriesScorer(), SeriesScorer()
    for detector in (whole, first):
        score(detector, 0, old, np.arange(OLD), 0)
    head = score(first, BEFORE, young[:cut], sids, 0)
    second.restore(State(None, {name: array.copy() for name, array in first.state().arrays.items()}))
    tail = score(second, BEFORE + cut, young[cut:], sids, 0)
    assert np.array_equal(np.concatenate([head, tail]), score(whole, BEFORE, young, sids, 0))


def test_kinds_are_numbers_from_0_on_one_for_each_row() -> None:
    with pytest.raises(BadInput, match="kind -1"):
        SeriesScorer().score(times(0, 1, 1), np.zeros(1), kinds=np.array([-1]))
    with pytest.raises(BadInput, match="expected one length"):
        SeriesScorer().score(times(0, 1, 1), np.zeros(1), kinds=np.zeros(2, np.int64))
