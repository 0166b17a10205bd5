"""The blocks of healthy series, by their definitions."""

import numpy as np
import pytest

from evaluation.series.signals import DAY_S, WEEK_S, Signal, autoregressive, bursts, clock, day, pulses, week


def test_a_series_starts_at_any_hour_of_the_week() -> None:
    starts = {float(clock(3, 3600, np.random.default_rng(seed))[0]) for seed in range(300)}
    assert len(starts) > 100
    assert all(0 <= start < WEEK_S and start % 3600 == 0 for start in starts)
    assert np.diff(clock(4, 3600, np.random.default_rng(1))).tolist() == [3600.0] * 3


def test_a_day_is_between_0_and_1_and_repeats() -> None:
    seconds = np.arange(0, 3 * DAY_S, 900, dtype=np.float64)
    for seed in range(10):
        found = day(seconds, np.random.default_rng(seed))
        assert (found.min(), found.max()) == (0.0, 1.0)
        assert found[:96] == pytest.approx(found[96:192])
        assert 10.0 <= found[:96].argmax() / 4 <= 22.5


@pytest.mark.parametrize(
    ("days", "expected"),
    [(0.0, 1.0), (4.99, 1.0), (5.0, 1.0), (5.5, 0.3), (6.5, 0.3), (5 + 1 / 24, 0.65), (6.99999, 1.0)],
)
def test_weekends_are_quiet(days: float, expected: float) -> None:
    assert week(np.array([days * DAY_S]), 0.3)[0] == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
def test_neighbours_correlate_and_the_variance_is_1(correlation: float) -> None:
    found = autoregressive(50_000, correlation, np.random.default_rng(1))
    assert np.corrcoef(found[1:], found[:-1])[0, 1] == pytest.approx(correlation, abs=0.02)
    assert found.var() == pytest.approx(1.0, abs=0.1)


def test_a_burst_decays_by_its_factor_until_the_next() -> None:
    found = bursts(2000, 0.02, 0.5, np.random.default_rng(1))
    begins = np.flatnonzero(np.diff(found) > 0) + 1
    assert 20 < begins.size < 60
    assert found[begins].min() >= 1.0
    inside = np.flatnonzero((found[1:] > 0) & (np.diff(found) < 0)) + 1
    assert found[inside] == pytest.approx(0.5 * found[inside - 1])
    assert not bursts(100, 0.0, 0.5, np.random.default_rng(1)).any()


def test_pulses_last_for_their_width() -> None:
    assert pulses(np.arange(10.0), 5.0, 2.0).tolist() == [1, 1, 0, 0, 0, 1, 1, 0, 0, 0]
    assert pulses(np.arange(10.0), 5.0, 2.0, phase_s=1.0).tolist() == [0, 1, 1, 0, 0, 0, 1, 1, 0, 0]


@pytest.mark.parametrize(("whole", "expected"), [(False, [0.0, 2.6, 10.0]), (True, [0.0, 3.0, 10.0])])
def test_values_are_within_the_limits_of_the_metric(whole: bool, expected: list[float]) -> None:
    nothing = np.zeros(0)
    signal = Signal(60, nothing, nothing, nothing, 0, (), floor=0.0, ceiling=10.0, whole=whole)
    assert signal.bounded(np.array([-1.0, 2.6, 11.0])).tolist() == expected
