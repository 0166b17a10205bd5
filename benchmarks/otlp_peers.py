"""What the OTLP receiver costs as a whole over gRPC, beside Telegraf's: the same requests, from as many switches.

Each switch has a connection of its own and sends its next request when the last one is answered. Ours goes on to
canonical samples in batches of each device, Telegraf to its own metrics, a point each. Needs ``build/bin/telegraf``,
which ``make bench`` builds.
"""

import asyncio
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.loads.receiver import ReceiverProcess
from benchmarks.loads.telegraf import Telegraf, lines_of
from benchmarks.loads.turns import Side, rates_in_turns
from benchmarks.otlp import POINTS_A_PORT, request_of
from benchmarks.otlp_receivers import over_grpc, serve
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_MS
from tests.servers.process import free_port

_SHAPES = {64: (4, 100), 1: (50, 100)}  # by the ports of a request, switches and requests of each in a round
_INPUT = """
[[inputs.opentelemetry]]
service_address = "127.0.0.1:{port}"
"""

Sent = Sequence[Sequence[bytes]]
"""Of each switch, its requests."""


def run() -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        check_what_telegraf_reads(Path(name))
        for ports, (switches, requests) in _SHAPES.items():
            points = ports * POINTS_A_PORT
            with own() as ours, _telegraf(Path(name)) as theirs:
                made = partial(round_of, ports, switches, requests)
                rates = rates_in_turns(ours, theirs, made, switches * requests * points)
            rows.append(row(f"otlp_{points}_points_a_request_beside_telegraf", rates[0], "samples/CPU-s", rates[1]))
    return rows


def check_what_telegraf_reads(folder: Path) -> None:
    """Each of its metrics is a point with its value."""
    port = free_port()

    def send() -> None:
        asyncio.run(over_grpc([request_of(1, time.time_ns())], port))

    lines = lines_of(folder, _INPUT.format(port=port), port, send, POINTS_A_PORT)
    assert len(lines) == POINTS_A_PORT, lines
    assert all(re.search(r" gauge=[\d.e+]+ \d+$", line) for line in lines), lines


def round_of(ports: int, switches: int, requests: int) -> Sent:
    """Of now; the times of a switch go on."""
    began_ns = time.time_ns() - requests * NS_PER_MS
    return [
        [request_of(ports, began_ns + n * NS_PER_MS, f"leaf{switch}") for n in range(requests)]
        for switch in range(switches)
    ]


def _sending(port: int) -> Callable[[Sent], None]:
    async def send(sent: Sent) -> None:
        await asyncio.gather(*[over_grpc(requests, port) for requests in sent])

    return lambda sent: asyncio.run(send(sent))


@contextmanager
def _telegraf(folder: Path) -> Iterator[Side[Sent]]:
    port = free_port()
    with Telegraf(folder, "otlp", _INPUT.format(port=port), port=port) as process:
        yield Side(process.pid, _sending(port), process.written)


@contextmanager
def own() -> Iterator[Side[Sent]]:
    port = free_port()
    with ReceiverProcess(serve, "grpc", port) as process:
        yield Side(process.pid, _sending(port), process.received)


if __name__ == "__main__":
    print_rows(run())
