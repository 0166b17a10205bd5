"""Methods over windows: their features, and the matrix profile against every pair of windows."""

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from common.units import NS_PER_S
from evaluation.baselines.learned import (
    features,
    half_space_trees,
    isolation_forest_of_rows,
    left_discord,
)
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats


def series(values: Floats, probation: int = 100) -> Series:
    times_ns = np.arange(values.size, dtype=np.int64) * 300 * NS_PER_S
    return Series("test", 0, times_ns, values, (), probation)


def noise(points: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(0.0, 1.0, points)


def test_features_are_of_the_last_ten_values() -> None:
    values = np.arange(12.0) ** 2
    last = values[2:12]
    expected = [*values[7:12], 121.0 - last.mean(), 21.0, last.std()]
    assert features(series(values))[11] == pytest.approx(expected)


def test_before_the_first_value_it_is_repeated() -> None:
    assert features(series(np.array([4.0, 9.0])))[0].tolist() == [4.0] * 5 + [0.0, 0.0, 0.0]
    assert features(series(np.array([4.0, 9.0])))[1][:7].tolist() == [4.0] * 4 + [9.0, 4.5, 5.0]


def test_the_forest_is_fitted_to_the_past_alone_and_again_later() -> None:
    values = noise(400)
    of, found = series(values), isolation_forest_of_rows([series(values)], every=150, memory=120)
    rows = features(of)
    assert not found[:100].any()
    for first, end in ((100, 250), (250, 400)):
        fitted = IsolationForest(n_estimators=60, random_state=0).fit(rows[max(0, first - 120) : first])
        assert found[first:end] == pytest.approx(-fitted.score_samples(rows[first:end]))


def test_half_space_trees_score_a_point_before_they_learn_it() -> None:
    values = noise(600)
    found = half_space_trees(series(values))
    longer = half_space_trees(series(np.concatenate([values, noise(50, seed=2) + 100.0])))
    assert longer[:600].tolist() == found.tolist()
    assert found.max() <= 1.0


def z_normalised(window: Floats, least: float) -> Floats:
    return np.asarray((window - window.mean()) / max(window.std(), least))


@pytest.mark.parametrize("memory", [3000, 60])
def test_a_discord_is_far_from_the_nearest_window_that_it_does_not_overlap(memory: int) -> None:
    length, values = 8, np.cumsum(noise(150))
    values += 5.0 * np.sin(np.arange(150))
    found = left_discord(series(values, 20), length, memory)
    count = values.size - length + 1
    least = 0.05 * (values - np.median(values[:20]))[: max(length, count // 7)].std() + 1e-12
    windows = [z_normalised(values[i : i + length], least) for i in range(count)]
    for i in range(length, count):
        before = [j for j in range(i - length + 1) if i - j < min(count, memory)]
        nearest = min(np.linalg.norm(windows[i] - windows[j]) for j in before)
        assert found[i + length - 1] == pytest.approx(nearest, rel=1e-6, abs=1e-6)
    assert not found[: 2 * length - 1].any()


def test_a_series_that_is_shorter_than_two_windows_has_no_discord() -> None:
    assert left_discord(series(noise(24), 10)).tolist() == [0.0] * 24
