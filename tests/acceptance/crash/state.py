"""Whether the program after all kills knows what it would know without: byte for byte.

The records that the recorder took from the bus go through the engine of analytics once, in one process that nobody
kills. Findings are compared in all versions, incidents in their last one, as their topic is compacted, and the state
of the engine with the last snapshot of the stage that was killed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from analytics.config import EngineConfig
from analytics.engine import Engine
from analytics.snapshot.snapshot import load
from analytics.snapshot.stateful import joined
from analytics.worker import build_engine
from recordings.manifest import read_manifest
from recordings.reader import read_batches, read_topology_and_changes
from telemetry.codec.records import encode_record
from telemetry.incidents import Incident
from telemetry.topology import TopologyFact
from tests.acceptance.crash.evidence.records import RawRecord

FINDINGS, INCIDENTS = "fabricscope.findings.v1", "fabricscope.incidents.v1"
_CHUNK = 200  # collections between two steps; it changes nothing but the speed


@dataclass(frozen=True, slots=True)
class StateVerdict:
    """findings, incidents: that both have. Names of what differs, empty when all is equal."""

    findings: int = 0
    incidents: int = 0
    differences: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.differences


def compare_with_a_replay(folder: Path, records: Iterable[RawRecord]) -> StateVerdict:
    """folder: of a site with a recording, a snapshot and stages that have stopped."""
    recording = folder / "recording"
    manifest = read_manifest(recording)
    config = EngineConfig(**manifest.analytics)
    replayed, findings, incidents = _replay(recording, config, bus_tells_time=manifest.bus_tells_time)
    killed = build_engine(config)
    load(folder / "data" / "analytics" / "analytics.snapshot", killed)
    on_bus = list(records)
    live_findings = {record.value for record in on_bus if record.topic == FINDINGS and record.value}
    live_incidents = {record.key: record.value for record in on_bus if record.topic == INCIDENTS and record.value}
    differences = [
        *[f"finding {value!r}" for value in live_findings ^ findings],
        *[f"incident {key!r}" for key, _ in live_incidents.items() ^ incidents.items()],
        *_differences(killed, replayed),
    ]
    return StateVerdict(len(live_findings & findings), len(live_incidents), tuple(sorted(differences)))


def _replay(
    recording: Path, config: EngineConfig, *, bus_tells_time: bool
) -> tuple[Engine, set[bytes], dict[bytes, bytes]]:
    """The engine at the end, all versions of all findings, and the last version of each incident by key."""
    engine, findings, incidents = build_engine(config), set[bytes](), dict[bytes, bytes]()
    for fact in read_topology_and_changes(recording):
        if isinstance(fact, TopologyFact):
            engine.add_facts([fact])
        else:
            engine.add_change(fact)
    batches = read_batches(recording)
    while chunk := list(islice(batches, _CHUNK)):
        for one in chunk:
            engine.observe(one.batch, one.appended_ns if bus_tells_time else None)
        for output in engine.advance():
            if isinstance(output, Incident):
                incidents[output.id.encode()] = encode_record(output)
            else:
                findings.add(encode_record(output))
    return engine, findings, incidents


def _differences(one: Engine, other: Engine) -> list[str]:
    """Parts of the state that are not the same."""
    first, second = (joined({name: block.part for name, block in each.blocks.items()}) for each in (one, other))
    heads = [
        name
        for name in first.head.keys() | second.head.keys()
        if _json(first.head.get(name)) != _json(second.head.get(name))
    ]
    arrays = [
        name
        for name in first.arrays.keys() | second.arrays.keys()
        if _bytes(first.arrays.get(name)) != _bytes(second.arrays.get(name))
    ]
    return [f"state {name}" for name in (*heads, *arrays)]


def _bytes(array: Any) -> bytes:
    return b"" if array is None else np.ascontiguousarray(array).tobytes()


def _json(head: object) -> bytes:
    """As in a snapshot: parts of it are JSON already."""
    return orjson.dumps(head, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
