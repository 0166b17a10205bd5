"""The switches of a fabric as gNMI servers in a process of their own, with messages encoded in advance.

The fabric is the simulator's (rail-optimised leaf-spine) in healthy training; each switch sends for the collector's
default subscriptions what the simulator's servers would send: SONiC leaves one JSON object of
strings a path, spines one PROTO notification for every port and path with a prefix and its leaves, as EOS does. Only
the timestamps are written when a message goes out. The servers are gRPC's own.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio

from benchmarks.loads.child import ServerProcess
from common.units import NS_PER_S, to_ns
from ingest.collectors.gnmi.config import Source
from ingest.collectors.gnmi.subscriptions import DEFAULTS, request_of
from simulator.cluster import SimulatedCluster
from simulator.config import SimulatorConfig
from simulator.layout import Flavour, Layout
from simulator.servers.gnmi.openconfig import OpenConfigTree
from simulator.servers.gnmi.sonic import SonicTree
from simulator.servers.snapshot import Snapshot, copied
from simulator.wiring import build_layout
from telemetry.gnmi import gnmi_pb2
from tests.servers.process import free_port

VARIANTS = 60  # then counters restart
SOURCES = {Flavour.SONIC: Source.SONIC, Flavour.OPENCONFIG: Source.ARISTA}
_SETTLED_S = 20
_SYNC = gnmi_pb2.SubscribeResponse(sync_response=True).SerializeToString()
_STAMP = slice(1, 10)  # today's nanoseconds are a varint of nine bytes

Messages = tuple[bytes, ...]
Responses = dict[bytes, list[Messages]]
"""By subscription, serialised: the messages of each variant."""


@dataclass(frozen=True, slots=True)
class Switch:
    name: str
    source: Source
    address: str


def switches_of(layout: Layout, port: int) -> list[Switch]:
    """All switches on one port, each on a loopback address of its own."""
    return [
        Switch(name, SOURCES[layout.flavours[name]], f"127.10.{number // 250}.{number % 250 + 1}:{port}")
        for number, name in enumerate(layout.switches)
    ]


class GnmiServers(ServerProcess):
    """Serves the switches of a cluster of ``hosts``, sampled every ``interval_s``."""

    def __init__(self, hosts: int, interval_s: float) -> None:
        config = SimulatorConfig(hosts=hosts, interval_s=interval_s)
        self.switches = switches_of(build_layout(config), free_port())
        super().__init__(_serve, config, self.switches, start_s=240)


def responses(
    config: SimulatorConfig, switches: list[Switch], variants: int, *, slow: bool = True
) -> dict[str, Responses]:
    """By switch: its messages for each default subscription, interval by interval.

    slow: also what it does not send every interval (optics, neighbours).
    """
    cluster = SimulatedCluster(config, start_ns=0)
    cluster.advance(_SETTLED_S * NS_PER_S)
    found: dict[str, Responses] = {switch.name: {} for switch in switches}
    queries = [
        (switch, *query) for switch in switches for query in _queries(cluster.layout, switch, config.interval_s, slow)
    ]
    for number in range(variants):
        cluster.advance(cluster.now_ns + to_ns(config.interval_s))
        snapshot = Snapshot(number + 1, copied(cluster.readings))
        for switch, key, query in queries:
            messages = tuple(query.full(snapshot, time.time_ns()))
            found[switch.name].setdefault(key, []).append(messages)
    return found


def _queries(layout: Layout, switch: Switch, interval_s: float, slow: bool) -> list[tuple[bytes, Any]]:
    tree = SonicTree(layout, switch.name) if switch.source is Source.SONIC else OpenConfigTree(layout, switch.name)
    found = []
    for subscription in DEFAULTS[switch.source]:
        wanted = request_of(subscription, interval_s).subscribe
        for one in wanted.subscription:
            if slow or one.sample_interval == to_ns(interval_s):
                found.append((_key(wanted, one), tree.query(wanted.prefix, one.path, wanted.encoding)))
    return found


def _key(wanted: gnmi_pb2.SubscriptionList, one: gnmi_pb2.Subscription) -> bytes:
    return wanted.prefix.SerializeToString() + one.path.SerializeToString(deterministic=True)


class _Servicer:
    """One switch; its values change every ``interval_s``. Slow paths are sampled at multiples of it."""

    def __init__(self, messages: Responses, interval_s: float) -> None:
        self._messages, self._interval_s = messages, interval_s

    async def subscribe(self, requests: AsyncIterator[gnmi_pb2.SubscribeRequest], _: Any) -> AsyncIterator[bytes]:
        wanted = (await anext(aiter(requests))).subscribe
        began_s = time.monotonic()
        for one in wanted.subscription:
            for message in self._messages[_key(wanted, one)][0]:
                yield _stamped(message)
        yield _SYNC
        sampled = [one for one in wanted.subscription if one.mode == gnmi_pb2.SAMPLE]
        number = 0
        while True:
            number += 1
            await asyncio.sleep(began_s + number * self._interval_s - time.monotonic())
            for one in sampled:
                if number % round(one.sample_interval / NS_PER_S / self._interval_s) == 0:
                    for message in self._messages[_key(wanted, one)][number % VARIANTS]:
                        yield _stamped(message)


def _stamped(message: bytes) -> bytes:
    """The message with the current time: the first field of its notification."""
    number, stamp, at = time.time_ns(), bytearray(), message.index(b"\x08", 2, 7)
    while number >= 0x80:
        stamp.append(number & 0x7F | 0x80)
        number >>= 7
    stamp.append(number)
    return b"".join((message[: at + 1], stamp, message[at + 10 :]))


def _serve(config: SimulatorConfig, switches: list[Switch], ready: Any) -> None:
    messages = responses(config, switches, VARIANTS)

    async def main() -> None:
        servers = [_server(switch, messages[switch.name], config.interval_s) for switch in switches]
        await asyncio.gather(*(server.start() for server in servers))
        ready.set()
        await asyncio.gather(*(server.wait_for_termination() for server in servers))

    asyncio.run(main())


def _server(switch: Switch, messages: Responses, interval_s: float) -> grpc.aio.Server:
    handler: Any = grpc.stream_stream_rpc_method_handler(
        _Servicer(messages, interval_s).subscribe,
        request_deserializer=gnmi_pb2.SubscribeRequest.FromString,
        response_serializer=None,
    )
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("gnmi.gNMI", {"Subscribe": handler}),))
    server.add_insecure_port(switch.address)
    return server
