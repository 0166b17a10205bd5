"""Record batches of Kafka with fitting sums, and each of its compressions."""

import contextlib
import gzip

import cramjam
import zstandard

from bus.base import Message
from bus.kafka.record_batches import Damaged, RecordBatches
from bus.kafka.unpacking import GZIP, LZ4, SNAPPY, ZSTD, unpack
from common.errors import BadInput
from tests.record_batches import HEADER_BYTES, batch_of, compressed, with_sums

_BYTES_MAX = 100_000
_PLAIN = batch_of([Message(b"k", b"v" * 20, {"table": b"digest"}), Message(b"k", None)], first=5)
_XERIAL = b"\x82SNAPPY\x00" + bytes(8)
_BLOCK = bytes(cramjam.snappy.compress_raw(_PLAIN[HEADER_BYTES:]))
_PACKED = {
    GZIP: gzip.compress(_PLAIN[HEADER_BYTES:], mtime=0),
    SNAPPY: _XERIAL + len(_BLOCK).to_bytes(4, "big") + _BLOCK,
    LZ4: bytes(cramjam.lz4.compress(_PLAIN[HEADER_BYTES:])),
    ZSTD: zstandard.compress(_PLAIN[HEADER_BYTES:]),
}
SEEDS = (
    b"\0" + _PLAIN,
    *(b"\0" + compressed(_PLAIN, codec, packed) for codec, packed in _PACKED.items()),
    *(bytes([codec]) + packed for codec, packed in _PACKED.items()),
)


def target(data: bytes) -> None:
    """The first byte is a codec, or 0 for a batch."""
    codec, content = (data[0] if data else 0) % 6, data[1:]
    if codec:
        with contextlib.suppress(BadInput):
            assert len(unpack(codec, content, _BYTES_MAX)) <= _BYTES_MAX
    elif len(content) >= HEADER_BYTES:
        _read(with_sums(content))


def _read(batch: bytes) -> None:
    batches = RecordBatches(batch)
    while batches.has_next():
        for record in batches.next_batch():
            assert isinstance(record, Damaged) or record.offset is not None
