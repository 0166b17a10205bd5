"""What the gNMI collector costs: decoding beside pygnmi's parser on the same bytes, and the whole client on loopback.

pygnmi has its own copy of gNMI's message types, which cannot coexist with ours in one process: it runs in a child.
"""

import asyncio
import json
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Event
from typing import Any

import grpc

from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from ingest.collectors.base import CollectorOutput
from ingest.collectors.gnmi.collector import GnmiCollector
from ingest.collectors.gnmi.config import Config, GnmiTlsConfig, LimitsConfig, Source, TargetConfig
from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.elements import parse_path
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.ledger import Ledger
from telemetry.gnmi import gnmi_pb2
from telemetry.samples import SampleBatch

_COUNTERS = [
    *("in-octets", "out-octets", "in-unicast-pkts", "out-unicast-pkts", "in-multicast-pkts", "out-multicast-pkts"),
    *("in-broadcast-pkts", "out-broadcast-pkts", "in-errors", "out-errors", "in-discards", "out-discards"),
    *("in-fcs-errors", "carrier-transitions"),
]
_ETHERNET = ["in-mac-pause-frames", "out-mac-pause-frames", "fec-corrected-blocks", "fec-uncorrectable-blocks"]
_PRIORITY = "ethernet/pfc/priorities/priority[index={}]/state/{}"
_LEAVES = [
    *(f"state/counters/{name}" for name in _COUNTERS),
    *(f"ethernet/state/counters/{name}" for name in _ETHERNET),
    *(_PRIORITY.format(n, name) for n in (3, 4) for name in ("in-frames", "out-frames", "rx-transitions")),
]
_SHAPES = {1: 4000, 24: 600, 1536: 12}  # updates a message: messages
_ROUND_S = 1.0
_NOW = 1_700_000_000 * NS_PER_S

# Reads length-prefixed messages from stdin, prints updates per CPU-second of pygnmi's parser.
_PYGNMI = """
import json, struct, sys, time
from pygnmi.client import telemetryParser
from pygnmi.spec.v080.gnmi_pb2 import SubscribeResponse
data, messages, at = sys.stdin.buffer.read(), [], 0
while at < len(data):
    (size,) = struct.unpack_from("<I", data, at)
    messages.append(data[at + 4 : at + 4 + size])
    at += 4 + size
best, updates = 0.0, 0
deadline = time.monotonic() + 3.0
while time.monotonic() < deadline:
    began, updates = time.process_time(), 0
    for message in messages:
        updates += len(telemetryParser(SubscribeResponse.FromString(message))["update"]["update"])
    best = max(best, updates / (time.process_time() - began))
print(json.dumps(best))
"""


def decode() -> list[Row]:
    """Updates per CPU-second, from bytes to columns under canonical names; pygnmi stops at dicts of path texts."""
    rows = []
    for size, count in _SHAPES.items():
        messages = _messages(size, count)
        ours = _decoded_per_s(messages, size * count)
        theirs = _pygnmi_per_s(messages)
        rows.append(row(f"gnmi_decode_{size}_updates_a_message", ours, "updates/CPU-s", theirs))
    return rows


def sonic() -> list[Row]:
    """Fields per CPU-second of a SONiC switch's queues: one JSON object of 64 ports, numbers as text."""
    names = ("BYTES", "PACKETS", "DROPPED_BYTES", "DROPPED_PACKETS", "WRED_ECN_MARKED_BYTES", "WRED_ECN_MARKED_PACKETS")
    queue = {f"SAI_QUEUE_STAT_{name}": str(10**12) for name in names}
    body = {f"Ethernet{4 * port}:{n}": queue for port in range(64) for n in range(8)}
    response = gnmi_pb2.SubscribeResponse()
    response.update.timestamp = _NOW
    response.update.prefix.target = "COUNTERS_DB"
    response.update.update.add(path=parse_path("COUNTERS/Ethernet*/Queues")).val.json_ietf_val = json.dumps(
        body
    ).encode()
    message, fields = response.SerializeToString(), len(names) * len(body)
    decoder = Decoder("bench", "leaf1", Naming(("sonic",)))
    assert decoder.decode([message], _NOW).values.size == fields
    rate = _best_per_s(lambda: decoder.decode([message], _NOW), fields)
    return [row("gnmi_decode_sonic_queues_json", rate, "updates/CPU-s")]


def client() -> list[Row]:
    """Updates per CPU-second of the whole collector over loopback: gRPC, quotas, gathering, decoding, batches."""
    return [
        row(f"gnmi_client_{size}_updates_a_message", asyncio.run(_collected_per_s(size)), "updates/CPU-s")
        for size in (24, 1536)
    ]


def messages_of(size: int) -> list[bytes]:
    """SubscribeResponses with so many updates each: one of ``_SHAPES``."""
    return _messages(size, _SHAPES[size])


def _messages(size: int, count: int) -> list[bytes]:
    """Counters of ports: one update with its whole path, a port with a prefix, or a whole switch."""
    messages = []
    for n in range(count):
        response = gnmi_pb2.SubscribeResponse()
        response.update.timestamp = _NOW + n
        if size == 24:
            response.update.prefix.CopyFrom(parse_path(_port(n % 64)))
        for i in range(size):
            port, leaf = (n, i) if size == 24 else divmod(n * size + i, len(_LEAVES))
            path = _LEAVES[leaf] if size == 24 else f"{_port(port % 64)}/{_LEAVES[leaf]}"
            response.update.update.add(path=parse_path(path)).val.uint_val = 10**12 + n * 1000 + i
        messages.append(response.SerializeToString())
    return messages


def _port(number: int) -> str:
    return f"/interfaces/interface[name=Ethernet{number}]"


def _decoded_per_s(messages: Sequence[bytes], updates: int) -> float:
    decoder = Decoder("bench", "leaf1", Naming(("openconfig", "arista")))
    assert decoder.decode(messages, _NOW).values.size == updates, "each update is a sample of a canonical series"
    return _best_per_s(lambda: decoder.decode(messages, _NOW), updates)


def _best_per_s(work: Callable[[], object], amount: int) -> float:
    """The best of some rounds, after one that may compile."""
    work()
    best, deadline = 0.0, time.monotonic() + _ROUND_S
    while time.monotonic() < deadline:
        began = time.process_time()
        work()
        best = max(best, amount / (time.process_time() - began))
    return best


def _pygnmi_per_s(messages: Sequence[bytes]) -> float:
    data = b"".join(len(message).to_bytes(4, "little") + message for message in messages)
    child = subprocess.run([sys.executable, "-c", _PYGNMI], input=data, capture_output=True, check=True, timeout=120)
    return float(json.loads(child.stdout))


async def _collected_per_s(size: int) -> float:
    """A server in a child process sends as fast as the client reads; what counts is the CPU time of this process."""
    context = multiprocessing.get_context("spawn")
    stop, address = context.Event(), context.Queue()
    server = context.Process(target=_serve, args=(size, stop, address), daemon=True)
    server.start()
    try:
        target = TargetConfig(address=await asyncio.to_thread(address.get, True, 60), device="leaf1")
        limits = LimitsConfig(updates_per_s=1e12, bytes_per_s=1e12)
        config = Config(targets=(target,), source=Source.ARISTA, tls=GnmiTlsConfig(insecure=True), limits=limits)
        updates = 0

        def count(output: CollectorOutput) -> None:
            nonlocal updates
            updates += len(output) if isinstance(output, SampleBatch) else 0

        task = asyncio.create_task(GnmiCollector(config, target, Ledger(0), clock=lambda: _NOW).run(count))
        await asyncio.sleep(2.0)  # compiled, connected, all paths known
        began, before = time.process_time(), updates
        await asyncio.sleep(4.0)
        rate = (updates - before) / (time.process_time() - began)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return rate
    finally:
        stop.set()
        server.join(10)
        server.kill()


def _serve(size: int, stop: Event, address: Any) -> None:
    messages = _messages(size, _SHAPES[size])

    def subscribe(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        next(requests)
        while not stop.is_set():
            yield from messages

    handler: Any = grpc.stream_stream_rpc_method_handler(subscribe)
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("gnmi.gNMI", {"Subscribe": handler}),))
    address.put(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
    server.start()
    stop.wait()
    server.stop(None)


def run() -> list[Row]:
    return [*decode(), *sonic(), *client()]


if __name__ == "__main__":
    print_rows(run())
