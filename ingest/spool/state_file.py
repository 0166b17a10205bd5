"""How far a spool was published, and the ledger as of then: one small file, overwritten in place.

Two places of 4 KiB are written in turn, each with a checksum, so that a torn write leaves the one before it. Nothing
is synced here: it must outlive the process at any moment, and a power cut only about.
"""

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from common.errors import ConfigError
from ingest.ledger import Counts, DropReason
from ingest.spool.record import COUNT_MAX, Amount

FORMAT = 1  # of this file and of the segments beside it
_PLACE_BYTES = 4096
_PREFIX = struct.Struct("<IIQ")  # crc32 of what follows | bytes of the JSON | number of the write


class Position(NamedTuple):
    """Where the next record begins: number of the segment, offset in it. Positions of a spool are in order."""

    segment: int
    offset: int


@dataclass(frozen=True, slots=True)
class State:
    """position: of the oldest record that is not on the bus. published, written: what was spooled before it, and in
    all, ever; between them is what waits."""

    position: Position
    published: Amount
    written: Amount
    counts: Counts


class StateFile:
    """The file in ``folder``. setting: the key of the settings that names the folder, for messages."""

    def __init__(self, folder: Path, setting: str) -> None:
        self._path, self._setting = folder / "state", setting
        self._writes = 0
        self._file: int | None = None

    def read(self) -> State | None:
        """The newest state that is whole; None when there is none. ConfigError when it is of a newer format."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        found = [_decode(data[at : at + _PLACE_BYTES]) for at in (0, _PLACE_BYTES)]
        whole = [one for one in found if one is not None]
        if not whole:
            return None
        self._writes, document = max(whole, key=lambda one: one[0])
        if document["format"] > FORMAT:
            raise ConfigError(
                f"{self._setting} {self._path.parent}: written in format {document['format']}, this version reads"
                f" {FORMAT}: let the newer version publish it, or move the folder away"
            )
        return _state(document)

    def write(self, state: State) -> None:
        """OSError when it cannot be written; what was there before is there still."""
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._writes += 1
        text = orjson.dumps(_document(state))
        body = _PREFIX.pack(0, len(text), self._writes)[4:] + text
        place = (zlib.crc32(body).to_bytes(4, "little") + body).ljust(_PLACE_BYTES, b"\0")
        if os.pwrite(self._file, place, self._writes % 2 * _PLACE_BYTES) < _PLACE_BYTES:
            raise OSError(f"{self._path}: could be written in part only")

    def close(self) -> None:
        """Idempotent."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _decode(place: bytes) -> tuple[int, dict[str, Any]] | None:
    """The number of the write, and the JSON; None when it is not whole."""
    if len(place) < _PREFIX.size:
        return None
    checksum, length, writes = _PREFIX.unpack_from(place)
    end = _PREFIX.size + length
    if end > len(place) or zlib.crc32(place[4:end]) != checksum:
        return None
    try:
        document = orjson.loads(place[_PREFIX.size : end])
    except orjson.JSONDecodeError:
        return None
    return (writes, document) if isinstance(document, dict) and isinstance(document.get("format"), int) else None


def _document(state: State) -> dict[str, Any]:
    counts = state.counts
    return {
        "format": FORMAT,
        "position": list(state.position),
        "published": [state.published.samples, state.published.batches, state.published.events],
        "written": [state.written.samples, state.written.batches, state.written.events],
        "epoch_ns": counts.epoch_ns,
        "samples_in": counts.samples_in,
        "samples_out": counts.samples_out,
        "drops": {reason.value: n for reason, n in counts.drops.items()},
    }


def _state(document: dict[str, Any]) -> State | None:
    """None when it is not of this format, or counts by a reason that this version has not."""
    try:
        drops = document["drops"]
        if not {*drops} <= {*DropReason}:
            return None
        epoch_ns, samples_in, samples_out = (document[name] for name in ("epoch_ns", "samples_in", "samples_out"))
        places = [document[name] for name in ("position", "published", "written")]
        numbers = (drops.values(), (epoch_ns, samples_in, samples_out), *places)
        if not all(isinstance(n, int) and 0 <= n <= COUNT_MAX for of in numbers for n in of):
            return None
        position, published, written = Position(*places[0]), Amount(*places[1]), Amount(*places[2])
        counts = Counts(epoch_ns, samples_in, samples_out, {DropReason(reason): n for reason, n in drops.items()})
        return State(position, published, written, counts)
    except (KeyError, TypeError, AttributeError):
        return None
