"""What the export of a batch by remote write costs, beside protobuf's own classes on the same batch."""

import time
from collections.abc import Callable

import cramjam
import numpy as np

from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from export.remote_write.encoder import encode_request
from export.remote_write.targets import TargetState
from telemetry.codec.batch import BatchDecoder, encode_batch
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, parse_series_key, series_key
from tests.unit.export.prompb import WriteRequest, decode

SERIES = 10_000
ROUNDS = 30
REFERENCE_ROUNDS = 3
_INTERVAL_NS = 10 * NS_PER_S


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
        row("remote_write_bytes", len(bodies) / SERIES, "bytes/sample"),
    ]


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


def _own(table: SeriesTable) -> Callable[[SampleBatch], bytes]:
    """Order, duplicates, ends of series and encoding; without ``up``, which the reference does not have either."""
    state = TargetState(table, {}, send_late=True)

    def encode(batch: SampleBatch) -> bytes:
        return encode_request([each for each in state.process(batch).blocks if len(each) == SERIES])

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
