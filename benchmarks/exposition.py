"""What a scrape costs: parsing beside prometheus_client on the same bytes, and a whole collection over loopback."""

import asyncio
import gzip
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.queues import Queue

from prometheus_client.parser import text_string_to_metric_families

from benchmarks.loads.pages import changed, pages
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext
from ingest.collectors.exposition.collector import ExpositionCollector
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.decode.body import BodyReader
from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.collectors.exposition.discovery import TargetGroup, resolve
from ingest.ledger import Ledger
from telemetry.catalogue import origins_of, sources
from telemetry.codec.batch import encode_batch

_NOW_NS = 1_760_000_000 * NS_PER_S
_ROUND_S, _ROUNDS = 0.3, 5


def parsing() -> list[Row]:
    rows: list[Row] = []
    for name, (source, page) in pages().items():
        lines = sum(1 for line in page.splitlines() if line and not line.startswith(b"#"))
        two = (page, changed(page))
        reference = _per_s(lambda page=page: list(text_string_to_metric_families(page.decode())), lines)  # type: ignore[misc]
        known = reader_of(source)
        known.read(page, _NOW_NS)
        assert all(known.read_known(one, _NOW_NS) is not None for one in two), "the layout is not known"
        warm = _per_s(lambda: [known.read_known(one, _NOW_NS) for one in two], 2 * lines)  # noqa: B023
        plain = reader_of(source, compiled=False)
        plain.read(page, _NOW_NS)
        plain_warm = _per_s(lambda: [plain.read_known(one, _NOW_NS) for one in two], 2 * lines)  # noqa: B023
        moved = (page + b"x_1 1\n", page + b"x_2 1\n")
        slow = _per_s(lambda: [known.read(one, _NOW_NS) for one in moved], 2 * lines)  # noqa: B023
        cold = _per_s(lambda: reader_of(source).read(page, _NOW_NS), lines)  # noqa: B023
        for what, rate in (
            ("known layout", warm),
            ("known layout without numba", plain_warm),
            ("known series in another layout", slow),
            ("first page of a target", cold),
        ):
            rows.append(row(f"exposition {name} page, {what}", rate, "samples/CPU-s", reference))
    return rows


def collecting() -> list[Row]:
    """Client CPU of a whole collection: request, response, limits, samples, ledger; and with the record for the bus."""
    rows: list[Row] = []
    for name, (source, page) in pages().items():
        for compressed in (False, True):
            collected, with_record, size = asyncio.run(_collect(source, page, compressed))
            what = f"exposition {name} page over loopback{', gzip' if compressed else ''}"
            rows.append(row(f"{what}, collected", collected * 1e6, "CPU-us"))
            rows.append(row(f"{what}, collected and encoded", with_record * 1e6, "CPU-us"))
        rows.append(row(f"exposition {name} page, record with its table", size, "bytes/sample"))
    return rows


async def _collect(source: str, page: bytes, compressed: bool) -> tuple[float, float, float]:
    """CPU seconds a collection without and with encoding, and bytes a sample."""
    context = multiprocessing.get_context("spawn")
    port: Queue[int] = context.Queue()
    server = context.Process(target=_serve, args=(page, compressed, port), daemon=True)
    server.start()
    workers = ThreadPoolExecutor(1)
    try:
        address = f"127.0.0.1:{await asyncio.to_thread(port.get)}"
        job = ScrapeConfig(job_name="bench", source=source, enable_compression=compressed)
        (target,) = resolve(job, [TargetGroup(targets=(address,), labels={"device": "node1"})])
        collector = ExpositionCollector(job, target, CollectorContext(Ledger(0), lambda: 0, workers))
        batch = await collector.collect(_NOW_NS)
        assert batch.collection.up, batch.collection.down
        size = len(encode_batch(batch)[0]) / len(batch)
        costs = []
        for encode in (False, True):
            best = float("inf")
            for _ in range(_ROUNDS):
                count, began = 0, time.process_time()
                while time.process_time() - began < _ROUND_S:
                    batch = await collector.collect(_NOW_NS)
                    if encode:
                        encode_batch(batch)
                    count += 1
                best = min(best, (time.process_time() - began) / count)
            costs.append(best)
        await collector.stop()
        return costs[0], costs[1], size
    finally:
        server.kill()
        server.join()
        workers.shutdown()


def _serve(page: bytes, compressed: bool, port: "Queue[int]") -> None:
    bodies = [gzip.compress(one, 6) if compressed else one for one in (page, changed(page))]
    encoding = b"Content-Encoding: gzip\r\n" if compressed else b""
    answers = [b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (encoding, len(body), body) for body in bodies]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        count = 0
        while await reader.readuntil(b"\r\n\r\n"):
            count += 1
            writer.write(answers[count % 2])

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def reader_of(source: str, **options: bool) -> BodyReader:
    found = sources()[source]
    mapper = Mapper(found, {"device": "node1"}, origins_of(source))
    return BodyReader("bench/a:1", "node1", mapper, sentinels=found.sentinels, **options)


def _per_s(work: Callable[[], object], amount: int) -> float:
    """The best of some rounds, of this process's CPU time."""
    work()
    best = 0.0
    for _ in range(_ROUNDS):
        count, began = 0, time.process_time()
        while time.process_time() - began < _ROUND_S:
            work()
            count += 1
        best = max(best, count * amount / (time.process_time() - began))
    return best


def run() -> list[Row]:
    return [*parsing(), *collecting()]


if __name__ == "__main__":
    print_rows(run())
