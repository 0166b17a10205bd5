"""The service on a real broker, where the clock of the bus or of one ingest host is wrong."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from bus.base import Bus
from bus.config import KafkaConfig
from bus.kafka.bus import KafkaBus
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable
from tests.servers.kafka import KafkaServer
from tests.unit.analytics.small_cluster import SECOND, batch, port_key, table
from tests.unit.analytics.test_service import newest_report, running_service
from tests.unit.traffic import publish_batches
from tests.waiting import until

LEAF, FAR = (table(name, [port_key("fabric_port_up", device=name)]) for name in ("leaf1", "far"))
HOUR_NS = 3600 * SECOND


@asynccontextmanager
async def bus_on(broker: KafkaServer, ahead_ns: int = 0) -> AsyncIterator[Bus]:
    """ahead_ns: how far the clock of this machine is ahead of the broker's."""
    bus = KafkaBus(KafkaConfig(bootstrap=(broker.address,)), lambda: time.time_ns() + ahead_ns)
    await bus.start()
    try:
        yield bus
    finally:
        await bus.stop()


def collections(of: SeriesTable, ahead_ns: int = 0) -> list[SampleBatch]:
    """Ten of the last hundred seconds. ahead_ns: of the clock of the ingest host."""
    end_ns = time.time_ns() + ahead_ns
    found = []
    for seq in range(10):
        one, at_ns = batch(of, seq, [1.0]), end_ns - (10 - seq) * 10 * SECOND
        collection = replace(one.collection, collected_ns=at_ns)
        found.append(replace(one, collection=collection, times_ns=np.full(1, at_ns)))
    return found


def all_in(bus: Bus, samples: int) -> Callable[[], Awaitable[bool]]:
    async def seen() -> bool:
        report = await newest_report(bus)
        return report is not None and report.samples_in >= samples

    return seen


async def test_one_ingest_host_that_is_an_hour_ahead_blinds_nobody(tmp_path: Path, own_kafka: KafkaServer) -> None:
    async with bus_on(own_kafka) as bus, running_service(tmp_path, bus):
        for of, ahead_ns in ((FAR, HOUR_NS), (LEAF, 0)):
            await publish_batches(bus, *collections(of, ahead_ns))
        await until(all_in(bus, 20))
        report = await newest_report(bus)
    assert report is not None
    assert report.dropped == {"ingest_clock_ahead": 10}


async def test_a_bus_that_is_an_hour_behind_is_not_asked_for_the_time(tmp_path: Path, own_kafka: KafkaServer) -> None:
    """The clocks of ingest and analytics agree, and that of the bus does not."""
    async with bus_on(own_kafka, HOUR_NS) as bus, running_service(tmp_path, bus) as service:
        await publish_batches(bus, *collections(LEAF, HOUR_NS))
        await until(all_in(bus, 10))
        report = await newest_report(bus)
        assert report is not None
        assert report.dropped == {}
        problem = service.problem()
        assert problem is not None
        assert problem.startswith("clocks: the bus is 3,600 s behind")
