"""Series that are renamed at every scrape: no stage may grow with them. Each is followed over a thousand renames."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from analytics.config import EngineConfig
from analytics.worker import build_engine
from bus.base import Record
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.converter import RecordConverter
from fabricscope.api.history import History
from fabricscope.api.read_model import ReadModel
from ingest.collectors.exposition.decode.body import BodyReader
from ingest.collectors.exposition.decode.mapping import Mapper
from telemetry import topics
from telemetry.catalogue import origins_of, sources
from telemetry.codec.batch import BatchDecoder, encode_batch
from telemetry.samples import Collection, SampleBatch, all_rows
from telemetry.series import SeriesTable, series_key

SECOND = 10**9
START_NS = 1_700_000_000 * SECOND
WARM_UP = 10
SERIES, RENAMES, TICK_S = 20, 1000, 30  # an hour is 120 renames: silent series are forgotten after it
KEPT_BYTES = 1024 * 1024  # what decoders may keep here, by default 320 MiB


def batch(rename: int) -> SampleBatch:
    names = [f"{rename}-{n}" for n in range(SERIES)]
    keys = tuple(series_key("node_load_1m", {"device": "node1", "container": name}) for name in names)
    at_ns = START_NS + rename * TICK_S * SECOND
    collection = Collection(START_NS, rename, at_ns, 0.1)
    times_ns = np.full(SERIES, at_ns)
    return SampleBatch(
        SeriesTable("node/node1", "node1", keys), collection, times_ns, all_rows(SERIES), np.ones(SERIES)
    )


def page(rename: int) -> bytes:
    lines = [f'DCGM_FI_DEV_GPU_TEMP{{gpu="{n}",UUID="GPU-{rename}-{n}"}} 40' for n in range(SERIES)]
    return "\n".join(["# TYPE DCGM_FI_DEV_GPU_TEMP gauge", *lines, ""]).encode()


def record(rename: int) -> Record:
    one = batch(rename)
    value, headers = encode_batch(one)
    return Record(topics.SAMPLES.name, 0, rename, one.collection.collected_ns, b"node1", value, headers)


def ingest() -> Callable[[int], object]:
    source = sources()["dcgm"]
    reader = BodyReader("dcgm/node1", "node1", Mapper(source, {"device": "node1"}, origins_of("dcgm")))
    return lambda rename: encode_batch(
        SampleBatch(
            (found := reader.read(page(rename), START_NS)).table,
            Collection(START_NS, rename, START_NS, 0.1),
            found.times_ns,
            found.series,
            found.values,
        )
    )


def decoder() -> Callable[[int], object]:
    known = BatchDecoder(KEPT_BYTES)
    return lambda rename: known.decode((one := record(rename)).value or b"", one.headers)


def analytics() -> Callable[[int], object]:
    engine = build_engine(EngineConfig(interval_s=2 * TICK_S))

    def step(rename: int) -> None:
        engine.observe(batch(rename))
        engine.advance()

    return step


def exporter() -> Callable[[int], object]:
    converter = RecordConverter(RemoteWriteConfig(url="http://127.0.0.1:1"))
    converter._decoder = BatchDecoder(KEPT_BYTES)
    return lambda rename: converter.convert([record(rename)])


def api() -> Callable[[int], object]:
    model = ReadModel(History(600 * SECOND, KEPT_BYTES))
    model._decoder = BatchDecoder(KEPT_BYTES)
    return lambda rename: model.apply([record(rename)])


@contextmanager
def traced() -> Iterator[None]:
    """What is there already is neither traced nor looked through at each collection."""
    gc.collect()
    gc.freeze()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        gc.unfreeze()


@pytest.mark.parametrize("stage", [ingest, decoder, analytics, exporter, api])
def test_memory_stays_where_it_is(stage: Callable[[], Callable[[int], object]]) -> None:
    step = stage()
    for rename in range(WARM_UP):  # compiles
        step(rename)
    peaks = [0, 0]
    with traced():
        for rename in range(WARM_UP, RENAMES):
            step(rename)
            if rename % 8 == 0:
                gc.collect()
                half = 2 * rename // RENAMES
                peaks[half] = max(peaks[half], tracemalloc.get_traced_memory()[0])
    names = SERIES * (RENAMES // 2) * 57  # what the renamed series' names alone would take
    assert peaks[1] - peaks[0] < names / 10
