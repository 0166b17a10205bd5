"""The MDT receiver and switches that call it: gRPC clients with Cisco's own messages."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from ingest.collectors.cisco_mdt.collector import METHOD, mdt_receiver
from ingest.collectors.cisco_mdt.config import Config
from ingest.collectors.cisco_mdt.proto.telemetry_bis_pb2 import Telemetry
from ingest.collectors.dialled import DialledReceiver
from ingest.collectors.gnmi.links import LinkTable
from telemetry.samples import DownReason
from telemetry.topology import Link
from tests.conformance.collectors.receiving import RunningReceiver, running
from tests.servers.dialling import dial
from tests.unit.ingest.cisco_mdt.telemetry import (
    COUNTERS,
    args,
    as_json,
    managed,
    message,
    microburst,
    nxos,
    nxos_json,
)

RECEIVED = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1/1"}'
KEYS = {"name": "Eth1/1"}


class Receiving(RunningReceiver[DialledReceiver]):
    @asynccontextmanager
    async def dialled(self) -> AsyncIterator[Any]:
        """A call over a connection of its own, for serialised MdtDialoutArgs."""
        async with grpc.aio.insecure_channel(self.address) as channel:
            call: Any = channel.stream_stream(METHOD)
            yield call()


@asynccontextmanager
async def receiving(**settings: Any) -> AsyncIterator[Receiving]:
    config = Config.model_validate(
        {"listen": "127.0.0.1:0", "allow": ("127.0.0.0/8",), "device_from": "node_id", **settings}
    )
    async with running(lambda context: mdt_receiver(config, context, LinkTable())) as started:
        yield Receiving(*started)


def counters(value: int, make: Any = message) -> bytes:
    return bytes(make(COUNTERS, (KEYS, {"in-octets": value}), at_ns=time.time_ns()))


async def test_messages_in_gpb_and_json_become_samples_of_the_node() -> None:
    async with receiving() as here, here.dialled() as call:
        for n, make in enumerate((message, message, as_json)):
            await call.write(args(counters(n, make)))
        await here.emitted.until(lambda: here.emitted.values() == {RECEIVED: [0.0, 1.0, 2.0]})
        assert {(batch.table.target, batch.table.device) for batch in here.emitted.batches} == {("mdt/leaf1", "leaf1")}


async def test_what_nothing_maps_is_kept_where_the_receiver_asks() -> None:
    async with receiving(unmapped="keep") as here, here.dialled() as call:
        await call.write(args(message(COUNTERS, (KEYS, {"in-novelties": 4}), at_ns=time.time_ns())))
        key = 'interfaces_interface_state_counters_in_novelties{device="leaf1",interface_name="Eth1/1"}'
        await here.emitted.until(lambda: here.emitted.values() == {key: [4.0]})


async def test_a_recorded_message_of_a_nexus_arrives() -> None:
    async with receiving(senders={"n9k-eor-tm4": "leaf1"}) as here, here.dialled() as call:
        await call.write(args(microburst(time.time_ns())))
        peak = 'fabric_queue_occupancy_peak_bytes{device="leaf1",port="Ethernet0/0/0",queue="255",reset="read"}'
        await here.emitted.until(lambda: peak in here.emitted.values())
        assert here.emitted.values()[peak] == [500.0]


@pytest.mark.parametrize("made", [nxos, nxos_json])
async def test_objects_and_commands_of_nx_os_become_samples_and_links(made: Any) -> None:
    """GPB and JSON; the neighbour's port has one name with the neighbour's own."""
    port = managed("rmonIfHCIn", {"dn": "sys/intf/phys-[eth1/1]/dbgIfHCIn", "octets": 7})
    near = managed(
        "lldpAdjEp", {"dn": "sys/lldp/inst/if-[eth1/1]/adj-1", "portIdV": "Ethernet1/9", "sysName": "spine1"}
    )
    shown = {"memory_usage_used": 2}
    async with receiving() as here, here.dialled() as call:
        for path, content in (("sys/intf", port), ("sys/lldp", near), ("show system resources", shown)):
            await call.write(args(made(path, content, at_ns=time.time_ns())))
        used = 'fabric_device_memory_bytes{device="leaf1",part="system",state="used"}'
        await here.emitted.until(lambda: here.emitted.values() == {RECEIVED: [7.0], used: [2048.0]})
        await here.emitted.until(lambda: [fact.entity for fact in here.emitted.facts])
        assert [fact.entity for fact in here.emitted.facts] == [Link("leaf1", "Ethernet1/1", "spine1", "Ethernet1/9")]


async def test_a_go_program_that_dials_as_a_switch_does(dialling: Path) -> None:
    """grpc-go with Cisco's own messages; it ends its call, which is no failure of ours."""
    async with receiving(senders={"n9k-eor-tm4": "leaf1"}) as here:
        sent = [Telemetry.FromString(microburst(time.time_ns() + n * 10**9)) for n in range(3)]
        assert await dial(dialling, "mdt", here.address, sent) == "OK"
        peak = 'fabric_queue_occupancy_peak_bytes{device="leaf1",port="Ethernet0/0/0",queue="255",reset="read"}'
        await here.emitted.until(lambda: here.emitted.values().get(peak) == [500.0] * 3)


async def test_a_large_message_comes_in_chunks() -> None:
    rows = [({"name": f"Eth1/{n}"}, {"in-octets": n}) for n in range(500)]
    data = message(COUNTERS, *rows, at_ns=time.time_ns())
    async with receiving(limits={"message_bytes_max": 100_000}) as here, here.dialled() as call:
        for at in range(0, len(data), 10_000):
            await call.write(args(data[at : at + 10_000], len(data)))
        await here.emitted.until(lambda: len(here.emitted.values()) == 500)


async def test_the_device_is_the_sender_unless_nodes_are_believed() -> None:
    async with receiving(device_from="sender", senders={"127.0.0.1": "leaf9"}) as here, here.dialled() as call:
        await call.write(args(counters(1)))
        await here.emitted.until(here.emitted.values)
        assert {batch.table.device for batch in here.emitted.batches} == {"leaf9"}


async def test_two_nodes_behind_one_call_are_two_devices() -> None:
    async with receiving() as here, here.dialled() as call:
        await call.write(args(counters(1)))
        await call.write(args(microburst(time.time_ns())))
        await here.emitted.until(
            lambda: {batch.table.device for batch in here.emitted.batches} == {"leaf1", "n9k-eor-tm4"}
        )


@pytest.mark.parametrize(
    ("sent", "changes", "code"),
    [
        (b"\xff", {}, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (bytes(20_000), {"limits": {"message_bytes_max": 10_000}}, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (args(b"x", 1 << 30), {}, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (args(counters(1)), {"allow": ("10.0.0.0/8",)}, grpc.StatusCode.PERMISSION_DENIED),
    ],
)
async def test_what_is_refused_ends_the_call_and_the_next_call_works(
    sent: bytes, changes: dict[str, Any], code: grpc.StatusCode
) -> None:
    async with receiving(**changes) as here:
        async with here.dialled() as call:
            if code is not grpc.StatusCode.PERMISSION_DENIED:
                await call.write(sent)
            assert await call.code() is code
        if code is not grpc.StatusCode.PERMISSION_DENIED:
            async with here.dialled() as call:
                await call.write(args(counters(1)))
                await here.emitted.until(lambda: here.emitted.values() == {RECEIVED: [1.0]})


async def test_a_switch_that_hangs_up_is_down() -> None:
    async with receiving(silence_s=0.2) as here:
        async with here.dialled() as call:
            await call.write(args(counters(1)))
            await here.emitted.until(here.emitted.values)
        await here.emitted.until(lambda: DownReason.CLOSED in here.emitted.downs)
