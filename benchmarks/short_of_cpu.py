"""Ingest with too little CPU: what arrives on the bus, how late, and how much memory it takes.

1,000 targets at 1 s, and ingest on one core that it shares with busy loops; the servers, the bus' reader and this
process are on the other cores. All is counted outside of ingest: records by a reader of the bus, CPU time and memory by
the kernel. Once all series are known the loops of the same run are stopped and go on in turn, and each window beside
them is compared with the window alone before it. What the CPU can do is what ingest delivers alone from so many targets
that it takes the same share of the core: on the line between few targets and all of them, as an ingest with little to
do takes more CPU for each sample.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml

from benchmarks.end_to_end import _cpu_s
from benchmarks.loads.load import Load, pages_alone
from benchmarks.rows import Row, print_rows, row
from bus.base import Bus
from bus.open import open_bus
from common.units import NS_PER_S
from fabricscope.settings import load_settings
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.ledger import StageReport

HOSTS, FEW_HOSTS, INTERVAL_S, BUSY_LOOPS = 500, 100, 1.0, 4
FIRST_CPU_S, KNOWN_S_MAX = 6.0, 240.0
"""The first seconds are of CPU time: what is learned makes all that follows cheaper, so only equal ones compare."""
PAIRS, SETTLE_S, WINDOW_S = 6, 4.0, 12.0
_CORE = 0


@dataclass(slots=True)
class Delivered:
    """What a reader of the bus saw. late_s: of each collection, from its begin until its record was on the bus."""

    samples: int = 0
    late_s: list[float] = field(default_factory=list)
    turns: Counter[str] = field(default_factory=Counter)
    report: StageReport | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What was delivered in some seconds after ingest began to deliver."""

    delivered: Delivered
    wall_s: float
    cpu_s: float
    rss_bytes: int

    @property
    def cores(self) -> float:
        return self.cpu_s / self.wall_s

    @property
    def samples_per_s(self) -> float:
        return self.delivered.samples / self.wall_s


@dataclass(frozen=True, slots=True)
class Run:
    """The first seconds of CPU time, in which series are new; then, all known, windows alone and beside in turn."""

    first: Measured
    alone: list[Measured] = field(default_factory=list)
    beside: list[Measured] = field(default_factory=list)


def measure(load: Load, busy_loops: int) -> Run:
    with tempfile.TemporaryDirectory(prefix="short-of-cpu-") as name, ExitStack() as stack:
        settings = _settings(Path(name), load)
        endless = [sys.executable, "-c", "while True: pass"]
        loops = [stack.enter_context(_on_core(endless)) for _ in range(busy_loops)]
        ingest = [sys.executable, "-m", "fabricscope", "ingest", "--config", str(settings)]
        return asyncio.run(_watch(settings, stack.enter_context(_on_core(ingest)), loops, load))


@contextmanager
def _on_core(command: list[str]) -> Iterator[int]:
    """Process id. Its error output is ours."""
    on_core = ["taskset", "--cpu-list", str(_CORE), *command]
    process = subprocess.Popen(on_core, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def _settings(folder: Path, load: Load) -> Path:
    document = {
        "global": {"data_dir": str(folder / "data"), "metrics_ports": {"ingest": 0}},
        "bus": {"kind": "embedded"},
        **load.jobs,
    }
    path = folder / "fabricscope.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


async def _watch(settings: Path, ingest: int, loops: list[int], load: Load) -> Run:
    bus = open_bus(load_settings(settings).bus)
    await bus.start()
    try:
        began_s = time.monotonic()
        while not (await _window(bus, ingest, 0.5)).delivered.samples and time.monotonic() < began_s + KNOWN_S_MAX:
            pass
        begin_cpu_s = _cpu_s(ingest)
        run = Run(await _window(bus, ingest, KNOWN_S_MAX, lambda: _cpu_s(ingest) - begin_cpu_s < FIRST_CPU_S))
        seen = Counter(run.first.delivered.turns)
        while len(seen) < load.targets and time.monotonic() < began_s + KNOWN_S_MAX:
            seen += (await _window(bus, ingest, 2.0)).delivered.turns
        for _ in range(PAIRS):
            for windows, what in ((run.alone, signal.SIGSTOP), (run.beside, signal.SIGCONT)):
                for loop in loops:
                    os.kill(loop, what)
                await asyncio.sleep(SETTLE_S)
                windows.append(await _window(bus, ingest, WINDOW_S))
        return run
    finally:
        await bus.stop()


async def _window(bus: Bus, ingest: int, seconds: float, goes_on: Callable[[], bool] = lambda: True) -> Measured:
    began_s, cpu_s = time.monotonic(), _cpu_s(ingest)
    delivered = await _read(bus, seconds, goes_on)
    return Measured(delivered, time.monotonic() - began_s, _cpu_s(ingest) - cpu_s, _rss_bytes(ingest))


async def _read(bus: Bus, seconds: float, goes_on: Callable[[], bool]) -> Delivered:
    """What comes to the bus from now on, for as long as it goes on, within so many seconds."""
    ends = await bus.offsets_since([topics.SAMPLES, topics.LEDGER], time.time_ns())
    reader, decoder, found = bus.consume([topics.SAMPLES, topics.LEDGER], ends), BatchDecoder(), Delivered()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and goes_on():
        for record in await reader.poll(wait_s=0.05):
            if record.topic == topics.LEDGER.name:
                found.report = decode_record(record.value or b"", StageReport)
                continue
            batch = decoder.decode(record.value or b"", record.headers)
            found.samples += len(batch)
            found.late_s.append((record.appended_ns - batch.collection.collected_ns) / NS_PER_S)
            found.turns[batch.table.target] += batch.collection.up
    await reader.stop()
    return found


def _rss_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run() -> list[Row]:
    os.sched_setaffinity(0, set(range(os.cpu_count() or 1)) - {_CORE} or {_CORE})
    with pages_alone(FEW_HOSTS, INTERVAL_S) as load:
        few = measure(load, 0)
    rows: list[Row] = []
    with pages_alone(HOSTS, INTERVAL_S) as load:
        for loops in (0, BUSY_LOOPS):
            found = measure(load, loops)
            rows += _rows(f"short of CPU: {loops} busy loops, new series", [found.first])
            rows += _rows(f"short of CPU: {loops} busy loops, known series", found.beside)
            rows += _beside_what_the_cpu_can_do(found, _sum(few.alone + few.beside), loops)
    return rows


def _beside_what_the_cpu_can_do(found: Run, few: Measured, loops: int) -> Iterator[Row]:
    """Without loops both windows of a pair are alike, and the ratio says how steady the machine is."""
    name = f"short of CPU: {loops} busy loops, known series, beside what the same share of the core delivers alone"
    for pair, (alone, beside) in enumerate(zip(found.alone, found.beside, strict=True), start=1):
        yield row(f"{name}: pair {pair}", beside.samples_per_s, "samples/s", _can_do(beside.cores, few, alone))
    alone, beside = _sum(found.alone), _sum(found.beside)
    yield row(f"{name}: all pairs", beside.samples_per_s, "samples/s", _can_do(beside.cores, few, alone))


def _can_do(cores: float, few: Measured, alone: Measured) -> float:
    return few.samples_per_s + (alone.samples_per_s - few.samples_per_s) * (cores - few.cores) / (
        alone.cores - few.cores
    )


def _sum(windows: Sequence[Measured]) -> Measured:
    """Windows of one run as one."""
    delivered = Delivered(report=windows[-1].delivered.report)
    for each in windows:
        delivered.samples += each.delivered.samples
        delivered.late_s += each.delivered.late_s
        delivered.turns += each.delivered.turns
    wall_s, cpu_s = sum(each.wall_s for each in windows), sum(each.cpu_s for each in windows)
    return Measured(delivered, wall_s, cpu_s, max(each.rss_bytes for each in windows))


def _rows(what: str, windows: Sequence[Measured]) -> Iterator[Row]:
    found = _sum(windows)
    delivered = found.delivered
    turns = [count for count in delivered.turns.values() if count] or [0]
    yield row(f"{what}: delivered", found.samples_per_s, "samples/s")
    yield row(f"{what}: delivered a second of CPU", delivered.samples / found.cpu_s, "samples/CPU-s")
    yield row(f"{what}: CPU", found.cores, "cores")
    yield row(f"{what}: late, 99 of 100", float(np.percentile(delivered.late_s or [0.0], 99)), "s")
    yield row(f"{what}: late, longest", max(delivered.late_s, default=0.0), "s")
    yield row(f"{what}: targets", len(delivered.turns), "targets")
    yield row(f"{what}: fewest collections of a target", min(turns), "collections")
    yield row(f"{what}: most collections of a target", max(turns), "collections")
    yield row(f"{what}: memory", found.rss_bytes / (1 << 20), "MiB")
    if delivered.report is not None:
        yield row(f"{what}: held", delivered.report.held, "samples")


if __name__ == "__main__":
    print_rows(run())
