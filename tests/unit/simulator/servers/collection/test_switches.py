"""Switches with wrong clocks, and streams that lose samples or end in a burst of losses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest

from common.units import NS_PER_S
from simulator.collection.clocks import Clock
from simulator.layout import Exporter
from simulator.servers.collection.samples import SampleLosses, SampleOutcome
from simulator.servers.gnmi.server import Credentials, GnmiServer, View
from simulator.servers.gnmi.sonic import SonicTree
from simulator.servers.snapshot import Latest
from tests.servers.process import free_port
from tests.unit.simulator.servers.gnmi.streams import subscribed
from tests.unit.simulator.servers.readings import NOW_NS, filled_readings, small_layout

PATH, DATABASE = "COUNTERS/Ethernet*", "COUNTERS_DB"
LAYOUT = small_layout()


class Scripted(SampleLosses):
    """These outcomes, then SENT for ever. asked: how often."""

    def __init__(self, *outcomes: SampleOutcome) -> None:
        self.retry_s, self.asked, self._outcomes = 0.01, 0, list(outcomes)

    def next(self) -> SampleOutcome:
        self.asked += 1
        return self._outcomes.pop(0) if self._outcomes else SampleOutcome.SENT


@asynccontextmanager
async def leaf(clock: Clock | None = None, losses: SampleLosses | None = None) -> AsyncIterator[str]:
    latest = Latest(filled_readings(LAYOUT))
    view = View(latest.of_exporter(LAYOUT.endpoint_index[Exporter.GNMI, "leaf1"]), latest, clock)
    server = GnmiServer(f"127.0.0.1:{free_port()}", SonicTree(LAYOUT, "leaf1"), view, Credentials(), losses)
    await server.open()
    try:
        yield server.address
    finally:
        await server.close()


async def test_a_wrong_clock_is_in_the_time_of_samples() -> None:
    slow = Clock(NOW_NS, offset_ns=-7 * NS_PER_S)
    async with leaf(slow) as address, subscribed(address, PATH, target=DATABASE) as stream:
        (sent,) = await stream.until_sync()
    assert sent.timestamp == NOW_NS - 7 * NS_PER_S


async def test_a_lost_sample_leaves_the_stream_open() -> None:
    losses = Scripted(SampleOutcome.SENT, SampleOutcome.LOST, SampleOutcome.LOST)
    async with leaf(losses=losses) as address, subscribed(address, PATH, target=DATABASE) as stream:
        await stream.until_sync()
        await stream.next()
        assert losses.asked == 4, "the initial values, two samples that are lost, and this one"


async def test_a_stream_can_end_in_a_burst_and_be_subscribed_again() -> None:
    losses = Scripted(SampleOutcome.SENT, SampleOutcome.CLOSED, SampleOutcome.CLOSED)
    async with leaf(losses=losses) as address:
        async with subscribed(address, PATH, target=DATABASE) as stream:
            await stream.until_sync()
            with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
                await stream.next()
        async with subscribed(address, PATH, target=DATABASE) as stream:
            with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
                await stream.next()
        async with subscribed(address, PATH, target=DATABASE) as stream:
            assert await stream.until_sync()


async def test_a_stream_that_begins_in_a_burst_has_to_wait() -> None:
    losses = Scripted(SampleOutcome.LOST, SampleOutcome.LOST)
    async with leaf(losses=losses) as address, subscribed(address, PATH, target=DATABASE) as stream:
        assert await stream.until_sync()
        assert losses.asked == 3
