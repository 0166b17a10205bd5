"""The tails of a kind: geometric means of those of its series, handed to new ones."""

import math

import numpy as np
import pytest

from analytics.models.scoring import pooled
from analytics.models.scoring.layout import EXCESS, EXPERTS, LEVEL_UP, PHASE_UP, POOL
from tests.unit.analytics.models.scoring import records


def test_a_kind_knows_the_geometric_means_of_its_series() -> None:
    pool = np.zeros(EXPERTS, POOL)
    for threshold, excess, square in ((2.0, 1.0, 2.0), (8.0, 4.0, 128.0)):
        tails = records.tails()
        tails.threshold[:], tails.excess[:], tails.square[:] = threshold, excess, square
        pooled.learn(pool, tails)
    assert np.exp(pool["log_threshold"][:PHASE_UP]) == pytest.approx(4.0)
    assert np.exp(pool["log_excess"][:PHASE_UP]) == pytest.approx(2.0)
    assert np.exp(pool["log_breadth"][:PHASE_UP]) == pytest.approx(4.0)  # of 2 / 1² and 128 / 4²
    assert pool["samples"].tolist() == [2.0] * PHASE_UP + [0.0] * (EXPERTS - PHASE_UP)


def test_values_near_0_have_a_logarithm() -> None:
    pool, tails = np.zeros(EXPERTS, POOL), records.tails()
    tails.threshold[:], tails.excess[:], tails.square[:] = -1.0, 0.0, 0.0
    pooled.learn(pool, tails)
    assert pool["log_threshold"][LEVEL_UP] == pool["log_breadth"][LEVEL_UP] == pytest.approx(math.log(1e-3))


@pytest.mark.parametrize(("samples", "begins"), [(7.0, False), (8.0, True)])
def test_a_new_series_begins_with_the_tails_of_its_kind_once_there_are_eight(samples: float, begins: bool) -> None:
    pool, tails = np.zeros(EXPERTS, POOL), records.tails()
    pool["samples"], pool["log_threshold"], pool["log_excess"] = samples, math.log(5.0), math.log(2.0)
    pool["log_breadth"] = math.log(3.0)
    before = tails.threshold.copy()
    pooled.begin_tails(pool, tails)
    if begins:
        assert tails.threshold[:PHASE_UP] == pytest.approx(5.0)
        assert tails.square[:PHASE_UP] == pytest.approx(3.0 * 2.0 * 2.0)
        assert tails.excesses[LEVEL_UP] == EXCESS * 20.0
        assert (tails.threshold[PHASE_UP:] == before[PHASE_UP:]).all()
    else:
        assert (tails.threshold == before).all()
