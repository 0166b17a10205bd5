"""What a snapshot of an engine with a million scored series costs: seconds, and memory."""

import gc
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from analytics.config import EngineConfig
from analytics.engine import Engine
from analytics.snapshot import snapshot
from analytics.snapshot.stateful import joined
from analytics.worker import build_engine
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key

_START_NS = 1_700_000_000 * NS_PER_S
_OF_A_TARGET = 1000


def filled(series: int) -> Engine:
    """An engine that has seen one scored value of each series."""
    engine = build_engine(EngineConfig())
    for target in range(series // _OF_A_TARGET):
        engine.observe(_batch(f"node{target}", 0))
    later_ns = 4 * engine.config.interval_ns  # closes the tick before
    engine.observe(_batch("node0", later_ns))
    engine.advance()
    return engine


def scramble(engine: Engine) -> None:
    """Random bits for all state of series, so that it does not compress."""
    noise = np.random.default_rng(1).integers(0, 256, 1 << 24, np.uint8)
    for array in joined(engine.series.parts).arrays.values():
        plain = array.reshape(-1).view(np.uint8)
        for start in range(0, plain.size, noise.size):
            part = plain[start : start + noise.size]
            part[:] = noise[: part.size]


def _batch(device: str, after_ns: int) -> SampleBatch:
    labels = ({"device": device, "port": f"mlx5_{number}"} for number in range(_OF_A_TARGET))
    table = SeriesTable(device, device, tuple(series_key("nic_pcie_stalled_ratio", of) for of in labels))
    at_ns = _START_NS + after_ns
    rows = np.arange(_OF_A_TARGET, dtype=np.uint32)
    return SampleBatch(
        table, Collection(_START_NS, after_ns, at_ns, 0.05), np.full(rows.size, at_ns), rows, np.zeros(rows.size)
    )


class Pauses:
    """The longest wait of another thread, such as that of an event loop."""

    def __enter__(self) -> "Pauses":
        self.longest_s, self._done = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        before_s = time.monotonic()
        while not self._done.wait(0.001):
            now_s = time.monotonic()
            self.longest_s, before_s = max(self.longest_s, now_s - before_s), now_s


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run(series: int = 1_000_000) -> list[Row]:
    """The disk is that of the folder for temporary files."""
    before = _resident_bytes()
    engine = filled(series)
    each = (_resident_bytes() - before) / series
    scramble(engine)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "analytics.snapshot")
        began_s = time.monotonic()
        with Pauses() as pauses:
            snapshot.save(path, engine, snapshot.Mark({}, 0))
        saved_s, size = time.monotonic() - began_s, path.stat().st_size
        known = len(engine.registry)
        del engine
        gc.collect()
        engine = build_engine(EngineConfig())
        began_s = time.monotonic()
        snapshot.load(path, engine)
        restored_s = time.monotonic() - began_s
    of = f"an engine of {known:,} scored series"
    return [
        row(f"scoring: snapshot of {of}, with fsync", saved_s, "s"),
        row(f"scoring: restore of {of}", restored_s, "s"),
        row("scoring: other threads waited at most", pauses.longest_s, "s"),
        row("scoring: engine, memory of a scored series", each, "bytes"),
        row("scoring: engine, snapshot of a scored series at most", size / known, "bytes"),
    ]


if __name__ == "__main__":
    print_rows(run())
