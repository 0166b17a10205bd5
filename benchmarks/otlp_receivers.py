"""What the whole OTLP receiver costs on loopback: over gRPC, and over HTTP in protobuf and in JSON."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.synchronize import Event
from typing import Any

import aiohttp
import grpc
import grpc.aio
import uvloop
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

from benchmarks.loads.child import cpu_s
from benchmarks.loads.receiver import ReceiverProcess, count_received
from benchmarks.otlp import POINTS_A_PORT, mapping, request_of
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext
from ingest.collectors.otlp.collector import OtlpReceiver
from ingest.collectors.otlp.config import Config
from ingest.collectors.otlp.decode.json_body import Encoding
from ingest.collectors.otlp.over_grpc import METHOD
from ingest.collectors.otlp.over_http import PATH
from ingest.ledger import Ledger
from tests.servers.process import free_port
from tests.unit.ingest.otlp.requests import in_json

_REQUESTS = {64: 200, 1: 1000}  # by the ports of a request
_NEW_REQUESTS = {64: 4, 1: 100}
_FIRST = 4  # of a layout, before it is known

Send = Callable[[Sequence[bytes], int], Coroutine[Any, Any, None]]


def run() -> list[Row]:
    rows = []
    for ports, count in _REQUESTS.items():
        points = ports * POINTS_A_PORT
        reference = points * _rate("grpc", over_grpc, _requests(ports, count))
        in_jsons = [in_json(each) for each in _requests(ports, count)]
        new = [_with_another_field(in_json(each), n) for n, each in enumerate(_requests(ports, _NEW_REQUESTS[ports]))]
        for name, encoding, sent in (
            ("protobuf", Encoding.PROTOBUF, _requests(ports, count)),
            ("json", Encoding.JSON, in_jsons),
            ("json_of_new_layouts", Encoding.JSON, new),
        ):
            found = points * _rate("http", partial(_over_http, encoding), sent)
            rows.append(row(f"otlp_http_{name}_{points}_points_a_request", found, "samples/CPU-s", reference))
    return rows


def _with_another_field(text: bytes, number: int) -> bytes:
    """One that nobody knows, so that no request repeats an earlier one."""
    return text[:-1] + b', "n": %d}' % number


def _requests(ports: int, count: int) -> list[bytes]:
    """Of the minute that has passed; the first one brings all series."""
    began_ns = time.time_ns() - 60 * NS_PER_S
    return [request_of(ports, began_ns + n * 10**6) for n in range(_FIRST + count)]


def _rate(protocol: str, send: Send, requests: Sequence[bytes]) -> float:
    """Requests per CPU-second of the receiver's process."""
    port = free_port()
    with ReceiverProcess(serve, protocol, port) as process:
        asyncio.run(send(requests[:_FIRST], port))
        began = cpu_s(process.pid)
        asyncio.run(send(requests[_FIRST:], port))
        return (len(requests) - _FIRST) / (cpu_s(process.pid) - began)


async def over_grpc(requests: Sequence[bytes], port: int) -> None:
    """On a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        export: Any = channel.unary_unary(METHOD)
        for each in requests:
            refused = ExportMetricsServiceResponse.FromString(await export(each)).partial_success
            assert not refused.rejected_data_points, refused.error_message


async def _over_http(encoding: Encoding, requests: Sequence[bytes], port: int) -> None:
    headers = {"Content-Type": encoding.value}
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=headers) as session:
        for each in requests:
            async with session.post(PATH, data=each) as answer:
                assert await answer.read() in (b"", b"{}"), "each point is taken"


def serve(protocol: str, port: int, received: Any, ready: Event) -> None:
    """The receiver, in a process of its own."""

    async def run() -> None:
        rules = [{"source": "bench", "mapping": mapping()}]
        limits = {"bytes_per_s": 1e12, "messages_per_s": 1e12}
        listen = {"protocol": protocol, "listen": f"127.0.0.1:{port}", "allow": ["127.0.0.1"]}
        config = Config.model_validate({**listen, "rules": rules, "limits": limits})
        receiver = OtlpReceiver(config, CollectorContext(Ledger(0), time.time_ns, ThreadPoolExecutor(1)))
        await count_received(receiver.run, receiver.server.listening.wait, received, ready)

    uvloop.run(run())


if __name__ == "__main__":
    print_rows(run())
