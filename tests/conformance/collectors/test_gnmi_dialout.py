"""The dial-out receiver and switches that call it: gRPC clients that send what real switches answered."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from ingest.collectors.dialled import DialledReceiver
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi.paths.elements import parse_path
from ingest.collectors.gnmi_dialout.collector import METHOD, dialout_receiver
from ingest.collectors.gnmi_dialout.config import Config
from ingest.ledger import DropReason
from telemetry.gnmi import gnmi_pb2
from telemetry.samples import DownReason
from tests.conformance.collectors.gnmi_peer import response
from tests.conformance.collectors.receiving import RunningReceiver, running
from tests.samples import SAMPLES
from tests.servers.certificates import Certificates
from tests.servers.dialling import dial
from tests.waiting import until

RECEIVED = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'


class Receiving(RunningReceiver[DialledReceiver]):
    @asynccontextmanager
    async def dialled(self) -> AsyncIterator[Any]:
        """A Publish call over a connection of its own, for serialised messages."""
        async with grpc.aio.insecure_channel(self.address) as channel:
            yield publish_on(channel)


def publish_on(channel: grpc.aio.Channel) -> Any:
    return channel.stream_stream(METHOD)()


@asynccontextmanager
async def receiving(**settings: Any) -> AsyncIterator[Receiving]:
    changes = {"listen": "127.0.0.1:0", "allow": ("127.0.0.0/8",), "senders": {"127.0.0.1": "leaf1"}, **settings}
    config = Config.model_validate(changes)
    async with running(lambda context: dialout_receiver(config, context, LinkTable())) as started:
        yield Receiving(*started)


def of_table(database: str, path: str, document: Any) -> bytes:
    """As SONiC's dial-out client makes it: the database in the prefix, a whole table as JSON."""
    made = gnmi_pb2.SubscribeResponse()
    made.update.timestamp = time.time_ns()
    made.update.prefix.target = database
    made.update.update.add(path=parse_path(path)).val.json_ietf_val = json.dumps(document).encode()
    return bytes(made.SerializeToString())


def recorded(name: str) -> Any:
    return json.loads((SAMPLES / "sonic" / "gnmi" / f"{name}.json").read_text())


async def test_what_a_sonic_switch_answered_arrives_when_it_dials() -> None:
    """Two subscriptions are two calls; the ports' names come in one and their counters in the other."""
    async with receiving() as here, here.dialled() as names, here.dialled() as counters:
        await names.write(of_table("APPL_DB", "PORT_TABLE", recorded("PORT_TABLE")))
        for path in ("COUNTERS/Ethernet68", "COUNTERS/Ethernet68/Queues"):
            await counters.write(of_table("COUNTERS_DB", path, recorded(path.replace("/", "__"))))
        frames = 'fabric_port_pfc_pause_frames_total{device="leaf1",direction="rx",port="Ethernet68",priority="7"}'
        await here.emitted.until(lambda: frames in here.emitted.values() and len(here.emitted.values()) > 60)
        assert here.emitted.values()[frames] == [2.0]
        assert {batch.table.target for batch in here.emitted.batches} == {"dialout/leaf1"}


async def test_a_go_program_that_dials_as_sonic_does(dialling: Path) -> None:
    """grpc-go with openconfig's own messages; it ends its call, which is no failure of ours."""
    async with receiving() as here:
        document = recorded("COUNTERS__Ethernet68")
        sent = gnmi_pb2.SubscribeResponse.FromString(of_table("COUNTERS_DB", "COUNTERS/Ethernet68", document))
        assert await dial(dialling, "sonic", here.address, [sent]) == "OK"
        frames = 'fabric_port_pfc_pause_frames_total{device="leaf1",direction="rx",port="Ethernet68",priority="7"}'
        await here.emitted.until(lambda: here.emitted.values().get(frames) == [2.0])


async def test_updates_of_several_calls_of_one_device_have_one_table() -> None:
    async with receiving() as here, here.dialled() as one, here.dialled() as other:
        for n in range(3):
            await one.write(response(("in-octets", n)).SerializeToString())
            await other.write(response(("out-octets", n)).SerializeToString())
        sent = 'fabric_port_transmit_bytes_total{device="leaf1",port="Ethernet1"}'
        await here.emitted.until(lambda: len(here.emitted.values().get(RECEIVED, [])) == 3)
        await here.emitted.until(lambda: len(here.emitted.values().get(sent, [])) == 3)
        assert here.emitted.values() == {RECEIVED: [0.0, 1.0, 2.0], sent: [0.0, 1.0, 2.0]}
        seqs = [batch.collection.seq for batch in here.emitted.batches]
        assert seqs == list(range(len(seqs)))


async def test_what_nothing_maps_is_kept_where_the_receiver_asks() -> None:
    async with receiving(unmapped="keep") as here, here.dialled() as call:
        await call.write(response(("in-novelties", 4)).SerializeToString())
        key = 'interfaces_interface_state_counters_in_novelties{device="leaf1",interface_name="Ethernet1"}'
        await here.emitted.until(lambda: here.emitted.values() == {key: [4.0]})


async def test_a_device_is_known_by_its_certificate_or_refused(certificates: Certificates) -> None:
    tls = {
        "cert_file": certificates.certificate("server"),
        "key_file": certificates.key("server"),
        "client_ca_file": certificates.authority,
    }
    async with receiving(tls=tls, allow=(), senders={}) as here:
        for client, is_let_in in ((None, False), ("client", True)):
            pair = (certificates.key(client), certificates.certificate(client)) if client else ()
            credentials = grpc.ssl_channel_credentials(
                certificates.authority.read_bytes(), *(file.read_bytes() for file in pair)
            )
            options = [("grpc.ssl_target_name_override", "switch.example")]
            async with grpc.aio.secure_channel(here.address, credentials, options) as channel:
                call = publish_on(channel)
                if is_let_in:
                    await call.write(response(("in-octets", 1)).SerializeToString())
                    await here.emitted.until(here.emitted.values)
                else:
                    assert await call.code() is grpc.StatusCode.UNAVAILABLE
        assert {batch.table.device for batch in here.emitted.batches} == {"client"}


async def test_an_address_that_is_not_allowed_is_refused() -> None:
    async with receiving(allow=("10.0.0.0/8",)) as here, here.dialled() as call:
        assert await call.code() is grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.parametrize(("limits", "what"), [({"devices_max": 1}, "devices"), ({"streams_max": 1}, "streams")])
async def test_more_than_the_limits_is_refused(limits: dict[str, int], what: str) -> None:
    async with receiving(limits=limits, senders={}) as here, here.dialled() as first:
        await first.write(response(("in-octets", 1)).SerializeToString())
        await here.emitted.until(here.emitted.values)
        if what == "devices":
            here.receiver._devices["another"] = here.receiver._devices.pop("127.0.0.1")
        async with here.dialled() as call:
            await call.write(response(("in-octets", 1)).SerializeToString())
            assert await call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert f"limits.{what}_max" in await call.details()


async def test_a_flood_is_cut_to_the_quota_and_counted() -> None:
    limits = {"updates_per_s": 10, "messages_per_s": 1000}
    async with receiving(limits=limits) as here, here.dialled() as call:
        for n in range(200):
            await call.write(response(("in-octets", n)).SerializeToString())
        await until(lambda: here.ledger.samples_in == 200)
        assert here.ledger.drops[DropReason.QUOTA] > 100


async def test_too_many_messages_end_the_call() -> None:
    async with receiving(limits={"messages_per_s": 5}) as here, here.dialled() as call:
        for n in range(11):  # two seconds' worth, and one more
            await call.write(response(("in-octets", n)).SerializeToString())
        assert await call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_what_is_no_message_is_counted_and_the_call_goes_on() -> None:
    async with receiving() as here, here.dialled() as call:
        await call.write(b"\xff\xff\xff")
        await call.write(response(("in-octets", 1)).SerializeToString())
        await here.emitted.until(lambda: here.emitted.values() == {RECEIVED: [1.0]})


async def test_a_message_above_the_limit_ends_the_call_and_the_next_call_works() -> None:
    async with receiving(limits={"message_bytes_max": 10_000}) as here:
        async with here.dialled() as call:
            await call.write(bytes(20_000))
            assert await call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        async with here.dialled() as call:
            await call.write(response(("in-octets", 1)).SerializeToString())
            await here.emitted.until(lambda: here.emitted.values() == {RECEIVED: [1.0]})


async def test_a_device_that_hangs_up_or_falls_silent_is_down_with_the_reason() -> None:
    async with receiving(silence_s=0.2) as here:
        async with here.dialled() as call:
            await call.write(response(("in-octets", 1)).SerializeToString())
            await here.emitted.until(lambda: DownReason.SILENT in here.emitted.downs)
        await here.emitted.until(lambda: DownReason.CLOSED in here.emitted.downs)
        async with here.dialled() as call:
            await call.write(response(("in-octets", 2)).SerializeToString())
            await here.emitted.until(lambda: here.emitted.values() == {RECEIVED: [1.0, 2.0]})
            assert here.emitted.batches[-1].collection.up
