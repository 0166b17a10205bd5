"""A spool with a damaged segment or state: what can be read is read, and all else is counted as lost."""

import shutil
import struct
import tempfile
import zlib
from pathlib import Path

from common.errors import ConfigError
from ingest.spool.record import HEAD_BYTES
from tests.unit.ingest.spool.spooling import counts, opened, record

_FOLDER = Path(tempfile.mkdtemp(prefix="fabricscope-fuzz-"))
_GOOD, _DAMAGED = _FOLDER / "good", _FOLDER / "damaged"
RECORDS = 6


def _write_good() -> None:
    store = opened(_GOOD)
    store.append([record(number, 30) for number in range(RECORDS)], 0)
    store.save(counts(10 * RECORDS))
    store.close()


_write_good()
(_SEGMENT,) = _GOOD.glob("*.segment")
_STATE = (_GOOD / "state").read_bytes()[4096 + 16 :].rstrip(b"\0")
SEEDS = (b"s" + _SEGMENT.read_bytes(), b"h" + _SEGMENT.read_bytes(), b"t" + _STATE)


def target(data: bytes) -> None:
    """The first byte says what the others are: a segment, one whose sums fit, or a state whose sum fits."""
    shutil.rmtree(_DAMAGED, ignore_errors=True)
    shutil.copytree(_GOOD, _DAMAGED)
    kind, content = data[:1], data[1:]
    if kind == b"t":
        _put_state(content)
    else:
        (_DAMAGED / _SEGMENT.name).write_bytes(_with_sums(content) if kind == b"h" else content)
    try:
        store = opened(_DAMAGED)
    except ConfigError as error:
        if "this version reads" in str(error):
            return
        raise
    for _ in range(1000):
        if not store.unread:
            break
        _, end = store.read(3, 1 << 20, 0)
        store.published(end, counts())
    else:
        raise AssertionError("it never ends")
    store.pop_losses()
    store.close()


def _put_state(content: bytes) -> None:
    """The content is the JSON of a state."""
    body = struct.pack("<IQ", len(content), 1) + content
    place = (zlib.crc32(body).to_bytes(4, "little") + body).ljust(4096, b"\0")
    (_DAMAGED / "state").write_bytes(place + bytes(4096))


def _with_sums(content: bytes) -> bytes:
    """Each head and each body with the sum of its bytes."""
    fixed, at = bytearray(content), 0
    while at + HEAD_BYTES <= len(fixed):
        (size,) = struct.unpack_from("<I", fixed, at + 4)
        fixed[at : at + 4] = zlib.crc32(fixed[at + 4 : at + HEAD_BYTES]).to_bytes(4, "little")
        body = at + HEAD_BYTES
        at = body + size
        if size >= 4 and at <= len(fixed):
            fixed[body : body + 4] = zlib.crc32(fixed[body + 4 : at]).to_bytes(4, "little")
    return bytes(fixed)
