"""KNN-CAD against its definition on a small series."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from common.units import NS_PER_S
from evaluation.baselines.neighbours import _nonconformity, _sum_of_nearest, _whitening, knn_cad
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats


def noise(points: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(5.0, 1.0, points)


def series(values: Floats, probation: int) -> Series:
    times_ns = np.arange(values.size, dtype=np.int64) * 300 * NS_PER_S
    return Series("test", 0, times_ns, values, (), probation)


def test_the_nearest_rows_are_summed() -> None:
    white = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0], [10.0, 0.0]])
    assert _sum_of_nearest(white, 0, 4, np.zeros(2), 3) == pytest.approx(0 + 1 + 5)
    assert _sum_of_nearest(white, 1, 4, np.zeros(2), 2) == pytest.approx(1 + 5)


def test_whitened_distances_are_mahalanobis_distances() -> None:
    rows = np.random.default_rng(1).normal(size=(50, 3)) @ np.array([[2.0, 0, 0], [1, 1, 0], [0, 3, 1]])
    white = rows @ _whitening(rows, np.eye(3))
    moments = np.linalg.inv(rows.T @ rows)
    off = rows[3] - rows[7]
    assert np.linalg.norm(white[3] - white[7]) ** 2 == pytest.approx(off @ moments @ off)


def test_a_singular_matrix_keeps_the_one_before() -> None:
    before = 2.0 * np.eye(3)
    assert _whitening(np.ones((20, 3)), before) is before


def test_nonconformity_is_against_rows_of_the_training_set_alone() -> None:
    lags, kept, neighbours = 3, 20, 4
    rows = sliding_window_view(noise(90), lags)
    found = _nonconformity(rows, kept, neighbours)
    fitted_at = kept + (kept // 2) * ((np.arange(rows.shape[0]) - kept) // (kept // 2))  # when the matrix was fitted
    for i in (20, 29, 30, 45, 87):
        first = max(int(fitted_at[i]) - 2 * kept, 0)
        moments = np.linalg.inv(rows[first : first + kept].T @ rows[first : first + kept])
        begin = max(i - 2 * kept, first)
        distances = [np.sqrt((rows[i] - row) @ moments @ (rows[i] - row)) for row in rows[begin : begin + kept]]
        assert found[i] == pytest.approx(np.sort(distances)[:neighbours].sum(), rel=1e-6)


def test_a_row_of_the_training_set_is_not_its_own_neighbour() -> None:
    rows = sliding_window_view(noise(60), 3)
    moments = np.linalg.inv(rows[:20].T @ rows[:20])
    distances = [np.sqrt((rows[5] - row) @ moments @ (rows[5] - row)) for row in rows[:20]]
    assert _nonconformity(rows, 20, 4)[5] == pytest.approx(np.sort(distances)[:5].sum(), rel=1e-6)


def test_the_score_is_the_share_of_calibration_points_that_conform_better() -> None:
    lags, probation, neighbours = 3, 42, 4
    values = noise(200)
    found = knn_cad(series(values, probation), lags, neighbours)
    kept = probation - lags + 1
    nonconformity = _nonconformity(sliding_window_view(values, lags), kept, neighbours)
    for i in (kept, kept + 30, 190):
        before = nonconformity[i - kept : i]
        beyond = max(np.log(nonconformity[i] / before.max()), 0.0)
        assert found[i + lags - 1] == pytest.approx(np.mean(before < nonconformity[i]) + beyond)
    assert not found[: kept + lags - 1].any()
    assert not knn_cad(series(values[:40], probation), lags, neighbours).any(), "too short"
