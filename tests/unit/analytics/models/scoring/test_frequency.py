"""Departures that come more often than usual, on series that rest."""

import numpy as np
import pytest

from analytics.models.scoring import frequency
from analytics.models.scoring.kernel import REASONS
from analytics.models.scoring.scorer import Scores, SeriesScorer
from evaluation.series.signals import Floats
from tests.unit.analytics.models.scoring.records import core

EVERY_S = 10
EVENT = slice(4600, 4700)


def pauses(seed: int, share: float = 0.01) -> Floats:
    """Bursts of two values, of like height."""
    rng = np.random.default_rng(seed)
    heights = np.where(rng.random(6000) < share, rng.uniform(800, 1200, 6000), 0.0)
    following: Floats = np.maximum(heights, 0.4 * np.r_[0.0, heights[:-1]])
    return following


def more_often(values: Floats, seed: int, at: slice = EVENT) -> Floats:
    rng, changed = np.random.default_rng([seed, 1]), values.copy()
    size = changed[at].size
    changed[at] = np.where(rng.random(size) < 0.4, rng.uniform(800, 1200, size), 0.0)
    return changed


def scored(values: Floats) -> Scores:
    return SeriesScorer().score(np.arange(values.size) * EVERY_S * 10**9, values)


def frequent(found: Scores) -> list[int]:
    """Where it alerts for that reason."""
    return np.flatnonzero(found.alert & (found.reason == REASONS.index("frequency"))).tolist()


def test_departures_of_the_usual_height_that_come_far_more_often_alert() -> None:
    firsts, lasts = [], []
    for seed in range(8):
        if at := frequent(scored(more_often(pauses(seed), seed))):
            firsts.append(at[0])
            lasts.append(at[-1])
    assert len(firsts) >= 7
    assert EVENT.start + 10 <= min(firsts)
    assert max(firsts) < EVENT.stop
    assert max(lasts) < EVENT.stop + 60, "and no longer than that"


@pytest.mark.parametrize("share", [0.003, 0.01, 0.05, 0.1])
def test_usual_departures_do_not(share: float) -> None:
    assert not any(frequent(scored(pauses(seed, share))) for seed in range(6))


def test_of_one_cluster_a_quarter_is_usual() -> None:
    series = core()
    series.rest, series.height, series.frequency_peak = 0.99, 1000.0, 12.0
    frequency.learn(series, 0.0, True)
    assert (series.frequency_max, series.frequency_peak) == (3.0, 0.0)


def test_a_cluster_of_the_first_values_is_usual_in_full() -> None:
    series = core()
    series.rest, series.height, series.frequency_peak = 0.99, 1000.0, 12.0
    frequency.learn(series, 0.0, False)
    assert (series.frequency_max, series.frequency_peak) == (12.0, 0.0)


def test_of_one_very_large_cluster_little_is_usual() -> None:
    series = core()
    series.rest, series.height, series.frequency_peak = 0.99, 1000.0, 40.0
    frequency.learn(series, 0.0, True)
    assert series.frequency_max == 3.0


def test_a_departure_of_the_usual_height_that_lasts_alerts() -> None:
    for seed in range(6):
        values = pauses(seed)
        values[EVENT] = 1000.0
        at = frequent(scored(values))
        assert EVENT.start + 10 <= at[0] < EVENT.stop, seed
        assert at[-1] < EVENT.stop + 4, "and no longer than it lasts, or until it is known that it is over"


def test_departures_that_always_last_do_not() -> None:
    values = np.where(np.arange(6000) % 300 < 60, 1000.0, 0.0)
    values += np.random.default_rng(1).uniform(0.0, 10.0, values.size)
    assert not frequent(scored(values))


def test_clusters_that_come_again_and_again_are_usual() -> None:
    values = pauses(5)
    for start in range(500, 5900, 300):
        values = more_often(values, start, slice(start, start + 60))
    assert not [at for at in frequent(scored(values)) if at > 4000]


def test_a_series_that_moves_has_no_frequency() -> None:
    series = core()
    series.rest, series.height = 0.5, 10.0
    frequency.learn(series, 50.0, True)
    assert (series.frequency, frequency.surprise(series, 50.0)) == (0.0, 0.0)


def test_however_long_a_counter_rests_is_no_silence() -> None:
    values = pauses(2)
    values[3000:] = 0.0
    assert not scored(values).alert[3000:].any()
