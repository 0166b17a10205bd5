"""A recording through the same engine as live telemetry, into files that nobody is paged from."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from analytics.config import EngineConfig
from analytics.engine import Engine, Output
from analytics.worker import build_engine
from recordings.reader import Entry, read_recording
from telemetry.facts import encode_fact
from telemetry.incidents import Incident
from telemetry.samples import SampleBatch
from telemetry.topology import TopologyFact

CHUNK = 200


@dataclass
class Replayed:
    """What a replay has done so far."""

    collections: int = 0
    samples: int = 0
    findings: int = 0
    incidents: int = 0
    at_ns: int = 0


def replay(
    recording: Path,
    out: Path,
    config: EngineConfig,
    *,
    speed: float | None = None,
    chunk: int = CHUNK,
    progress: Callable[[Replayed], None] = lambda _: None,
) -> Replayed:
    """Every version of every finding and incident, one JSON a line, into ``findings.jsonl`` and ``incidents.jsonl``.

    speed: event seconds per second; None is as fast as it goes. chunk: entries between two steps of the engine. Neither
    changes one byte of the result. BadInput when the recording is damaged.
    """
    engine, replayed = build_engine(config), Replayed()
    out.mkdir(parents=True, exist_ok=True)
    with (out / "findings.jsonl").open("wb") as findings, (out / "incidents.jsonl").open("wb") as incidents:
        for entries in _chunks(_paced(read_recording(recording), speed), chunk):
            for entry in entries:
                _feed(engine, entry, replayed)
            _write(engine.advance(), findings, incidents, replayed)
            progress(replayed)
    return replayed


def _feed(engine: Engine, entry: Entry, replayed: Replayed) -> None:
    if isinstance(entry, SampleBatch):
        engine.observe(entry)
        replayed.collections += 1
        replayed.samples += len(entry)
        replayed.at_ns = max(replayed.at_ns, entry.collection.collected_ns)
    elif isinstance(entry, TopologyFact):
        engine.learn([entry])
    else:
        engine.note(entry)


def _write(outputs: list[Output], findings: BinaryIO, incidents: BinaryIO, replayed: Replayed) -> None:
    for output in outputs:
        is_incident = isinstance(output, Incident)
        (incidents if is_incident else findings).write(encode_fact(output) + b"\n")
        replayed.incidents += is_incident
        replayed.findings += not is_incident


def _paced(entries: Iterable[Entry], speed: float | None) -> Iterator[Entry]:
    """Waits so that event time passes ``speed`` times as fast as time does."""
    began_s, first_ns = time.monotonic(), 0
    for entry in entries:
        if speed is not None and isinstance(entry, SampleBatch):
            first_ns = first_ns or entry.collection.collected_ns
            due_s = began_s + (entry.collection.collected_ns - first_ns) / 1e9 / speed
            time.sleep(max(0.0, due_s - time.monotonic()))
        yield entry


def _chunks(entries: Iterable[Entry], size: int) -> Iterator[list[Entry]]:
    chunk: list[Entry] = []
    for entry in entries:
        chunk.append(entry)
        if len(chunk) >= size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
