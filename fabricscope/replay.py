"""A recording through the same engine as live telemetry, into files that nobody is paged from."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from analytics.config import EngineConfig
from analytics.engine import Engine, Output
from analytics.worker import build_engine
from recordings.format import RecordedBatch
from recordings.manifest import read_manifest
from recordings.reader import read_batches, read_topology_and_changes
from telemetry.codec.records import encode_record
from telemetry.incidents import Incident
from telemetry.samples import SampleBatch
from telemetry.topology import TopologyFact

CHUNK = 200


@dataclass
class ReplayTotals:
    """Totals of a replay so far. at_ns: event time of the newest collection."""

    collections: int = 0
    samples: int = 0
    findings: int = 0
    incidents: int = 0
    at_ns: int = 0

    def add(self, batch: SampleBatch) -> None:
        self.collections += 1
        self.samples += len(batch)
        self.at_ns = max(self.at_ns, batch.collection.collected_ns)


def replay(
    recording: Path,
    out: Path,
    config: EngineConfig,
    *,
    speed: float | None = None,
    chunk: int = CHUNK,
    progress: Callable[[ReplayTotals], None] = lambda _: None,
) -> ReplayTotals:
    """Every version of every finding, incident and event, one JSON a line, each into a file: ``events.jsonl``.

    speed: event seconds per second; None is as fast as possible. chunk: collections between two steps of the engine.
    Neither changes one byte of the result. BadInput when the recording is damaged.
    """
    engine, totals = build_engine(config), ReplayTotals()
    bounded = read_manifest(recording).bus_tells_time
    out.mkdir(parents=True, exist_ok=True)
    names = ("findings.jsonl", "incidents.jsonl", "events.jsonl")
    with ExitStack() as files:
        findings, incidents, events = (files.enter_context((out / name).open("wb")) for name in names)
        _learn(engine, recording)  # as the stage does after a restart; each holds from its own event time
        for batches in _chunks(_paced(read_batches(recording), speed), chunk):
            for recorded in batches:
                engine.observe(recorded.batch, recorded.appended_ns if bounded else None)
                totals.add(recorded.batch)
            _write(engine.advance(), findings, incidents, totals)
            for event in engine.events.pop_due():
                events.write(encode_record(event) + b"\n")
            progress(totals)
    return totals


def _learn(engine: Engine, recording: Path) -> None:
    for record in read_topology_and_changes(recording):
        if isinstance(record, TopologyFact):
            engine.add_facts([record])
        else:
            engine.add_change(record)


def _write(outputs: list[Output], findings: BinaryIO, incidents: BinaryIO, totals: ReplayTotals) -> None:
    for output in outputs:
        is_incident = isinstance(output, Incident)
        (incidents if is_incident else findings).write(encode_record(output) + b"\n")
        totals.incidents += is_incident
        totals.findings += not is_incident


def _paced(batches: Iterable[RecordedBatch], speed: float | None) -> Iterator[RecordedBatch]:
    """Waits so that event time passes ``speed`` times as fast as time does."""
    began_s, first_ns = time.monotonic(), 0
    for recorded in batches:
        if speed is not None:
            at_ns = recorded.batch.collection.collected_ns
            first_ns = first_ns or at_ns
            due_s = began_s + (at_ns - first_ns) / 1e9 / speed
            time.sleep(max(0.0, due_s - time.monotonic()))
        yield recorded


def _chunks(batches: Iterable[RecordedBatch], size: int) -> Iterator[list[RecordedBatch]]:
    chunk: list[RecordedBatch] = []
    for recorded in batches:
        chunk.append(recorded)
        if len(chunk) >= size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
