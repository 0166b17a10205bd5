"""Clocks under a power limit, and chips that differ."""

import numpy as np
import pytest
from numpy.typing import NDArray

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.conditions.config import ConditionConfig
from simulator.config import SimulatorConfig
from simulator.counters.readings import SW_POWER_CAP, SW_THERMAL, THROTTLE_REASONS
from simulator.faults.schedule import parse_fault

GHZ = 1e9


class Watched:
    """Minutes of a cluster, read every 0.5 s after the first half minute, [times, GPUs]."""

    def __init__(self, *names: str, seconds: int = 240, fault: str = "") -> None:
        conditions = tuple(ConditionConfig(name=name) for name in names)
        config = SimulatorConfig(step_ms=50, spines=1, uplink_gbps=3200.0, seed=5, conditions=conditions)
        self.cluster = SimulatedCluster(config, start_ns=0)
        if fault:
            self.cluster.inject(parse_fault(fault))
        rows: list[tuple[NDArray[np.generic], ...]] = []
        for half in range(60, 2 * seconds):
            self.cluster.advance(half * NS_PER_S // 2)
            g = self.cluster.readings.gpus
            now = (g.sm_clock_hertz, g.power_watts, g.power_limit_watts, g.throttle_mask)
            rows.append(tuple(column.copy() for column in now))
        self.hertz, self.watts, self.limit, self.mask = (np.array(column) for column in zip(*rows, strict=True))


@pytest.fixture(scope="module")
def capped() -> Watched:
    return Watched("power-cap")


@pytest.fixture(scope="module")
def spread() -> Watched:
    return Watched("chip-spread")


def held(watched: Watched) -> np.ndarray:
    return (watched.mask & SW_POWER_CAP) > 0


def test_clocks_are_between_1_2_and_1_98_ghz(capped: Watched) -> None:
    busy = capped.hertz[capped.hertz > 0.5 * GHZ]
    low, middle, high = np.percentile(busy, [0.5, 50, 99.5]) / GHZ
    assert 1.15 < low < 1.45
    assert 1.5 < middle < 1.85
    assert high == pytest.approx(1.98)


def test_power_stays_at_the_limit(capped: Watched) -> None:
    assert capped.limit.min() >= 350.0
    assert capped.limit.max() <= 700.0
    assert (capped.watts > 1.05 * capped.limit).mean() < 0.01
    assert np.median((capped.watts / capped.limit)[held(capped)]) > 0.7


def test_the_reason_is_power_and_not_heat(capped: Watched) -> None:
    slow = (capped.hertz < 0.994 * 1.98 * GHZ) & (capped.hertz > 0.5 * GHZ)
    assert (held(capped) == slow).mean() > 0.98, "but for clocks that settle"
    assert not (capped.mask & SW_THERMAL).any()
    seconds = capped.cluster.readings.gpus.throttle_ns / 1e9
    assert seconds[:, THROTTLE_REASONS.index("sw_power_cap")].min() > 60.0
    assert seconds.sum() == seconds[:, THROTTLE_REASONS.index("sw_power_cap")].sum()


def test_the_limit_moves_over_minutes_and_is_that_of_a_host(capped: Watched) -> None:
    limit = capped.limit.reshape(len(capped.limit), -1, 8)
    assert (limit.std(axis=2) == 0.0).all()
    assert np.abs(np.diff(limit[:, :, 0], axis=0)).max() < 60.0
    assert np.ptp(limit[:, :, 0], axis=0).mean() > 50.0


def test_chips_differ_by_a_few_percent_at_equal_limit(spread: Watched) -> None:
    clocks = np.array([np.median(chip[mask]) for chip, mask in zip(spread.hertz.T, held(spread).T, strict=True)])
    assert 0.012 < clocks.std() / clocks.mean() < 0.035
    assert 0.05 < np.ptp(clocks) / clocks.mean() < 0.16
    assert (spread.limit == 700.0).all()


def test_a_chip_keeps_its_rank(spread: Watched) -> None:
    half = len(spread.hertz) // 2
    early, late = spread.hertz[:half].mean(axis=0), spread.hertz[half:].mean(axis=0)
    assert np.corrcoef(early, late)[0, 1] > 0.9


def test_a_stuck_clock_has_no_power_reason(capped: Watched) -> None:
    with_fault = Watched("power-cap", seconds=60, fault="straggler-gpu@10s:node1/0")
    assert with_fault.hertz[:, 0].max() < 0.56 * 1.98 * GHZ
    assert held(with_fault)[:, 0].mean() < 0.2 < held(with_fault)[:, 1:].mean()


def test_both_together_spread_more_than_either(capped: Watched, spread: Watched) -> None:
    both = Watched("power-cap", "chip-spread", seconds=60)
    assert both.cluster.machine.gpus.demand.std() > spread.cluster.machine.gpus.demand.std()
    assert both.hertz.mean() < spread.hertz.mean()
