"""The whole state of an engine in one file: arrays and JSON, checksummed, versioned, replaced in one step.

Layout: ``FSS1`` | crc32 of all that follows | zstd of a NumPy ``.npz`` without pickles. Its member ``head`` is JSON.
The bus offsets stand in the same file as the state that they belong to: recovery is load, seek, go on.
"""

import io
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cramjam
import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import TypeAdapter

from analytics.engine import Engine
from telemetry.bus.base import Offsets
from telemetry.changes import Change
from telemetry.errors import BadInput
from telemetry.topology import Topology, TopologyFact

STATE_VERSION = 2  # goes up with every change of what the state means
_MAGIC = b"FSS1"
_PREFIX = struct.Struct("<4sIQ")
_RAW_BYTES_MAX = 16 * 1024**3
_facts = TypeAdapter(list[TopologyFact])
_changes = TypeAdapter(list[Change])


@dataclass(frozen=True)
class Mark:
    """offsets: up to which the engine has observed the bus. epoch_ns: when it began to count samples."""

    offsets: Offsets
    epoch_ns: int


def pack(engine: Engine, mark: Mark) -> bytes:
    """The engine's state, and how far it has read."""
    registry_head, registry_arrays = engine.registry.state()
    intake_head, held = engine.intake.state()
    head = {
        "version": STATE_VERSION,
        "config": engine.config.model_dump(mode="json"),
        "offsets": [[topic, partition, offset] for (topic, partition), offset in sorted(mark.offsets.items())],
        "epoch_ns": mark.epoch_ns,
        "registry": registry_head,
        "intake": intake_head,
        "book": engine.book.state(),
        "work": engine.work.state(),
        "topology": [fact for _, fact in sorted(engine.topology.facts.items())],
        "changes": engine.changes,
        "waiting_facts": engine.waiting_facts,
        "waiting_changes": engine.waiting_changes,
        "correlator": engine.correlator.state() if engine.correlator else None,
    }
    arrays = {f"registry.{name}": array for name, array in registry_arrays.items()}
    arrays |= {f"series.{name}": array for name, array in engine.series.state().items()}
    arrays |= {f"targets.{name}": array for name, array in engine.targets.state().items()}
    arrays["held"] = np.frombuffer(b"".join(held), np.uint8)
    arrays["held_sizes"] = np.array([len(value) for value in held], np.int64)
    arrays["head"] = np.frombuffer(orjson.dumps(head), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    body = bytes(cramjam.zstd.compress(buffer.getbuffer(), level=1))
    size = struct.pack("<Q", buffer.tell())
    return _MAGIC + struct.pack("<I", zlib.crc32(body, zlib.crc32(size))) + size + body


def unpack(content: bytes, engine: Engine) -> Mark:
    """Puts the state into a new engine; returns where to go on from.

    Raises BadInput (``checksum``, ``schema``, ``version`` or ``config``) when it is not good for this engine,
    which is then untouched.
    """
    arrays = _arrays(content)
    head = orjson.loads(arrays["head"].tobytes())
    if head["version"] != STATE_VERSION:
        raise BadInput(f"snapshot of version {head['version']}: expected {STATE_VERSION}", "version")
    if head["config"] != engine.config.model_dump(mode="json"):
        raise BadInput("snapshot of another configuration: its state would not fit", "config")
    if (head["correlator"] is None) != (engine.correlator is None):
        raise BadInput("snapshot with and engine without a correlator, or the other way round", "config")
    _fill(engine, head, arrays)
    offsets = {(topic, partition): offset for topic, partition, offset in head["offsets"]}
    return Mark(offsets, head["epoch_ns"])


def _fill(engine: Engine, head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    def of(prefix: str) -> dict[str, NDArray[Any]]:
        return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}

    engine.registry.restore(head["registry"], of("registry."))
    engine.series.restore(of("series."))
    engine.targets.restore(of("targets."))
    ends = np.cumsum(arrays["held_sizes"])
    held = arrays["held"].tobytes()
    starts = ends - arrays["held_sizes"]
    engine.intake.restore(head["intake"], [held[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
    engine.book.restore(head["book"])
    engine.work.restore(head["work"])
    engine.topology = Topology().with_facts(_facts.validate_python(head["topology"]))
    engine.changes = tuple(_changes.validate_python(head["changes"]))
    engine.waiting_facts = _facts.validate_python(head["waiting_facts"])
    engine.waiting_changes = _changes.validate_python(head["waiting_changes"])
    if engine.correlator is not None:
        engine.correlator.restore(head["correlator"])


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    if len(content) < _PREFIX.size or content[:4] != _MAGIC:
        raise BadInput(f"file of {len(content)} bytes: expected a snapshot that begins with FSS1", "schema")
    _, checksum, raw = _PREFIX.unpack_from(content)
    if zlib.crc32(memoryview(content)[8:]) != checksum:
        raise BadInput(f"snapshot of {len(content)} bytes: checksum does not match", "checksum")
    if raw > _RAW_BYTES_MAX:
        raise BadInput(f"snapshot declares {raw} bytes: at most {_RAW_BYTES_MAX}", "schema")
    room = bytearray(raw)
    try:
        cramjam.zstd.decompress_into(memoryview(content)[_PREFIX.size :], room)
        with np.load(io.BytesIO(room), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, OSError, cramjam.DecompressionError) as error:
        raise BadInput(f"snapshot of {len(content)} bytes: {error}", "schema") from error


def save(path: Path, content: bytes) -> None:
    """Replaces the file in one step: after a crash it holds either the old state or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
