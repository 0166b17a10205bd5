"""What a switch is asked for: no path more often than it reads it; over IPv6 too."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from ingest.collectors.gnmi.config import Source
from ingest.collectors.gnmi.subscriptions import refresh_s, subscriptions_of
from telemetry.gnmi import gnmi_pb2
from tests.conformance.collectors.gnmi_peer import SYNC, Requests, Responses, collecting, job, serving, steady
from tests.waiting import until

ASKED_S = 0.5


async def test_a_switch_is_asked_for_no_path_more_often_than_it_reads_it() -> None:
    asked: list[gnmi_pb2.SubscriptionList] = []

    async def remember(requests: Requests, context: Any) -> Responses:
        asked.append((await anext(requests)).subscribe)
        yield SYNC
        await asyncio.Event().wait()

    async with serving(remember) as address:
        config = job(address, source=Source.SONIC, subscriptions=(), interval_s=ASKED_S)
        async with collecting(config):
            await until(lambda: len(asked) >= len(subscriptions_of(config)))
    floors = {
        (each.prefix.target, path): (entry.sample_interval / 1e9, refresh_s(Source.SONIC, path))
        for each in asked
        for entry in each.subscription
        if entry.mode == gnmi_pb2.SAMPLE
        for path in ["/".join(elem.name for elem in entry.path.elem)]
    }
    assert len(floors) > 5
    assert {interval_s >= max(floor_s, ASKED_S) for interval_s, floor_s in floors.values()} == {True}
    assert floors["COUNTERS_DB", "PERIODIC_WATERMARKS/Ethernet*/PriorityGroups"][0] == 60.0


async def test_that_a_switch_sends_no_port_names_is_logged_once_and_not_where_it_is_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ingest.collectors.gnmi.collector._NAMES_TIMEOUT_S", 0.2)
    asked: list[gnmi_pb2.SubscriptionList] = []

    async def silent(requests: Requests, context: Any) -> Responses:
        asked.append((await anext(requests)).subscribe)
        await asyncio.Event().wait()
        yield SYNC

    async with serving(silent) as address:
        config = job(address, source=Source.SONIC, subscriptions=())
        with capture_logs() as of_silent:
            async with collecting(config):
                await until(lambda: len(asked) >= len(subscriptions_of(config)))
    with capture_logs() as of_down:
        async with collecting(config):
            await until(lambda: len([line for line in of_down if line["event"] == "subscription ended"]) >= 4)
    logged = [[line["event"] for line in lines].count("target sends no port names") for lines in (of_silent, of_down)]
    assert logged == [1, 0]


async def test_a_switch_that_has_ipv6_alone() -> None:
    async with serving(steady, host="[::1]") as address, collecting(job(address)) as (emitted, _):
        key = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'
        await emitted.until(lambda: key in emitted.values())
        assert {batch.table.target for batch in emitted.batches} == {f"test/{address}"}
        assert address.startswith("[::1]:")
