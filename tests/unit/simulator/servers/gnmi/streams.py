"""A plain gRPC client of gNMI Subscribe, for tests of the servers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
from google.protobuf.message import Message

from common.units import NS_PER_S
from simulator.servers.gnmi.paths import parse_elems, to_proto
from telemetry.gnmi import gnmi_pb2
from tests.waiting import DEADLINE_S


class StreamEnded(Exception):
    """The server closed the stream."""


class Stream:
    """A plain gRPC Subscribe call."""

    def __init__(self, call: grpc.aio.StreamStreamCall[Message, gnmi_pb2.SubscribeResponse]) -> None:
        self.call = call

    async def next(self) -> gnmi_pb2.SubscribeResponse:
        async with asyncio.timeout(DEADLINE_S):
            message = await self.call.read()
        if not isinstance(message, gnmi_pb2.SubscribeResponse):
            raise StreamEnded
        return message

    async def to_its_end(self) -> None:
        while True:
            await self.next()

    async def until_sync(self) -> list[gnmi_pb2.Notification]:
        found = []
        while not (message := await self.next()).sync_response:
            found.append(message.update)
        return found


@asynccontextmanager
async def subscribed(
    address: str,
    *paths: str,
    target: str = "",
    mode: gnmi_pb2.SubscriptionMode = gnmi_pb2.SAMPLE,
    interval_s: float = 0.1,
    encoding: gnmi_pb2.Encoding = gnmi_pb2.JSON_IETF,
    metadata: tuple[tuple[str, str], ...] = (),
    root: bytes | None = None,
) -> AsyncIterator[Stream]:
    entries = [
        gnmi_pb2.Subscription(
            path=to_proto(parse_elems(path)),
            mode=mode,
            sample_interval=int(interval_s * NS_PER_S),
        )
        for path in paths
    ]
    wanted = gnmi_pb2.SubscriptionList(
        prefix=gnmi_pb2.Path(target=target),
        subscription=entries,
        encoding=encoding,
    )
    async with subscribing(address, metadata, root) as call:
        await call.write(gnmi_pb2.SubscribeRequest(subscribe=wanted))
        yield Stream(call)


@asynccontextmanager
async def subscribing(
    address: str, metadata: tuple[tuple[str, str], ...] = (), root: bytes | None = None
) -> AsyncIterator[grpc.aio.StreamStreamCall[Message, gnmi_pb2.SubscribeResponse]]:
    """A call of Subscribe that has asked for nothing yet; root: of the server's certificate, None without TLS."""
    # gRPC shares connections between channels to one address, and with them the backoff of one that was refused
    own = (("grpc.use_local_subchannel_pool", 1),)
    channel = (
        grpc.aio.insecure_channel(address, own)
        if root is None
        else grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(root), own)
    )
    async with channel:
        call = channel.stream_stream(
            "/gnmi.gNMI/Subscribe",
            request_serializer=gnmi_pb2.SubscribeRequest.SerializeToString,
            response_deserializer=gnmi_pb2.SubscribeResponse.FromString,
        )(metadata=metadata)
        yield call
        call.cancel()


def json_of(notification: gnmi_pb2.Notification) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(notification.update[0].val.json_ietf_val)
    return found
