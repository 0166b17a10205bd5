"""The manifest of a recording: its slices, the files of each, and what they must be.

``manifest.json`` is replaced atomically after a slice is complete, so that what it names is whole.
"""

import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from common.errors import BadInput

VERSION = 2
_READABLE = (1, VERSION)


class FileEntry(BaseModel):
    """One file as it was written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    sha256: str
    bytes: int
    rows: int


class Slice(BaseModel):
    """One slice. first_ns, last_ns: event time of its collections, 0 when it has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    first_ns: int
    last_ns: int
    samples: int
    files: tuple[FileEntry, ...]


class Manifest(BaseModel):
    """The whole recording. offsets: the next record to consume, by ``topic/partition``.

    analytics: the settings of the analytics engine that watched the same telemetry: a replay uses them.
    bus_tells_time: whether event time is the time of the bus, so that append times bound it. A simulated cluster may
    run faster, and recordings of 0.1.0 do not say.
    gaps: records that retention removed before they were recorded, as text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = VERSION
    cluster: str = ""
    program: str = ""
    analytics: dict[str, Any] = {}
    slices: tuple[Slice, ...] = ()
    offsets: dict[str, int] = {}
    bus_tells_time: bool = False
    gaps: tuple[str, ...] = ()


def read_manifest(recording: Path) -> Manifest:
    """The manifest; BadInput when there is none, or it is of another version."""
    path = recording / "manifest.json"
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{path}: not a recording: {error.strerror}", "no_manifest") from error
    except ValidationError as error:
        raise BadInput(f"{path}: {error.errors()[0]['msg']}", "bad_manifest") from error
    if manifest.version not in _READABLE:
        raise BadInput(f"{path}: version {manifest.version}, this program reads {VERSION}", "version")
    return manifest


def write_manifest(recording: Path, manifest: Manifest) -> None:
    """Atomic and durable: a reader sees the old one or the new one."""
    current = manifest.model_copy(update={"version": VERSION})
    durable_write(recording / "manifest.json", current.model_dump_json(indent=1).encode())


def durable_write(path: Path, content: bytes) -> None:
    """temp, fsync, rename, fsync of the folder."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
