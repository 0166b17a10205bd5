"""What a switch is asked for: no path more often than it reads it; over IPv6 too."""

import asyncio
from typing import Any

import grpc.aio

from ingest.collectors.gnmi.config import Source
from ingest.collectors.gnmi.subscriptions import refresh_s, subscriptions_of
from telemetry.gnmi import gnmi_pb2, gnmi_pb2_grpc
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


async def test_a_switch_that_has_ipv6_alone() -> None:
    class Servicer(gnmi_pb2_grpc.gNMIServicer):
        async def Subscribe(self, request_iterator: Requests, context: Any) -> Responses:
            async for message in steady(request_iterator, context):
                yield message

    server = grpc.aio.server()
    gnmi_pb2_grpc.add_gNMIServicer_to_server(Servicer(), server)
    port = server.add_insecure_port("[::1]:0")
    await server.start()
    try:
        async with collecting(job(f"[::1]:{port}")) as (emitted, _):
            key = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'
            await emitted.until(lambda: key in emitted.values())
            assert {batch.table.target for batch in emitted.batches} == {f"test/[::1]:{port}"}
    finally:
        await server.stop(None)
