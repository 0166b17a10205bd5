"""What Cisco's dial-out costs as a whole receiver, beside Telegraf's: the same messages, from as many switches.

Each switch has a connection of its own and sends all it has at once, as fast as it is read. Ours goes on to canonical
samples in batches of each device, Telegraf to its own metrics, one a port. Needs ``build/bin/telegraf``, which
``make bench`` builds.
"""

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

import uvloop

from benchmarks.cisco_mdt import SAMPLES_A_PORT, message_of
from benchmarks.loads.burst import send_call
from benchmarks.loads.receiver import ReceiverProcess, count_received
from benchmarks.loads.telegraf import Telegraf, lines_of
from benchmarks.loads.turns import Side, rates_in_turns
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_MS
from ingest.collectors.base import CollectorContext
from ingest.collectors.cisco_mdt.collector import METHOD, mdt_receiver
from ingest.collectors.cisco_mdt.config import Config, DeviceFrom
from ingest.collectors.cisco_mdt.proto.mdt_dialout_pb2 import MdtDialoutArgs
from ingest.collectors.dialled_config import DialledLimits
from ingest.collectors.gnmi.links import LinkTable
from ingest.ledger import Ledger
from tests.servers.process import free_port

SWITCHES = 16
_MESSAGES = {64: 120, 1: 2500}  # of a switch in a round, by the ports of a message
_INPUT = """
[[inputs.cisco_telemetry_mdt]]
transport = "grpc"
service_address = "127.0.0.1:{port}"
"""

Sent = Sequence[Sequence[bytes]]
"""Of each switch, the messages of its call."""


def run() -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        check_what_telegraf_reads(Path(name))
        for ports, count in _MESSAGES.items():
            with own() as ours, _telegraf(Path(name)) as theirs:
                samples = SWITCHES * count * ports * SAMPLES_A_PORT
                rates = rates_in_turns(ours, theirs, partial(round_of, ports, count), samples)
            rows.append(row(f"cisco_mdt_{ports}_ports_a_message_beside_telegraf", rates[0], "samples/CPU-s", rates[1]))
    return rows


def check_what_telegraf_reads(folder: Path) -> None:
    """Each of its metrics is a port with all its counters."""
    port = free_port()
    send = partial(send_call, port, METHOD, [_args(message_of("leaf0", 2, time.time_ns()))])
    lines = lines_of(folder, _INPUT.format(port=port), port, send, 2)
    assert [len(re.findall(r"[ ,][a-z_]+=\d+i", line)) for line in lines] == 2 * [SAMPLES_A_PORT], lines


def round_of(ports: int, count: int) -> Sent:
    """Of now; the times of a switch go on."""
    began_ns = time.time_ns() - count * NS_PER_MS
    return [
        [_args(message_of(f"leaf{switch}", ports, began_ns + n * NS_PER_MS)) for n in range(count)]
        for switch in range(SWITCHES)
    ]


def _args(message: bytes) -> bytes:
    return bytes(MdtDialoutArgs(ReqId=1, data=message).SerializeToString())


@contextmanager
def _dialled(port: int) -> Iterator[Callable[[Sent], None]]:
    """Sends a round: all switches at once."""
    with ThreadPoolExecutor(SWITCHES) as threads:

        def send(sent: Sent) -> None:
            for _ in threads.map(partial(send_call, port, METHOD), sent):
                pass

        yield send


@contextmanager
def _telegraf(folder: Path) -> Iterator[Side[Sent]]:
    port = free_port()
    with Telegraf(folder, "mdt", _INPUT.format(port=port), port=port) as process, _dialled(port) as send:
        yield Side(process.pid, send, lambda: SAMPLES_A_PORT * process.written())


@contextmanager
def own() -> Iterator[Side[Sent]]:
    port = free_port()
    with ReceiverProcess(serve, port) as process, _dialled(port) as send:
        yield Side(process.pid, send, process.received)


def serve(port: int, received: Any, ready: Event) -> None:
    limits = DialledLimits(updates_per_s=1e12, bytes_per_s=1e12, messages_per_s=1e12)
    listen = f"127.0.0.1:{port}"
    config = Config(listen=listen, allow=("127.0.0.1",), device_from=DeviceFrom.NODE_ID, limits=limits)
    context = CollectorContext(Ledger(0), time.time_ns, ThreadPoolExecutor(2))
    receiver = mdt_receiver(config, context, LinkTable())
    uvloop.run(count_received(receiver.run, receiver.server.listening.wait, received, ready))


if __name__ == "__main__":
    print_rows(run())
