"""Every method that is compared is causal, and finds obvious anomalies."""

import numpy as np
import pytest

from common.units import NS_PER_S
from evaluation.scores.methods import METHODS
from evaluation.series.labelled import Series


def series(values: np.ndarray) -> Series:
    times_ns = np.arange(values.size, dtype=np.int64) * 300 * NS_PER_S
    return Series("test", 0, times_ns, values, (), values.size // 7)


@pytest.mark.parametrize("method", METHODS)
def test_scores_do_not_change_with_what_comes_later(method):
    values = np.random.default_rng(3).normal(10, 1, 900)
    first = values.copy()
    first[700:] += 50
    # The same probation for both: it is where the forest is first fitted.
    assert METHODS[method](series(first))[:700].tobytes() == METHODS[method](series(values))[:700].tobytes()


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"left matrix profile"}))
def test_a_huge_spike_scores_higher_than_most_noise(method):
    values = np.random.default_rng(4).normal(10, 1, 1500)
    values[1200] += 40
    scores = METHODS[method](series(values))
    assert scores[1200] > np.quantile(scores[400:1190], 0.95)


def test_the_matrix_profile_finds_a_shape_never_seen():
    values = np.sin(np.arange(1500) * 2 * np.pi / 50) + np.random.default_rng(5).normal(0, 0.02, 1500)
    values[1200:1220] = values[1200]
    scores = METHODS["left matrix profile"](series(values))
    assert scores[1205:1240].max() > 2 * scores[400:1190].max()


def noise(seed: int, points: int = 1500) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, points)


def test_knn_cad_finds_a_shape_never_seen():
    values = np.sin(np.arange(1500) * 2 * np.pi / 50) + 0.02 * noise(6)
    values[1200:1220] = values[1200]
    scores = METHODS["KNN-CAD"](series(values))
    assert scores[1205:1240].max() > scores[:1200].max()


def test_the_random_cut_forest_finds_a_value_between_two_usual_ones():
    values = np.where(np.arange(1500) % 20 < 10, 10.0, -10.0) + 0.1 * noise(7)
    values[1215] = 0.0
    scores = METHODS["random cut forest"](series(values))
    assert scores[1215:1219].max() > scores[256:1215].max()


def test_the_random_cut_forest_counts_equal_points():
    values = np.where(np.arange(1500) % 20 < 10, 10.0, 0.0)
    values[1215] = 20.0
    scores = METHODS["random cut forest"](series(values))
    assert scores[1215] > 2 * scores[300:1215].max()


@pytest.mark.parametrize("sign", [1, -1])
def test_cusum_adds_up_small_deviations(sign):
    values = noise(8)
    values[1200:] += sign * 0.8 * np.arange(300)
    scores = METHODS["CUSUM"](series(values))
    assert np.abs(np.diff(values[1199:1215])).max() < np.abs(np.diff(values[:1200])).max()
    assert scores[1200:1215].max() > scores[100:1200].max()


def test_bayesian_change_points_find_another_variance():
    values = noise(9)
    values[1200:] *= 6
    scores = METHODS["Bayesian change points"](series(values))
    assert scores[1200:1215].max() > scores[300:1200].max()


def test_flux_ev_expects_the_spike_of_every_day_and_finds_another():
    values = noise(10, 4320)
    values[100::288] += 30
    values[3000] += 30
    scores = METHODS["FluxEV"](series(values))
    every_day = scores[np.arange(100 + 4 * 288, 4320, 288)]
    assert scores[3000] > every_day.max()


@pytest.mark.parametrize("points", [4320, 1500])  # with and without two days before the first that counts
def test_one_shot_stl_finds_a_usual_value_at_an_unusual_time(points):
    values = 10 * np.sin(np.arange(points) * 2 * np.pi / 288) + 0.3 * noise(11, points)
    at = points // 288 * 288 - 216  # when the value is highest
    values[at : at + 3] = 0.0
    scores = METHODS["OneShotSTL"](series(values))
    assert scores[at : at + 3].max() > scores[-3 * 288 : at].max()
