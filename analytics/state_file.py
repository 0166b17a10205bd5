"""JSON and arrays in one file: checksummed, written and read without a copy of them in memory, replaced in one step.

Layout, little endian: ``FSS3`` | crc32 of the head | crc32 of the arrays | length of the head | head | arrays.
The head is the JSON of what is to be kept, and of name, type and shape of each array in order. No pickles, and no
compression: it would take longer than a disk, for numbers that fill their digits.
"""

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from telemetry.errors import BadInput

_MAGIC = b"FSS3"
_PREFIX = struct.Struct("<4sIIQ")
_BLOCK_BYTES = 1 << 20  # what is checksummed is still near when it is written; other threads run in between
# So much is on disk before more is given to it: others' fsync waits for no gigabytes, and the cache stays theirs.
_SYNCED_BYTES = 1 << 26
Arrays = Mapping[str, NDArray[Any]]


def write(path: Path, head: object, arrays: Arrays) -> None:
    """Replaces the file in one step: after a crash or OSError it holds either the old state or the new one, whole.

    One writer at a time: the draft beside it has one name, so that those of crashes do not pile up.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.new")
    try:
        with draft.open("wb") as file:
            _write(file, head, arrays)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write(file: BufferedWriter, head: object, arrays: Arrays) -> None:
    members = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    text = orjson.dumps([head, members])
    file.write(bytes(_PREFIX.size))
    file.write(text)
    checksum = waiting = 0
    for block in _blocks(arrays.values()):
        checksum = crc32(block, checksum)
        waiting += file.write(block)
        if waiting >= _SYNCED_BYTES:
            waiting = 0
            file.flush()
            os.fdatasync(file.fileno())
            _forget(file)
    file.seek(0)
    file.write(_PREFIX.pack(_MAGIC, crc32(text), checksum, len(text)))


def read(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Head and arrays again; these own their memory.

    Raises FileNotFoundError, and BadInput (``schema`` or ``checksum``) when it is not whole.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        prefix = file.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size or not prefix.startswith(_MAGIC):
            raise BadInput(f"file of {size} bytes: expected one that begins with {_MAGIC.decode()}", "schema")
        _, head_checksum, arrays_checksum, length = _PREFIX.unpack(prefix)
        text = file.read(min(length, size))
        if crc32(text) != head_checksum:
            raise BadInput(f"file of {size} bytes: checksum of its head does not match", "checksum")
        head, members = orjson.loads(text)
        arrays = {name: np.empty(shape, code) for name, code, shape in members}
        wanted = _PREFIX.size + length + sum(array.nbytes for array in arrays.values())
        if size != wanted:
            raise BadInput(f"file of {size} bytes: expected {wanted}", "checksum")
        if _filled(file, arrays) != arrays_checksum:
            raise BadInput(f"file of {size} bytes: checksum of its arrays does not match", "checksum")
    return head, arrays


def _filled(file: BufferedReader, arrays: Arrays) -> int:
    """Reads the arrays; returns their checksum."""
    checksum = read = 0
    for block in _blocks(arrays.values()):
        read += file.readinto(block)
        checksum = crc32(block, checksum)
        if read >= _SYNCED_BYTES:
            read = 0
            _forget(file)
    return checksum


def _forget(file: BufferedReader | BufferedWriter) -> None:
    """Gives back the cache of what was read or written so far: memory for the next part, or for others."""
    os.posix_fadvise(file.fileno(), 0, file.tell(), os.POSIX_FADV_DONTNEED)


def _blocks(arrays: Iterable[NDArray[Any]]) -> Iterator[memoryview]:
    """The bytes of the arrays in order, in views."""
    for array in arrays:
        plain = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        for start in range(0, len(plain), _BLOCK_BYTES):
            yield plain[start : start + _BLOCK_BYTES]
