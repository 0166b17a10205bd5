"""Where anomalies are injected: after the probation, apart from each other and from what is excused."""

from dataclasses import replace

import numpy as np
import pytest

from evaluation.series.labelled import Series, labelled
from evaluation.series.signals import Signal


def signal(points: int = 2000, anomalies: tuple[str, ...] = ("spike",), season: int = 0) -> Signal:
    base = 50.0 + (20.0 * np.sin(2 * np.pi * np.arange(points) / season) if season else np.zeros(points))
    values = base + np.random.default_rng(1).normal(size=points)
    return Signal(60, base, np.ones(points), values, season, anomalies, floor=0.0)


def drawn(given: Signal, seeds: int = 60) -> list[Series]:
    times_ns = np.arange(given.values.size, dtype=np.int64)
    return [labelled(given, times_ns, "test", seed, np.random.default_rng(seed)) for seed in range(seeds)]


def test_a_fifth_of_the_series_is_healthy_and_others_have_up_to_four_windows() -> None:
    counts = [len(series.windows) for series in drawn(signal(), 400)]
    assert np.mean([count == 0 for count in counts]) == pytest.approx(0.2, abs=0.06)
    assert set(counts) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(("points", "probation"), [(2000, 300), (10_000, 750)])
def test_the_probation_is_15_percent_and_at_most_750_points(points: int, probation: int) -> None:
    for series in drawn(signal(points), 10):
        assert series.probation == probation
        assert all(window.start > probation for window in series.windows)


@pytest.mark.parametrize("anomaly", ["spike", "level_up", "drift", "flatline"])
def test_windows_are_apart_and_only_they_change(anomaly: str) -> None:
    given = replace(signal(anomalies=(anomaly,)), season=5)  # with a season no shift stays
    for series in drawn(given):
        for before, after in zip(series.windows, series.windows[1:], strict=False):
            shorter = min(after.end - after.start, before.end - before.start)
            assert after.start - before.end >= max(20, shorter // 2)
        inside = np.zeros(2000, np.bool_)
        for window in series.windows:
            inside[window.start : window.end] = True
        assert set(np.flatnonzero(series.values != given.values)) <= set(np.flatnonzero(inside))


def test_a_level_may_stay_but_its_window_ends() -> None:
    given, stays = signal(anomalies=("level_up",)), []
    for series in drawn(given, 200):
        if len(series.windows) == 1:
            (window,) = series.windows
            assert window.end - window.start < 120
            stays.append(bool(series.values[-1] > given.values[-1] + 1))
    assert np.mean(stays) == pytest.approx(0.3, abs=0.15)
    seasonal = replace(given, season=24)
    assert all(series.values[-1] == given.values[-1] for series in drawn(seasonal, 60))


def test_a_missing_season_is_around_a_maximum() -> None:
    given = signal(anomalies=("missing_season",), season=48)
    windows = [window for series in drawn(given) for window in series.windows]
    assert windows
    assert all(given.base[(window.start + window.end) // 2] > 65 for window in windows)


def test_what_is_excused_is_a_window_and_nothing_is_injected_near_it() -> None:
    given = replace(signal(), excused=((1000, 1100),))
    for series in drawn(given):
        (excused,) = [window for window in series.windows if window.anomaly == "excused"]
        assert (excused.start, excused.end) == (1000, 1100)
        others = [window for window in series.windows if window.anomaly != "excused"]
        assert all(window.end <= 980 or window.start >= 1120 for window in others)


def test_nothing_is_injected_where_nothing_fits() -> None:
    assert all(series.windows == () for series in drawn(signal(60, ("drift",))))
