"""What it costs to receive from switches that dial: the whole receiver on loopback, beside a plain server.

The plain server is grpcio's with the official classes: it keeps the value of each update by the text of its path. The
library alone is a server that counts messages and reads none of them: no receiver that uses it costs less.
"""

import asyncio
import multiprocessing
import time
from collections.abc import AsyncIterable, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.synchronize import Event
from typing import Any

import grpc
import grpc.aio

from benchmarks.gnmi import messages_of
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext, CollectorOutput
from ingest.collectors.dialled_config import DialledLimits
from ingest.collectors.gnmi.config import Source
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi_dialout.collector import METHOD, dialout_receiver
from ingest.collectors.gnmi_dialout.config import Config
from ingest.ledger import Ledger
from telemetry.gnmi import gnmi_pb2
from telemetry.samples import SampleBatch

_NOW_NS = 1_700_000_000 * NS_PER_S
_BEGIN_S, _WARM_S, _MEASURED_S = 120.0, 3.0, 4.0  # at most until the client has begun; until all paths are known

Updates = Callable[[], int]
Server = tuple[int, Updates, Callable[[], Any]]
"""Its port, how many updates it has read, and what stops it."""


def run() -> list[Row]:
    rows = []
    for size in (24, 1536):
        ours, theirs = (asyncio.run(_received_per_s(size, server)) for server in (_own, _plain))
        rows.append(row(f"gnmi_dialout_{size}_updates_a_message", ours, "updates/CPU-s", theirs))
        alone = asyncio.run(_received_per_s(size, partial(_alone, size)))
        rows.append(row(f"gnmi_dialout_{size}_updates_a_message, grpcio alone", alone, "updates/CPU-s", theirs))
    return rows


async def _received_per_s(
    size: int, server: "Callable[[], Awaitable[tuple[int, Updates, Callable[[], Any]]]]"
) -> float:
    """A client in a child process sends as fast as it is read; what counts is the CPU time of this process."""
    port, updates, stop = await server()
    context = multiprocessing.get_context("spawn")
    begun = context.Event()
    client = context.Process(target=_send, args=(size, port, begun), daemon=True)
    client.start()
    try:
        assert await asyncio.to_thread(begun.wait, _BEGIN_S), "the client sends"
        await asyncio.sleep(_WARM_S)
        began, before = time.process_time(), updates()
        await asyncio.sleep(_MEASURED_S)
        return (updates() - before) / (time.process_time() - began)
    finally:
        client.kill()
        await stop()


async def _own() -> Server:
    limits = DialledLimits(updates_per_s=1e12, bytes_per_s=1e12, messages_per_s=1e12)
    config = Config(listen="127.0.0.1:0", allow=("127.0.0.1",), source=Source.ARISTA, limits=limits)
    workers, received = ThreadPoolExecutor(2), 0
    receiver = dialout_receiver(config, CollectorContext(Ledger(0), lambda: _NOW_NS, workers), LinkTable())

    def count(output: CollectorOutput) -> None:
        nonlocal received
        received += len(output) if isinstance(output, SampleBatch) else 0

    task = asyncio.create_task(receiver.run(count))
    await receiver.server.listening.wait()

    async def stop() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        workers.shutdown()

    return receiver.server.port, lambda: received, stop


async def _plain() -> Server:
    values: dict[str, float] = {}
    received = 0

    def text(path: gnmi_pb2.Path) -> str:
        return "/".join(
            elem.name + "".join(f"[{key}={value}]" for key, value in elem.key.items()) for elem in path.elem
        )

    async def publish(messages: AsyncIterable[gnmi_pb2.SubscribeResponse], context: Any) -> None:
        nonlocal received
        async for message in messages:
            prefix = text(message.update.prefix)
            for update in message.update.update:
                values[f"{prefix}/{text(update.path)}"] = float(update.val.uint_val)
            received += len(message.update.update)

    return await _serve(publish, gnmi_pb2.SubscribeResponse.FromString, lambda: received)


async def _alone(size: int) -> Server:
    received = 0

    async def publish(messages: AsyncIterable[bytes], context: Any) -> None:
        nonlocal received
        async for _ in messages:
            received += size

    return await _serve(publish, None, lambda: received)


async def _serve(publish: Any, read: Any, updates: Updates) -> Server:
    handler: Any = grpc.stream_stream_rpc_method_handler(publish, read)
    server = grpc.aio.server()
    _, service, method = METHOD.split("/")
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return port, updates, lambda: server.stop(None)


def _send(size: int, port: int, begun: Event) -> None:
    messages = messages_of(size)

    def forever() -> Any:
        begun.set()
        while True:
            yield from messages

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        publish: Any = channel.stream_stream(METHOD)
        for _ in publish(forever()):
            pass


if __name__ == "__main__":
    print_rows(run())
