"""What a receiver of remote write costs as a whole, beside those of Telegraf and of Prometheus 3: the same requests.

Telegraf reads 1.0 alone. Each sender has a connection of its own and sends its next request when the last one is
answered. Ours goes on to canonical samples in batches of each device, Telegraf to its own metrics, a sample each, and
Prometheus stores. Needs ``build/bin/telegraf`` and ``build/bin/prometheus3``, which ``make bench`` builds.
"""

import asyncio
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import aiohttp
import uvloop

from benchmarks.loads.receiver import ReceiverProcess, count_received
from benchmarks.loads.telegraf import Telegraf, lines_of
from benchmarks.loads.turns import Side, rates_in_turns
from benchmarks.remote_write import RECEIVED_NODES, SAMPLES_A_NODE, request_body
from benchmarks.remote_write_checks import check_what_we_receive, check_what_we_send, prometheus_3
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_MS
from export.remote_write.protocol import Version, headers_of
from ingest.collectors.base import CollectorContext
from ingest.collectors.remote_write.collector import RemoteWriteCollector
from ingest.collectors.remote_write.config import Config
from ingest.collectors.remote_write.decode.body import Message
from ingest.ledger import Ledger
from tests.servers.process import free_port

_PATH = "/api/v1/write"
_HEADERS = {Message.FIRST: headers_of(Version.FIRST), Message.SECOND: headers_of(Version.SECOND)}
# By the nodes of a request, senders and requests of each in a round: shards of a Prometheus, an agent a node.
_SHAPES = {RECEIVED_NODES: (4, 75), 1: (50, 100)}
_INPUT = """
[[inputs.http_listener_v2]]
service_address = "127.0.0.1:{port}"
paths = ["{path}"]
data_format = "prometheusremotewrite"
"""

Sent = Sequence[Sequence[bytes]]
"""Of each sender, the bodies of its requests."""
Peer = Callable[[Path, Message], Any]
"""A context in which a receiver of one message runs; it gives its Side."""


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(check_what_we_send(folder / "sent"))
        asyncio.run(check_what_we_receive(folder / "received"))
        check_what_telegraf_reads(folder)
        rows = [
            _row(f"remote_write_{nodes * SAMPLES_A_NODE}_samples_a_request_beside_telegraf", folder, _telegraf, nodes)
            for nodes in _SHAPES
        ]
        for message, version in ((Message.FIRST, "1.0"), (Message.SECOND, "2.0")):
            title = f"remote_write_receiver_{version}, beside Prometheus 3, which stores"
            rows.append(_row(title, folder / version, _prometheus, RECEIVED_NODES, message))
    return rows


def check_what_telegraf_reads(folder: Path) -> None:
    """Each of its metrics is a sample with its value."""
    port, body = free_port(), request_body(Message.FIRST, 0, time.time_ns(), range(1))

    def send() -> None:
        asyncio.run(_post_all(port, Message.FIRST, [[body]]))

    lines = lines_of(folder, _INPUT.format(port=port, path=_PATH), port, send, SAMPLES_A_NODE)
    assert len(lines) == SAMPLES_A_NODE, lines
    assert all(re.search(r" DCGM_FI_DEV_[A-Z_]+=[\d.]+ \d+$", line) for line in lines), lines


def _row(name: str, folder: Path, peer: Peer, nodes: int, message: Message = Message.FIRST) -> Row:
    senders, requests = _SHAPES[nodes]
    with own(message) as ours, peer(folder, message) as theirs:
        made = partial(round_of, message, nodes, senders, requests)
        rates = rates_in_turns(ours, theirs, made, senders * requests * nodes * SAMPLES_A_NODE)
    return row(name, rates[0], "samples/CPU-s", rates[1])


def round_of(message: Message, nodes: int, senders: int, requests: int) -> Sent:
    """Of now; the times of a series go on."""
    began_ns = time.time_ns() - requests * NS_PER_MS
    return [
        [
            request_body(message, n, began_ns + n * NS_PER_MS, range(sender * nodes, (sender + 1) * nodes))
            for n in range(requests)
        ]
        for sender in range(senders)
    ]


async def _post_all(port: int, message: Message, sent: Sent) -> None:
    """All senders at once, each its requests in their order: receivers take no older sample of a series."""
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=_HEADERS[message]) as session:

        async def post(bodies: Sequence[bytes]) -> None:
            for body in bodies:
                async with session.post(_PATH, data=body) as answer:
                    assert answer.status == 204, await answer.text()

        await asyncio.gather(*map(post, sent))


def _sending(port: int, message: Message) -> Callable[[Sent], None]:
    return lambda sent: asyncio.run(_post_all(port, message, sent))


@contextmanager
def _telegraf(folder: Path, message: Message) -> Iterator[Side[Sent]]:
    port = free_port()
    with Telegraf(folder, "remote-write", _INPUT.format(port=port, path=_PATH), port=port) as process:
        yield Side(process.pid, _sending(port, message), process.written)


@contextmanager
def _prometheus(folder: Path, message: Message) -> Iterator[Side[Sent]]:
    """What it has answered is stored."""
    server, stored = prometheus_3(folder), 0
    server.start()

    def send(sent: Sent) -> None:
        nonlocal stored
        asyncio.run(_post_all(server.port, message, sent))
        stored += sum(map(len, sent)) * RECEIVED_NODES * SAMPLES_A_NODE

    try:
        yield Side(server.pid, send, lambda: stored)
    finally:
        server.kill()


@contextmanager
def own(message: Message) -> Iterator[Side[Sent]]:
    port = free_port()
    with ReceiverProcess(_serve, port) as process:
        yield Side(process.pid, _sending(port, message), process.received)


def _serve(port: int, received: Any, ready: Event) -> None:
    config = Config.model_validate({"port": port, "rules": [{"source": "dcgm"}], "gather_s": 0.05})
    context = CollectorContext(Ledger(0), time.time_ns, ThreadPoolExecutor(1))
    receiver = RemoteWriteCollector(config, context)
    uvloop.run(count_received(receiver.run, receiver.listening, received, ready))


if __name__ == "__main__":
    print_rows(run())
