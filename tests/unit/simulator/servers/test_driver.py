"""The thread that owns the cluster: when faults begin, what is rejected, and what it hands out."""

from collections.abc import AsyncIterator

import numpy as np
import pytest
import structlog.testing

from common.errors import ConfigError
from common.units import NS_PER_S
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import ScheduledFault
from simulator.servers.driver import ClusterDriver

START_NS = 1_795_000_000 * NS_PER_S
CONFIG = SimulatorConfig(hosts=2, gpus_per_host=2, jobs=JobMix(jobs=1), step_ms=50)


@pytest.fixture
async def driver() -> AsyncIterator[ClusterDriver]:
    built = ClusterDriver(CONFIG, START_NS)
    await built.start([])
    yield built
    built.stop()


def fault(name: str, at_s: float, target: str = "") -> ScheduledFault:
    return ScheduledFault(fault=name, at_s=at_s, target=target)


async def test_the_start_takes_one_step() -> None:
    driver = ClusterDriver(CONFIG, START_NS)
    state = await driver.start([fault("hung-gpu", 0.0, "node1/0")])
    driver.stop()
    assert state.readings.now_ns == START_NS + 50_000_000
    assert [truth.fault for truth in state.truth] == ["hung-gpu"]


async def test_a_state_is_a_copy(driver: ClusterDriver) -> None:
    before = await driver.advance(START_NS + NS_PER_S)
    energy = before.readings.gpus.energy_joules.copy()
    after = await driver.advance(START_NS + 4 * NS_PER_S)
    assert np.array_equal(before.readings.gpus.energy_joules, energy)
    assert (after.readings.gpus.energy_joules > energy).all()
    assert (before.changes, len(after.changes)) == ((), 1)


@pytest.mark.parametrize(
    ("at_s", "from_now", "expected_s"),
    [
        (0.0, True, 2.0),
        (3.0, True, 5.0),
        (30.0, False, 30.0),
        (0.5, False, 2.0),  # a time that has passed is now
    ],
)
async def test_a_fault_is_scheduled_from_now_or_from_the_start(
    driver: ClusterDriver, at_s: float, from_now: bool, expected_s: float
) -> None:
    await driver.advance(START_NS + 2 * NS_PER_S)
    assert await driver.inject(fault("hung-gpu", at_s, "node1/0"), from_now=from_now) == expected_s
    state = await driver.advance(START_NS + int((expected_s + 1) * NS_PER_S))
    assert state.truth[0].start_ns == START_NS + int(expected_s * NS_PER_S)


async def test_a_fault_that_begins_at_once_is_rejected_where_its_target_does_not_exist(driver: ClusterDriver) -> None:
    with pytest.raises(ConfigError, match="hung-gpu: no target 'node9/0'"):
        await driver.inject(fault("hung-gpu", 0.0, "node9/0"), from_now=True)
    state = await driver.advance(START_NS + 2 * NS_PER_S)
    assert state.truth == ()


async def test_a_fault_that_begins_later_is_logged_and_dropped(driver: ClusterDriver) -> None:
    await driver.inject(fault("hung-gpu", 1.0, "node9/0"), from_now=True)
    await driver.inject(fault("hung-gpu", 1.0, "node1/1"), from_now=True)
    with structlog.testing.capture_logs() as logs:
        await driver.advance(START_NS + 2 * NS_PER_S)
        state = await driver.advance(START_NS + 3 * NS_PER_S)
    (line,) = logs
    assert (line["event"], line["log_level"], line["target"]) == ("fault rejected", "error", "node9/0")
    assert "no target 'node9/0'" in line["error"]
    assert [str(truth.root) for truth in state.truth] == [
        f"gpu:node1/{driver.cluster.layout.gpus[1].uuid}",
    ]


async def test_only_the_named_fault_ends(driver: ClusterDriver) -> None:
    await driver.inject(fault("hung-gpu", 0.0, "node1/0"), from_now=True)
    await driver.inject(fault("straggler-gpu", 0.0, "node2/0"), from_now=True)
    await driver.advance(START_NS + 2 * NS_PER_S)
    await driver.end_fault("hung-gpu")
    state = await driver.advance(START_NS + 3 * NS_PER_S)
    assert {truth.fault: truth.end_ns for truth in state.truth} == {
        "hung-gpu": START_NS + 2 * NS_PER_S,
        "straggler-gpu": 0,
    }


async def test_the_histogram_of_durations_follows_the_storage(driver: ClusterDriver) -> None:
    state = await driver.advance(START_NS + 4 * NS_PER_S)  # the job reads its first data from 2 s on
    reads = state.readings.storage.reads
    assert reads.min() > 0
    assert driver.io_times.counts[:, :, 0].sum(axis=1) == pytest.approx(reads)
