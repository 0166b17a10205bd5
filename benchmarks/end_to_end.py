"""Collect → bus → analytics as it ships: two stage processes, a real bus, hundreds of targets over HTTP.

Jitter, limits, deadlines, the ledger and ``up`` are on. What counts is the CPU time of both stages, all threads, user
and system, over a window in which everything is known and nothing fails; and the samples that analytics has processed
in the same window, by its own ledger. ``python -m benchmarks.end_to_end`` prints the rows as JSON.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.moving_pages import gpu_pages, node_pages
from benchmarks.naive_pipeline import samples_per_cpu_second
from benchmarks.page_server import PageServer
from fabricscope.settings import load_settings
from telemetry import topics
from telemetry.bus.base import Bus
from telemetry.bus.open import open_bus
from telemetry.codec import BatchDecoder
from telemetry.facts import decode_fact
from telemetry.ledger import StageReport
from tests.servers.kafka import KafkaServer

Engine = Literal["embedded", "kafka"]
HOSTS, INTERVAL_S = 300, 1.0
WINDOW_S, SETTLE_S, DEADLINE_S = 20.0, 6.0, 150.0
STAGES = ("ingest", "analytics")
LAG_S_MAX = 3 * INTERVAL_S
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Reading:
    """Where both stages stood. samples: processed by analytics; cpu_s by stage."""

    at_s: float
    samples: int
    cpu_s: dict[str, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """One engine's window, and what lay on the bus: bytes, samples, and records, which are pages."""

    samples: int
    cpu_s: dict[str, float]
    wall_s: float
    bus: tuple[int, int, int]

    @property
    def bytes_per_sample(self) -> float:
        return self.bus[0] / self.bus[1]

    @property
    def pages(self) -> float:
        """Pages in the window."""
        return self.samples * self.bus[2] / self.bus[1]


def measure(engine: Engine, hosts: int = HOSTS, window_s: float = WINDOW_S) -> Measured:
    """Starts everything, waits until every target is up and known, and measures; RuntimeError when that fails."""
    with tempfile.TemporaryDirectory(prefix=f"end-to-end-{engine}-") as name, PageServer(hosts, INTERVAL_S) as pages:
        folder = Path(name)
        with _kafka(engine, folder) as address:
            settings = _settings(folder, pages, address)
            with _stages(settings, folder) as pids:
                return asyncio.run(_watch(settings, pids, 2 * hosts, window_s, folder))


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
            command = [sys.executable, "-m", "fabricscope", stage, "--config.file", str(settings)]
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


def _settings(folder: Path, pages: PageServer, kafka: str | None) -> Path:
    kinds = {"dcgm": "/gpu", "node_exporter": "/node"}
    document: dict[str, Any] = {
        "global": {"data_dir": str(folder / "data"), "metrics_ports": dict.fromkeys(STAGES, 0)},
        "bus": {"kind": "kafka", "kafka": {"bootstrap": [kafka]}} if kafka else {"kind": "embedded"},
        "analytics": {"engine": {"interval_s": INTERVAL_S}},
        "scrape_configs": [
            {
                "job_name": source,
                "source": source,
                "metrics_path": path,
                "scrape_interval": INTERVAL_S,
                "static_configs": [
                    {"targets": [f"{host}:{pages.port}"], "labels": {"device": f"node{number}"}}
                    for number, host in enumerate(pages.hosts, 1)
                ],
            }
            for source, path in kinds.items()
        ],
    }
    path = folder / "fabricscope.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


async def _watch(settings: Path, pids: dict[str, int], targets: int, window_s: float, folder: Path) -> Measured:
    bus = open_bus(load_settings(settings).bus)
    await bus.start()
    try:
        readings = _readings(bus, pids, targets, folder)
        settled_s, first = 0.0, await anext(readings)
        async for now in readings:
            settled_s = settled_s or now.at_s + SETTLE_S
            if now.at_s < settled_s:
                first = now
            elif now.at_s - first.at_s >= window_s:
                break
        on_the_bus = await _on_the_bus(bus, window_s)
    finally:
        await bus.stop()
    spent = {stage: now.cpu_s[stage] - first.cpu_s[stage] for stage in STAGES}
    return Measured(now.samples - first.samples, spent, now.at_s - first.at_s, on_the_bus)


async def _readings(bus: Bus, pids: dict[str, int], targets: int, folder: Path) -> Any:
    """One at each report of analytics, once all targets answer and it has caught up: a backlog is cheaper."""
    reader, known, deadline = bus.consume([topics.LEDGER], {}), False, time.monotonic() + DEADLINE_S
    try:
        while time.monotonic() < deadline:
            for record in await reader.poll(wait_s=0.05):
                report = decode_fact(record.value or b"", StageReport)
                if report.stage == "ingest":
                    known = report.details["targets_up"] == targets
                elif known and report.at_ns / 1e9 - report.details["watermark_seconds"] < LAG_S_MAX:
                    cpu_s = {stage: _cpu_s(pid) for stage, pid in pids.items()}
                    yield Reading(time.monotonic(), report.samples_out, cpu_s)
        logs = "\n".join((folder / f"{stage}.log").read_text()[-1500:] for stage in STAGES)
        raise RuntimeError(f"no steady state within {DEADLINE_S:.0f} s:\n{logs}")
    finally:
        await reader.stop()


async def _on_the_bus(bus: Bus, last_s: float) -> tuple[int, int, int]:
    """Of the last seconds: bytes of the records, tables and all; samples in them; records."""
    since = await bus.offsets_since([topics.SAMPLES], time.time_ns() - int(last_s * 1e9))
    reader, decoder, size, samples, count = bus.consume([topics.SAMPLES], since), BatchDecoder(), 0, 0, 0
    deadline = time.monotonic() + last_s
    while time.monotonic() < deadline and samples < 1_000_000:
        for record in await reader.poll():
            value = record.value or b""
            size += len(value)
            samples += len(decoder.decode(value, record.headers))
            count += 1
    await reader.stop()
    return size, samples, count


def _cpu_s(pid: int) -> float:
    """User and system time of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def run() -> list[dict[str, Any]]:
    """Two counts: samples that analytics processed, and lines of pages, most of which no metric of ours wants.

    The reference takes and counts every line: its ratio to samples understates, its ratio to lines is like for like.
    """
    examples = [*gpu_pages(2), *node_pages(2)]
    lines = sum(line[:1] not in (b"#", b"") for page in examples for line in page.splitlines()) / len(examples)
    naive = samples_per_cpu_second(examples)
    engines: tuple[Engine, ...] = ("embedded", "kafka")
    return [row for engine in engines for row in _rows(engine, measure(engine), lines, naive)]


def _rows(engine: Engine, found: Measured, lines: float, naive: float) -> Iterator[dict[str, Any]]:
    what, spent = f"end to end, {engine}", sum(found.cpu_s.values())
    yield _row(f"{what}: collector and analytics together", found.samples / spent, "samples/CPU-s", naive)
    yield _row(f"{what}: the same in lines of pages", found.pages * lines / spent, "lines/CPU-s", naive)
    for stage in STAGES:
        yield _row(f"{what}: {stage} alone", found.samples / found.cpu_s[stage], "samples/CPU-s", None)
    yield _row(f"{what}: load", found.samples / found.wall_s, "samples/s", None)
    yield _row(f"{what}: record on the bus", found.bytes_per_sample, "bytes/sample", None)


def _row(name: str, value: float, unit: str, reference: float | None) -> dict[str, Any]:
    ratio = None if reference is None else round(value / reference, 1)
    return {
        "name": name,
        "value": round(value, 2),
        "unit": unit,
        "reference": reference and round(reference),
        "ratio": ratio,
    }


if __name__ == "__main__":
    for row in run():
        print(json.dumps(row))
