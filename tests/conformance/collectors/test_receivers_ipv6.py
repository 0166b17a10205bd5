"""Receivers over IPv6: a device that has no other address, and one socket for both families."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import grpc
import grpc.aio
import pytest

from ingest.collectors.base import CollectorContext
from ingest.collectors.cisco_mdt import collector as mdt
from ingest.collectors.cisco_mdt.config import Config as MdtConfig
from ingest.collectors.dialled import DialledReceiver
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi_dialout import collector as dialout
from ingest.collectors.gnmi_dialout.config import Config as DialoutConfig
from ingest.collectors.otlp import collector as otlp
from ingest.collectors.otlp.config import Config as OtlpConfig
from ingest.collectors.otlp.config import Transport
from ingest.collectors.otlp.over_grpc import METHOD
from tests.conformance.collectors.gnmi_peer import response
from tests.conformance.collectors.receiving import RunningReceiver, running
from tests.unit.ingest.cisco_mdt.telemetry import COUNTERS, args, message
from tests.unit.ingest.otlp.requests import RULE, gauge, request

KINDS = ("dialout", "mdt", "otlp", "otlp_http")
V6, V4 = "[::1]", "127.0.0.1"
OTLP_RULE = RULE.model_copy(update={"device_from": ("sender",)})


def receiver_of(kind: str, context: CollectorContext, settings: dict[str, Any]) -> DialledReceiver | otlp.OtlpReceiver:
    match kind:
        case "dialout":
            return dialout.dialout_receiver(DialoutConfig(**settings), context, LinkTable())
        case "mdt":
            return mdt.mdt_receiver(MdtConfig(**settings), context, LinkTable())
    protocol = Transport.HTTP if kind == "otlp_http" else Transport.GRPC
    return otlp.OtlpReceiver(OtlpConfig(**settings, protocol=protocol, rules=(OTLP_RULE,)), context)


@dataclass
class Receiving(RunningReceiver[DialledReceiver | otlp.OtlpReceiver]):
    kind: str

    async def push(self, host: str, messages: int = 1) -> grpc.StatusCode:
        """Messages of one call from there; the status of a call that ended, OK for one that is open."""
        if self.kind == "otlp_http":
            return await self._post(host)
        async with grpc.aio.insecure_channel(f"{host}:{self.port}") as channel:
            if self.kind == "otlp":
                return await self._unary(channel, of_switch())
            before = len(self.emitted.batches)
            method = dialout.METHOD if self.kind == "dialout" else mdt.METHOD
            calling: Any = channel.stream_stream(method)
            call = calling(self._messages(messages))
            refused = asyncio.ensure_future(call.code())
            arrived = asyncio.create_task(self.emitted.until(lambda: len(self.emitted.batches) > before))
            await asyncio.wait([refused, arrived], return_when=asyncio.FIRST_COMPLETED)
            arrived.cancel()
            return refused.result() if refused.done() else grpc.StatusCode.OK

    async def _messages(self, count: int) -> AsyncIterator[bytes]:
        """Of a call that stays open."""
        for _ in range(count):
            yield response(("in-octets", 1)).SerializeToString() if self.kind == "dialout" else of_nexus()
        await asyncio.Event().wait()

    async def _unary(self, channel: grpc.aio.Channel, data: bytes) -> grpc.StatusCode:
        try:
            export: Any = channel.unary_unary(METHOD)
            await export(data)
        except grpc.aio.AioRpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    async def _post(self, host: str) -> grpc.StatusCode:
        url, headers = f"http://{host}:{self.port}/v1/metrics", {"Content-Type": "application/x-protobuf"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=of_switch(), headers=headers) as answer,
        ):
            return {200: grpc.StatusCode.OK, 403: grpc.StatusCode.PERMISSION_DENIED}[answer.status]

    @property
    def devices(self) -> set[str]:
        return {batch.table.device for batch in self.emitted.batches}


def of_switch() -> bytes:
    return request(gauge("state", ({"interface": "swp1"}, 1), at_ns=time.time_ns())).SerializeToString()


def of_nexus() -> bytes:
    rows = ({"name": "Eth1/1"}, {"in-octets": 1})
    return args(message(COUNTERS, rows, at_ns=time.time_ns()))


@asynccontextmanager
async def receiving(kind: str, **settings: Any) -> AsyncIterator[Receiving]:
    async with running(lambda context: receiver_of(kind, context, settings)) as started:
        yield Receiving(*started, kind)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_device_that_has_ipv6_alone_is_known_by_its_address(kind: str) -> None:
    async with receiving(kind, listen="[::1]:0", allow=("::1",)) as here:
        assert await here.push(V6) is grpc.StatusCode.OK
        assert here.devices == {"::1"}
        keys = {key for batch in here.emitted.batches for key in batch.table.keys}
        assert all('device="::1"' in key for key in keys)


@pytest.mark.parametrize("kind", KINDS)
async def test_one_socket_serves_both_families_by_the_same_names_and_networks(kind: str) -> None:
    """An IPv4 device comes to it as ::ffff:127.0.0.1, and is the one that the settings name."""
    settings: dict[str, Any] = {"listen": "[::]:0", "senders": {"127.0.0.1": "leaf4", "::1": "leaf6"}}
    async with receiving(kind, **settings, allow=("127.0.0.0/8", "::1/128")) as here:
        for host in (V4, V6):
            assert await here.push(host) is grpc.StatusCode.OK
        assert here.devices == {"leaf4", "leaf6"}
    async with receiving(kind, **settings, allow=("127.0.0.0/8",)) as here:
        # without a message, which the client may find that it cannot send any more
        assert await here.push(V6, messages=0) is grpc.StatusCode.PERMISSION_DENIED
        assert await here.push(V4) is grpc.StatusCode.OK
        assert here.devices == {"leaf4"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("written", ["0:0:0:0:0:0:0:1", "::0001"])
async def test_a_sender_s_address_may_be_written_in_any_way(kind: str, written: str) -> None:
    async with receiving(kind, listen="[::1]:0", allow=("::1",), senders={written: "leaf1"}) as here:
        assert await here.push(V6) is grpc.StatusCode.OK
        assert here.devices == {"leaf1"}
