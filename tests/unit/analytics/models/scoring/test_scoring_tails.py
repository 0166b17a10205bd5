"""What tails learn of values below their thresholds: one stride for all experts does what each of them would."""

import numpy as np
import pytest

from analytics.models.scoring import tails as tail
from analytics.models.scoring.layout import EXPERTS, PHASE_UP, TAIL_WIDTH, THRESHOLD


@pytest.mark.parametrize("experts", [PHASE_UP, EXPERTS])
def test_all_at_once_is_one_after_the_other(experts: int) -> None:
    rng = np.random.default_rng(1)
    together = np.zeros((TAIL_WIDTH, EXPERTS), np.float32)
    for expert in range(EXPERTS):
        tail.begin(together, expert, rng.uniform(0.5, 40.0), rng.uniform(0.2, 5.0))
    alone, before = together.copy(), together.copy()
    statistics = np.full(EXPERTS, -1.0)
    assert not tail.any_beyond(together, statistics, experts)
    tail.lower(together, 0.7 * 0.25, experts)
    for expert in range(experts):
        tail.learn(alone, expert, -1.0, 0.7, 0.25, 0.15)
    np.testing.assert_allclose(together, alone, rtol=1e-6)
    assert (together[THRESHOLD, :experts] < before[THRESHOLD, :experts]).all()
    assert (together[THRESHOLD, experts:] == before[THRESHOLD, experts:]).all()


@pytest.mark.parametrize("expert", range(PHASE_UP))
def test_one_beyond_its_threshold_is_seen(expert: int) -> None:
    tails, statistics = np.zeros((TAIL_WIDTH, EXPERTS), np.float32), np.zeros(EXPERTS)
    for one in range(EXPERTS):
        tail.begin(tails, one, 2.3, 0.55)
    statistics[PHASE_UP] = 99.0  # of an expert that is not asked
    assert not tail.any_beyond(tails, statistics, PHASE_UP)
    statistics[expert] = 2.4
    assert tail.any_beyond(tails, statistics, PHASE_UP)
