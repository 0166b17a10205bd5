"""When groups are collected and how old their values are."""

from itertools import islice

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.collection.config import Timing
from simulator.collection.schedule import GRID_NS, GroupTimes, Turn, on_grid

HOUR_NS = 3600 * NS_PER_S
TURN = Turn(10.0, part=1, parts=4)


def times(timing: Timing, seed: int = 1, connected_ns: int = 0, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Collections and reads in seconds."""
    found = islice(GroupTimes(timing, TURN, connected_ns, np.random.default_rng(seed)), n)
    at, read = np.array(list(found)).T / NS_PER_S
    return at, read


def test_a_target_without_an_interval_is_read_in_its_part_of_the_clusters() -> None:
    at, read = times(Timing())
    assert at.tolist() == [5.0 + 10.0 * k for k in range(200)]
    assert (read == at).all()


@pytest.mark.parametrize("interval_s", [1.0, 15.0, 60.0])
def test_an_interval_of_its_own_is_kept_from_a_phase_of_its_own(interval_s: float) -> None:
    at, _ = times(Timing(interval_s=(interval_s,)), connected_ns=round(1234.56 * NS_PER_S))
    assert np.diff(at).tolist() == [interval_s] * 199
    assert 0 < at[0] <= interval_s
    assert at[0] == pytest.approx(1234.5 % interval_s, abs=0.01)


def test_phases_spread_over_the_interval() -> None:
    rng = np.random.default_rng(3)
    firsts = [times(Timing(interval_s=(30.0,)), connected_ns=int(c), n=1)[0][0] for c in rng.integers(0, HOUR_NS, 400)]
    # Uniform over 30 s: mean 15, standard error 30 / sqrt(12 * 400) = 0.43
    assert np.mean(firsts) == pytest.approx(15.0, abs=1.3)
    assert max(firsts) - min(firsts) > 28.0


def test_groups_of_a_target_fall_together_where_their_intervals_allow() -> None:
    connected_ns = round(777.25 * NS_PER_S)
    seconds, _ = times(Timing(interval_s=(1.0,)), connected_ns=connected_ns, n=100)
    tens, _ = times(Timing(interval_s=(10.0,)), connected_ns=connected_ns, n=9)
    assert set(tens) <= set(seconds)


def test_of_several_intervals_each_target_has_one() -> None:
    timing = Timing(interval_s=(15.0, 30.0, 60.0))
    found = [GroupTimes(timing, TURN, 0, np.random.default_rng(seed)).interval_s for seed in range(300)]
    counts = {interval_s: found.count(interval_s) for interval_s in set(found)}
    assert set(counts) == {15.0, 30.0, 60.0}
    assert min(counts.values()) > 70  # 100 expected, standard deviation 8


def test_jitter_delays_by_up_to_its_length_and_does_not_add_up() -> None:
    at, _ = times(Timing(interval_s=(30.0,), jitter_s=5.0), n=500)
    late = at - 30.0 * np.arange(1, 501)
    assert late.min() == 0.0
    assert 4.0 < late.max() < 5.0
    assert late.mean() == pytest.approx(2.5 - 0.125, abs=0.3)  # rounded down to the grid
    assert (late * NS_PER_S % GRID_NS == 0).all()


def test_values_are_at_most_a_refresh_old_and_repeat() -> None:
    at, read = times(Timing(refresh_s=(30.0,)), n=300)
    assert (read <= at).all()
    assert (at - read).max() < 30.0
    refreshes = np.unique(read)
    assert set(np.diff(refreshes[1:])) == {30.0}, "after the read at the start"
    assert 300 / len(refreshes) == pytest.approx(3.0, abs=0.1), "three scrapes see one refresh"


def test_refreshes_that_come_late_move_all_later_ones() -> None:
    _, read = times(Timing(refresh_s=(10.0,), refresh_jitter_s=2.0), n=500)
    apart = np.diff(np.unique(read)[1:])
    assert apart.min() >= 10.0
    # Each of 0..2 s late, rounded down to 0.25 s: 0.875 on average. Some are never seen: two periods apart
    assert np.median(apart) == pytest.approx(10.875, abs=0.3)


def test_grid_times_are_multiples_of_a_quarter_second() -> None:
    assert [on_grid(ns) for ns in (0, GRID_NS - 1, GRID_NS, NS_PER_S + 1)] == [0, 0, GRID_NS, NS_PER_S]
