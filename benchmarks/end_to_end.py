"""Collect → bus → analytics as it ships: two stage processes, a real bus, hundreds of targets over HTTP and gRPC.

Jitter, limits, deadlines, the ledger and ``up`` are on. Measured are the CPU time of both stages, all threads, user and
system, over a window in which all series are known and nothing fails; and the samples that analytics has processed in
the same window, by its own ledger. The load is a cluster's mix of switches and hosts, or pages alone (``loads.load``).
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.loads import load as loads
from benchmarks.loads.load import Load
from benchmarks.references import naive_pipeline
from benchmarks.rows import Row, print_rows, row
from bus.base import Bus
from bus.open import open_bus
from common.units import NS_PER_S, to_ns
from fabricscope.settings import load_settings
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.ledger import StageReport
from tests.servers.kafka import KafkaServer

Engine = Literal["embedded", "kafka"]
WINDOW_S, DEADLINE_S = 20.0, 150.0
STAGES = ("ingest", "analytics")
LAG_INTERVALS_MAX = 3
_TICK = os.sysconf("SC_CLK_TCK")
_COUNTED_MAX = 2_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """Progress of both stages. samples: processed by analytics. cpu_s: by stage."""

    at_s: float
    samples: int
    cpu_s: dict[str, float]


@dataclass(slots=True)
class OnTheBus:
    """Records of the last part of the window. samples: by job. targets: with samples."""

    bytes: int = 0
    samples: Counter[str] = field(default_factory=Counter)
    targets: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Measured:
    """One engine's window."""

    samples: int
    cpu_s: dict[str, float]
    wall_s: float
    bus: OnTheBus

    @property
    def bytes_per_sample(self) -> float:
        return self.bus.bytes / self.bus.samples.total()


def measure(engine: Engine, load: Load, window_s: float = WINDOW_S) -> Measured:
    """Starts the stages, waits until every target is up and known, and measures; RuntimeError when that fails."""
    with tempfile.TemporaryDirectory(prefix=f"end-to-end-{engine}-") as name:
        folder = Path(name)
        with _kafka(engine, folder) as address:
            settings = _settings(folder, load, address)
            with _stages(settings, folder) as pids:
                return asyncio.run(_watch(settings, pids, load, window_s, folder))


@contextmanager
def _kafka(engine: Engine, folder: Path) -> Iterator[str | None]:
    if engine == "embedded":
        yield None
        return
    server = KafkaServer(folder / "kafka")
    try:
        server.start()
        yield server.address
    finally:
        server.stop()


@contextmanager
def _stages(settings: Path, folder: Path) -> Iterator[dict[str, int]]:
    """Process ids by stage."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for stage in STAGES:
            command = [sys.executable, "-m", "fabricscope", stage, "--config", str(settings)]
            with (folder / f"{stage}.log").open("wb") as log:
                running[stage] = subprocess.Popen(command, stdout=log, stderr=log)
        yield {stage: process.pid for stage, process in running.items()}
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _settings(folder: Path, load: Load, kafka: str | None) -> Path:
    document: dict[str, Any] = {
        "global": {"data_dir": str(folder / "data"), "metrics_ports": dict.fromkeys(STAGES, 0)},
        "bus": {"kind": "kafka", "kafka": {"bootstrap": [kafka]}} if kafka else {"kind": "embedded"},
        "analytics": {"engine": {"interval_s": load.interval_s}},
        **load.jobs,
    }
    path = folder / "fabricscope.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


async def _watch(settings: Path, pids: dict[str, int], load: Load, window_s: float, folder: Path) -> Measured:
    bus = open_bus(load_settings(settings).bus)
    await bus.start()
    try:
        readings = _readings(bus, pids, load, DEADLINE_S + load.settle_s + window_s, folder)
        settled_s, first = 0.0, await anext(readings)
        async for now in readings:
            settled_s = settled_s or now.at_s + load.settle_s
            if now.at_s < settled_s:
                first = now
            elif now.at_s - first.at_s >= window_s:
                break
        on_the_bus = await _on_the_bus(bus, window_s)
        if len(on_the_bus.targets) < load.targets:
            raise RuntimeError(f"{len(on_the_bus.targets)} of {load.targets} targets have samples")
    finally:
        await bus.stop()
    spent = {stage: now.cpu_s[stage] - first.cpu_s[stage] for stage in STAGES}
    return Measured(now.samples - first.samples, spent, now.at_s - first.at_s, on_the_bus)


async def _readings(bus: Bus, pids: dict[str, int], load: Load, within_s: float, folder: Path) -> Any:
    """One at each report of analytics, once all targets are up and it has no lag: a backlog would be cheaper."""
    reader, deadline = bus.consume([topics.LEDGER], {}), time.monotonic() + within_s
    up, lag_s = 0.0, float("inf")
    try:
        while time.monotonic() < deadline:
            for record in await reader.poll(wait_s=0.05):
                if record.value is None:  # a stage of before is forgotten
                    continue
                report = decode_record(record.value, StageReport)
                if report.stage == "ingest":
                    up = report.details["targets_up"]
                    continue
                lag_s = _lag_s(report)
                if up == load.polled and lag_s < LAG_INTERVALS_MAX * load.interval_s:
                    cpu_s = {stage: _cpu_s(pid) for stage, pid in pids.items()}
                    yield Reading(time.monotonic(), report.samples_out, cpu_s)
        logs = "\n".join((folder / f"{stage}.log").read_text()[-1500:] for stage in STAGES)
        state = f"{up:.0f} of {load.polled} polled targets are up, analytics is {lag_s:.0f} s behind"
        what = f"within {within_s:.0f} s no steady state, or too late"
        raise RuntimeError(f"{what}: {state}; is the machine busy with something else?\n{logs}")
    finally:
        await reader.stop()


def _lag_s(report: StageReport) -> float:
    """By how much analytics is behind."""
    return float(report.at_ns / NS_PER_S - report.details["watermark_seconds"])


async def _on_the_bus(bus: Bus, last_s: float) -> OnTheBus:
    """Of the last seconds: bytes of the records, tables included, and their samples."""
    since = await bus.offsets_since([topics.SAMPLES], time.time_ns() - to_ns(last_s))
    reader, decoder, found = bus.consume([topics.SAMPLES], since), BatchDecoder(), OnTheBus()
    deadline = time.monotonic() + last_s
    while time.monotonic() < deadline and found.samples.total() < _COUNTED_MAX:
        for record in await reader.poll():
            value = record.value or b""
            batch = decoder.decode(value, record.headers)
            found.bytes += len(value)
            found.samples[batch.table.target.partition("/")[0]] += len(batch)
            if len(batch):
                found.targets.add(batch.table.target)
    await reader.stop()
    return found


def _cpu_s(pid: int) -> float:
    """User and system time of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def run() -> list[Row]:
    for stage in STAGES:  # where nothing is compiled yet, a stage does it for minutes while its targets wait
        subprocess.run([sys.executable, "-m", f"{stage}.warm_up"], check=True)
    engines: tuple[Engine, ...] = ("embedded", "kafka")
    rows: list[Row] = []
    for load_of, kind in ((loads.mix, ""), (loads.pages_alone, " of pages alone")):
        with load_of() as load:
            for engine in engines:
                rows += _rows(f"end to end{kind}, {engine}", load, measure(engine, load))
    return rows


def _rows(what: str, load: Load, found: Measured) -> Iterator[Row]:
    """Two counts: samples that analytics processed, and all values that arrived, most of which no metric maps.

    The reference processes and counts every value: the ratio to samples understates, the ratio to values is fair.
    """
    spent, naive = sum(found.cpu_s.values()), naive_pipeline.values_per_cpu_second(load.pages, load.messages)
    values = load.values * found.wall_s / load.interval_s
    yield row(f"{what}: collector and analytics together", found.samples / spent, "samples/CPU-s", naive)
    yield row(f"{what}: the same in values that arrived", values / spent, "values/CPU-s", naive)
    for stage in STAGES:
        yield row(f"{what}: {stage} alone", found.samples / found.cpu_s[stage], "samples/CPU-s")
    yield row(f"{what}: load", found.samples / found.wall_s, "samples/s")
    yield row(f"{what}: CPU of both stages", spent / found.wall_s, "cores")
    yield row(f"{what}: record on the bus", found.bytes_per_sample, "bytes/sample")
    for job, count in sorted(found.bus.samples.items()):
        yield row(f"{what}: share of {job}", 100 * count / found.bus.samples.total(), "%")


if __name__ == "__main__":
    print_rows(run())
