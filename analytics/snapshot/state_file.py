"""JSON and arrays in one file: checksummed, written and read without a copy of them in memory, replaced in one step.

Layout, little endian: ``FSS3`` | crc32 of the head | its length | head | zstd of (arrays | crc32 of the arrays).
The head is the JSON of what is to be kept, and of name, type and shape of each array in order. No pickles.
"""

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import zstandard
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from common.errors import BadInput

_MAGIC = b"FSS3"
_PREFIX = struct.Struct("<4sIQ")
_CHECKSUM = struct.Struct("<I")
_LEVEL = -5  # a third of the size, faster than most disks take the whole
_BLOCK_BYTES = 1 << 20  # what is checksummed is still near when it is packed; other threads run in between
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
    file.write(_PREFIX.pack(_MAGIC, crc32(text), len(text)))
    file.write(text)
    checksum = synced = 0
    with zstandard.ZstdCompressor(level=_LEVEL).stream_writer(file, closefd=False) as packed:
        for block in _blocks(arrays.values()):
            checksum = crc32(block, checksum)
            packed.write(block)
            if file.tell() - synced >= _SYNCED_BYTES:
                file.flush()
                os.fdatasync(file.fileno())
                synced = _forget(file)
        packed.write(_CHECKSUM.pack(checksum))


def read(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Head and arrays again; these own their memory.

    Raises FileNotFoundError, and BadInput (``schema`` or ``checksum``) when it is not whole.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        prefix = file.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size or not prefix.startswith(_MAGIC):
            raise BadInput(f"file of {size} bytes: expected one that begins with {_MAGIC.decode()}", "schema")
        _, checksum, length = _PREFIX.unpack(prefix)
        text = file.read(min(length, size))
        if crc32(text) != checksum:
            raise BadInput(f"file of {size} bytes: checksum of its head does not match", "checksum")
        head, members = orjson.loads(text)
        arrays = {name: np.empty(shape, code) for name, code, shape in members}
        if not _filled(arrays, file):
            raise BadInput(f"file of {size} bytes: checksum of its arrays does not match", "checksum")
    return head, arrays


def _filled(arrays: Arrays, file: BufferedReader) -> bool:
    """Reads the arrays; whether they are what was written."""
    checksum = read = 0
    with zstandard.ZstdDecompressor().stream_reader(file, closefd=False) as unpacked:
        try:
            for block in _blocks(arrays.values()):
                unpacked.readinto(block)
                checksum = crc32(block, checksum)
                if file.tell() - read >= _SYNCED_BYTES:
                    read = _forget(file)
            return unpacked.read(_CHECKSUM.size) == _CHECKSUM.pack(checksum)
        except zstandard.ZstdError:
            return False


def _forget(file: BufferedReader | BufferedWriter) -> int:
    """Gives back the cache of what was read or written so far: memory for the next part, or for others."""
    place = file.tell()
    os.posix_fadvise(file.fileno(), 0, place, os.POSIX_FADV_DONTNEED)
    return place


def _blocks(arrays: Iterable[NDArray[Any]]) -> Iterator[memoryview]:
    """The bytes of the arrays in order, in views."""
    for array in arrays:
        plain = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        for start in range(0, len(plain), _BLOCK_BYTES):
            yield plain[start : start + _BLOCK_BYTES]
