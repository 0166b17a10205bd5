"""What remote write costs in both directions, beside protobuf's own classes on the same samples."""

import time
from collections.abc import Callable
from functools import cache

import cramjam
import numpy as np

from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_MS, NS_PER_S
from export.remote_write.encoder import SampleBlock, encode_request
from export.remote_write.encoder_second import encode_second
from export.remote_write.labels import EncodedLabels, encode_labels, join
from export.remote_write.targets import TargetState
from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.pushed_series import PushedSeries
from ingest.collectors.remote_write.decode.body import Message, RequestReader
from telemetry.codec.batch import BatchDecoder, encode_batch
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, parse_series_key, series_key
from tests.unit.export.prompb import Request, WriteRequest, decode

SERIES = 10_000
ROUNDS = 30
REFERENCE_ROUNDS = 3
_INTERVAL_NS = 10 * NS_PER_S
_BEGIN_NS = 1_780_000_000 * NS_PER_S
SAMPLES_A_NODE = 40
RECEIVED_SERIES = 2_000  # what Prometheus 3 puts into one request
RECEIVED_NODES = RECEIVED_SERIES // SAMPLES_A_NODE


def run() -> list[Row]:
    batches = _batches(ROUNDS)
    reference = _rate(_protobuf(batches[0].table), batches[:REFERENCE_ROUNDS])
    ours = _rate(_own(batches[0].table), batches)
    from_bus = _rate(_from_bus(batches[0].table), batches)
    bodies = _own(batches[0].table)(batches[0])
    assert sorted(decode(bodies)) == sorted(decode(_protobuf(batches[0].table)(batches[0]))), "the same request"
    return [
        row("remote_write_encode", ours, "samples/cpu-s", reference),
        row("remote_write_decode_and_encode", from_bus, "samples/cpu-s"),
        row("remote_write_encode_2.0", _rate(_own(batches[0].table, encode_second), batches), "samples/cpu-s"),
        row("remote_write_bytes", len(bodies) / SERIES, "bytes/sample"),
        *_received_rows(),
    ]


def _received_rows() -> list[Row]:
    """From the body of a request to the batches of its devices; protobuf's classes alone get to columns by series."""
    rows = []
    for version, message in (("1.0", Message.FIRST), ("2.0", Message.SECOND)):
        at_ns = [_BEGIN_NS + number * _INTERVAL_NS for number in range(ROUNDS)]
        bodies = [request_body(message, number, each) for number, each in enumerate(at_ns)]
        series = PushedSeries("p", (PushedRule(source="dcgm"),), 0, series_max=100_000, targets_max=1_000)
        reader = RequestReader(series, 1 << 26)
        times_ns = iter(at_ns)

        def ours(body: bytes, reader: RequestReader = reader, message: Message = message) -> None:
            reader.read(body, message)
            admitted = reader.admit(next(times_ns))  # noqa: B023  # called within this turn
            assert sum(map(len, admitted.batches)) == RECEIVED_SERIES, "all of it is of the catalogue"

        known: dict[tuple[tuple[str, str], ...], int] = {}

        def plain(body: bytes, message: Message = message) -> None:
            unpacked = bytes(cramjam.snappy.decompress_raw(body))
            found = _plain_first(unpacked) if message is Message.FIRST else _plain_second(unpacked)
            columns = [(known.setdefault(labels, len(known)), at, value) for labels, at, value in found]  # noqa: B023
            numbers, at_ms, values = (np.array(column) for column in zip(*columns, strict=True))
            assert numbers.size == at_ms.size == values.size == RECEIVED_SERIES

        rates = [_received_rate(read, bodies) for read in (ours, plain)]
        rows.append(row(f"remote_write_receive_{version}", rates[0], "samples/cpu-s", rates[1]))
    return rows


def request_body(message: Message, number: int, at_ns: int, nodes: range = range(RECEIVED_NODES)) -> bytes:
    """One scrape of some nodes, SAMPLES_A_NODE each. number: decides the values."""
    labels = _labels_of(nodes)
    values = np.random.default_rng(number).uniform(1, 90, len(labels))
    block = SampleBlock(
        labels, np.arange(len(labels)), np.full(len(labels), at_ns // NS_PER_MS), values.view(np.uint64)
    )
    return encode_request([block]) if message is Message.FIRST else encode_second([block])


@cache
def _labels_of(nodes: range) -> EncodedLabels:
    """Of 8 GPUs a node, 5 metrics each, with the labels that dcgm-exporter and Prometheus give them."""
    metrics = ("MEMORY_TEMP", "TOTAL_ENERGY_CONSUMPTION", "SM_CLOCK", "MEM_CLOCK", "MEM_COPY_UTIL")
    return join(
        [
            encode_labels(
                f"DCGM_FI_DEV_{metric}",
                {
                    "UUID": f"GPU-5f3c1d7a-{node:04d}-4b1e-9c55-{gpu:012d}",
                    "Hostname": f"node{node}",
                    "device": f"nvidia{gpu}",
                    "gpu": str(gpu),
                    "instance": f"node{node}:9400",
                    "job": "dcgm",
                    "modelName": "NVIDIA H100 80GB HBM3",
                    "pci_bus_id": f"00000000:{gpu:02X}:00.0",
                },
                {},
            )
            for node in nodes
            for gpu in range(8)
            for metric in metrics
        ]
    )


_Found = list[tuple[tuple[tuple[str, str], ...], int, float]]


def _plain_first(body: bytes) -> _Found:
    return [
        (tuple((label.name, label.value) for label in series.labels), sample.timestamp, sample.value)
        for series in WriteRequest.FromString(body).timeseries
        for sample in series.samples
    ]


def _plain_second(body: bytes) -> _Found:
    request = Request.FromString(body)
    symbols = list(request.symbols)
    found = []
    for series in request.timeseries:
        texts = [symbols[ref] for ref in series.labels_refs]
        labels = tuple(zip(texts[::2], texts[1::2], strict=True))
        found += [(labels, sample.timestamp, sample.value) for sample in series.samples]
    return found


def _received_rate(read: Callable[[bytes], None], bodies: list[bytes]) -> float:
    """Samples per CPU-second, median; the first one compiles, and shows all series."""
    read(bodies[0])
    rates = []
    for body in bodies[1:]:
        begin = time.process_time()
        read(body)
        rates.append(RECEIVED_SERIES / max(time.process_time() - begin, 1e-9))
    return float(np.median(rates))


def _batches(count: int) -> list[SampleBatch]:
    """Collections of one target whose values walk, with labels as long as real ones."""
    random = np.random.default_rng(1)
    keys = tuple(
        series_key(
            f"gpu_metric_{metric}_total",
            {"device": f"node{host}", "gpu": f"GPU-5f3c1d7a-{host:04d}-4b1e-9c55-{gpu:012d}"},
        )
        for host in range(SERIES // 160)
        for gpu in range(8)
        for metric in range(20)
    )
    keys += tuple(series_key("filler", {"device": "node0", "n": str(n)}) for n in range(SERIES - len(keys)))
    table = SeriesTable("dcgm/127.1.0.1:9400", "node1", keys)
    values = random.uniform(0, 1e9, SERIES)
    series = np.arange(SERIES, dtype=np.uint32)
    begin_ns = 1_780_000_000 * NS_PER_S
    batches = []
    for number in range(count):
        values = values + random.integers(0, 1000, SERIES)
        at_ns = begin_ns + number * _INTERVAL_NS
        collection = Collection(begin_ns, number, at_ns, 0.1)
        batches.append(SampleBatch(table, collection, np.full(SERIES, at_ns), series, values))
    return batches


def _own(
    table: SeriesTable, encode_blocks: Callable[[list[SampleBlock]], bytes] = encode_request
) -> Callable[[SampleBatch], bytes]:
    """Order, duplicates, ends of series and encoding; without ``up``, which the reference does not have either."""
    state = TargetState(table, {}, send_late=True)

    def encode(batch: SampleBatch) -> bytes:
        return encode_blocks([each for each in state.process(batch).blocks if len(each) == SERIES])

    return encode


def _from_bus(table: SeriesTable) -> Callable[[SampleBatch], bytes]:
    """As the service does: from the record on the bus to the request body."""
    own, decoder = _own(table), BatchDecoder()
    records: dict[int, tuple[bytes, dict[str, bytes]]] = {}

    def encode(batch: SampleBatch) -> bytes:
        return own(decoder.decode(*records[batch.collection.seq]))

    for batch in _batches(ROUNDS):
        records[batch.collection.seq] = encode_batch(batch)
    return encode


def _protobuf(table: SeriesTable) -> Callable[[SampleBatch], bytes]:
    """Plain protobuf (upb): labels parsed once, a message filled and serialised for each batch."""
    labels = [sorted({"__name__": metric, **each}.items()) for metric, each in map(parse_series_key, table.keys)]

    def encode(batch: SampleBatch) -> bytes:
        request = WriteRequest()
        columns = zip(batch.series.tolist(), batch.values.tolist(), batch.times_ns.tolist(), strict=True)
        for number, value, time_ns in columns:
            series = request.timeseries.add()
            for name, text in labels[number]:
                series.labels.add(name=name, value=text)
            series.samples.add(value=value, timestamp=time_ns // 1_000_000)
        return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))

    return encode


def _rate(encode: Callable[[SampleBatch], bytes], batches: list[SampleBatch]) -> float:
    """Samples per CPU-second, median of the rounds; the first one compiles and fills caches."""
    encode(batches[0])
    rates = []
    for batch in batches:
        begin = time.process_time()
        encode(batch)
        rates.append(SERIES / max(time.process_time() - begin, 1e-9))
    return float(np.median(rates))


if __name__ == "__main__":
    print_rows(run())
