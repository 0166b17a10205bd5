"""What each injection does to a plain signal, and where it does nothing."""

from dataclasses import replace

import numpy as np
import pytest

from evaluation.series.injections import COMMON, INJECTIONS, SEASONAL, extreme, length_of
from evaluation.series.signals import Floats, Signal

AT = slice(100, 124)


def steady(level: float = 50.0, scale: float = 2.0, points: int = 400) -> Signal:
    """Normal noise around a level; the largest ordinary deviation is a little above three scales."""
    values = level + scale * np.random.default_rng(1).normal(size=points)
    return Signal(60, np.full(points, level), np.full(points, scale), values, 0, COMMON, floor=0.0)


def seasonal() -> Signal:
    base = 50.0 + 20.0 * np.sin(2 * np.pi * np.arange(400) / 48)
    values = base + np.random.default_rng(1).normal(size=400)
    return Signal(60, base, np.ones(400), values, 48, SEASONAL, floor=0.0)


def injected(anomaly: str, signal: Signal, at: slice = AT, seed: int = 1) -> tuple[bool, Floats]:
    values = signal.values.copy()
    done = INJECTIONS[anomaly](signal, values, at, np.random.default_rng(seed))
    return done, values


@pytest.mark.parametrize("anomaly", INJECTIONS)
@pytest.mark.parametrize("seed", range(5))
def test_only_the_window_changes_and_it_does_if_and_only_if_that_is_returned(anomaly: str, seed: int) -> None:
    for signal in (seasonal(), *([] if anomaly == "changed_period" else [steady(), steady(1.0)])):
        done, values = injected(anomaly, signal, seed=seed)
        changed = np.flatnonzero(values != signal.values)
        assert done == bool(changed.size)
        assert not changed.size or (AT.start <= changed.min() and changed.max() < AT.stop)


@pytest.mark.parametrize(
    ("deviations", "expected"), [([0.5, 1.0, 1.5], 2.0), ([0.5, 1.0, 3.0], pytest.approx(3.0, rel=0.01))]
)
def test_the_largest_ordinary_deviation_is_two_scales_at_least(deviations: list[float], expected: float) -> None:
    values = 50.0 + 2.0 * np.repeat(deviations, 100)
    assert extreme(replace(steady(points=300), values=values)) == expected


@pytest.mark.parametrize("seed", range(10))
def test_a_spike_is_beyond_what_is_ordinary_and_highest_first(seed: int) -> None:
    signal = steady()
    _, values = injected("spike", signal, seed=seed)
    height = (values[AT] - signal.values[AT]) / signal.scale[AT]
    assert height[0] == height.max()
    assert 1.5 * extreme(signal) <= height[0] <= 8 * extreme(signal)
    assert height.min() >= 0.7 * height[0]


@pytest.mark.parametrize("seed", range(10))
def test_a_dip_stays_above_the_floor(seed: int) -> None:
    signal = steady()
    _, values = injected("dip", signal, seed=seed)
    depth = signal.values[AT] - values[AT]
    assert np.ptp(depth) < 1e-9
    assert 1.5 * extreme(signal) * 2.0 - 1e-9 <= depth[0] <= 50.0


@pytest.mark.parametrize(("anomaly", "level"), [("dip", 7.0), ("level_down", 5.0), ("outage", 5.0)])
def test_what_would_hit_the_floor_at_once_is_not_injected(anomaly: str, level: float) -> None:
    done, _ = injected(anomaly, steady(level))
    assert not done


@pytest.mark.parametrize(("anomaly", "sign"), [("level_up", 1), ("level_down", -1)])
def test_a_level_shifts_by_three_to_twelve_scales(anomaly: str, sign: int) -> None:
    signal = steady()
    for seed in range(20):
        _, values = injected(anomaly, signal, seed=seed)
        shift = sign * (values[AT] - signal.values[AT]) / signal.scale[AT]
        assert np.ptp(shift) < 1e-9
        assert 3.0 - 1e-9 <= shift[0] <= 12.0


def test_a_flat_line_repeats_the_value_before() -> None:
    signal = steady()
    _, values = injected("flatline", signal)
    assert set(values[AT].tolist()) == {signal.values[99]}
    done, _ = injected("flatline", replace(signal, values=np.rint(signal.values / 3)))
    assert not done, "its values repeat anyway"


def test_an_outage_is_zero_where_zero_is_rare() -> None:
    signal = steady()
    _, values = injected("outage", signal)
    assert not values[AT].any()
    often = signal.values.copy()
    often[::50] = 0.0
    assert not injected("outage", replace(signal, values=often))[0]


def test_noise_grows_around_the_expected_value() -> None:
    signal = steady()
    _, values = injected("noise_burst", signal)
    factors = (values[AT] - 50.0) / (signal.values[AT] - 50.0)
    assert np.ptp(factors) < 1e-6
    assert 3.0 <= factors[0] <= 10.0


def test_a_drift_begins_at_nothing_and_ends_at_six_scales_or_more() -> None:
    signal = steady()
    _, values = injected("drift", signal)
    added = (values[AT] - signal.values[AT]) / 2.0
    assert added[0] == 0.0
    assert np.ptp(np.diff(added)) < 1e-9
    assert 6.0 <= added[-1] <= 20.0


def test_a_missing_season_is_low_when_it_is_usually_high() -> None:
    signal = seasonal()
    peak = slice(96, 120)  # the upper half of the season
    done, values = injected("missing_season", signal, peak)
    assert done
    assert values[peak].max() < 40.0 < signal.values[peak].mean()
    assert not injected("missing_season", signal, slice(128, 136))[0], "it is low anyway"


def test_an_amplitude_changes_about_the_median() -> None:
    signal = seasonal()
    for seed in range(10):
        done, values = injected("amplitude", signal, slice(96, 192), seed)
        assert done
        noise = signal.values[96:192] - signal.base[96:192]
        factors = (values[96:192] - noise - 50.0)[6::24] / (signal.base[96:192] - 50.0)[6::24]
        assert factors == pytest.approx(np.full(4, factors[0]), rel=0.01)
        assert 1.49 < factors[0] < 2.51 or 0.19 < factors[0] < 0.51


def test_another_period_is_faster_or_slower() -> None:
    signal = seasonal()
    for seed in range(10):
        _, values = injected("changed_period", signal, slice(96, 288), seed)
        noise = signal.values[96:288] - signal.base[96:288]
        crossings = np.count_nonzero(np.diff(np.sign(values[96:288] - noise - 50.0 + 1e-6)))
        assert crossings >= 11 or crossings <= 6, "8 before"


def test_spikes_of_an_ordinary_size_are_dense() -> None:
    signal = steady()
    _, values = injected("spike_density", signal, slice(100, 300))
    height = (values - signal.values)[100:300] / 2.0
    assert 0.15 < np.mean(height > 0) < 0.65
    assert height.max() <= extreme(signal)
    assert height[height > 0].min() >= 0.6 * extreme(signal)


@pytest.mark.parametrize(
    ("anomaly", "season", "least", "most"),
    [
        ("spike", 0, 1, 6),
        ("dip", 48, 1, 6),
        ("outage", 0, 3, 39),
        ("missing_season", 48, 24, 24),
        ("missing_season", 0, 4, 4),
        ("amplitude", 48, 48, 48),
        ("changed_period", 48, 144, 144),
        ("changed_period", 200, 200, 200),
        ("drift", 0, 80, 249),
        ("flatline", 0, 24, 119),
        ("flatline", 48, 72 + 12, 72 + 59),
        ("level_up", 0, 24, 119),
    ],
)
def test_lengths_fit_the_anomaly(anomaly: str, season: int, least: int, most: int) -> None:
    rng = np.random.default_rng(1)
    lengths = {length_of(anomaly, replace(steady(), season=season), rng) for _ in range(2000)}
    assert (min(lengths), max(lengths)) == (least, most)
