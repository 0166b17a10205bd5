"""Groups of peers as the evaluation makes them, and what a trial counts."""

import numpy as np
import pytest

from evaluation.models.peers import (
    LEARN,
    OBSERVE,
    SCENES,
    TrialResult,
    _row,
    joins,
    skewed,
    steady,
    together,
    trial,
    two_modes,
)

STEPS = LEARN + OBSERVE


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("scene", SCENES)
def test_levels_are_positive_and_of_the_same_shape(scene: str) -> None:
    levels, present = SCENES[scene](rng(), 64, STEPS)
    assert levels.shape == present.shape == (STEPS, 64)
    assert levels.min() > 0
    again, _ = SCENES[scene](rng(), 64, STEPS)
    assert levels.tobytes() == again.tobytes()


def test_steady_members_are_one_to_three_percent_apart() -> None:
    spreads = [np.std(np.log(steady(rng(seed), 2000, 2)[0][0])) for seed in range(30)]
    assert {round(spread, 2) for spread in spreads} == {0.01, 0.02, 0.03}
    levels, present = steady(rng(), 8, 5)
    assert np.ptp(levels, axis=0).max() == 0.0
    assert present.all()


def test_half_of_the_members_may_have_another_mode() -> None:
    levels, _ = two_modes(rng(), 64, 60)
    ratio = levels[:, :32].mean(axis=1) / levels[:, 32:].mean(axis=1)
    assert ratio[:15] == pytest.approx(np.full(15, 0.4), rel=0.05)
    assert ratio[15:30] == pytest.approx(np.full(15, 0.2), rel=0.05)


def test_hosts_join_and_leave() -> None:
    _, present = joins(rng(), 64, STEPS)
    late = np.flatnonzero(~present[0])
    assert late.size >= 16
    assert present[LEARN // 2 + 10 :, late].mean() > 0.9
    away = (~present).sum(axis=0)
    assert set(away.tolist()) >= {0, LEARN // 2}
    assert away[(np.arange(64) // 4) % 8 == 2].max() <= 10


def test_a_group_that_slows_keeps_its_order() -> None:
    levels, _ = together(rng(), 16, 48)
    assert (levels[0] / levels[10]) == pytest.approx(np.full(16, 0.1))
    assert np.array_equal(np.argsort(levels[0]), np.argsort(levels[47]))


def test_a_third_of_the_hosts_is_read_a_sample_later() -> None:
    levels, _ = skewed(rng(), 48, 48)
    plain, _ = together(rng(), 48, 48)
    late = (np.arange(48) // 8) % 3 == 0
    assert np.array_equal(levels[1:, late], plain[:-1, late])
    assert np.array_equal(levels[:, ~late], plain[:, ~late])


def test_a_slow_member_is_found_and_no_other() -> None:
    found = trial(steady, 64, 1, 0.2, 3)
    assert (found.faulty, len(found.delays), found.false) == (1, 1, 0)
    assert 1 <= found.delays[0] <= 5
    assert found.healthy_samples == 64 * LEARN + 63 * OBSERVE


def test_without_an_effect_nothing_is_found() -> None:
    found = trial(steady, 64, 3, 0.0, 3)
    assert (found.faulty, found.delays) == (3, ())


def test_rows_are_shares_of_the_faulty_and_rates_of_the_healthy() -> None:
    found = [TrialResult(2, (1, 9), 1, 300_000), TrialResult(2, (3,), 0, 700_000)]
    assert _row("some", found) == {
        "name": "some",
        "soon": 0.5,
        "recall": 0.75,
        "delay": 3.0,
        "false": 1,
        "false_per_million": 1.0,
    }
    healthy = _row("healthy", [TrialResult(0, (), 3, 2_000_000)])
    assert (healthy["soon"], healthy["recall"], healthy["delay"], healthy["false_per_million"]) == (
        None,
        None,
        None,
        1.5,
    )
