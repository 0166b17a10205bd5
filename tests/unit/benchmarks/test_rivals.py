"""The methods that ours is compared with are causal, and find what anybody would find."""

import numpy as np
import pytest

from benchmarks.detection.evaluate import METHODS
from benchmarks.detection.series import Series


def series(values: np.ndarray) -> Series:
    times_ns = np.arange(values.size, dtype=np.int64) * 300_000_000_000
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
