"""Unpacks compressed record batches of Kafka, up to a bound that holds before anything is allocated.

Kafka limits a batch as it was sent (``max.message.bytes``); 9 kB of zstd may be 900 MB of zeros.
"""

import mmap
import struct
import zlib
from collections.abc import Iterator

import cramjam
import zstandard

from common.errors import BadInput

# Four bits of the attributes of a batch: https://kafka.apache.org/documentation/#recordbatch
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
TOO_LARGE, COMPRESSION = "too_large", "compression"
_GZIP_WINDOW = 31  # the largest window, with the header of gzip
_ZSTD_WINDOW_BYTES_MAX = 64 * 1024 * 1024  # a frame may ask for more memory than it unpacks to
_PIECE_BYTES = 1024 * 1024
_XERIAL = b"\x82SNAPPY\x00"  # Java's framing of snappy: this, two versions, then blocks with their lengths
_XERIAL_HEADER_BYTES = 16
_BLOCK = struct.Struct(">i")


def unpack(codec: int, packed: bytes, bytes_max: int) -> bytes:
    """What ``packed`` unpacks to. BadInput: ``too_large`` beyond ``bytes_max``, ``compression`` when it is damaged."""
    try:
        if codec == GZIP:
            return _gunzip(packed, bytes_max)
        if codec == SNAPPY:
            return _unsnappy(packed, bytes_max)
        if codec == LZ4:
            return _unlz4(packed, bytes_max)
        if codec == ZSTD:
            return _unzstd(packed, bytes_max)
    except (zlib.error, zstandard.ZstdError, cramjam.DecompressionError, struct.error, OSError) as error:
        raise BadInput(f"compressed batch: {error}", COMPRESSION) from error
    raise BadInput(f"compressed batch: codec {codec}, expected {GZIP} to {ZSTD}", COMPRESSION)


def _gunzip(packed: bytes, bytes_max: int) -> bytes:
    """One member, as all clients of Kafka write it: a million empty ones would be copied a million times."""
    member = zlib.decompressobj(_GZIP_WINDOW)
    unpacked = member.decompress(packed, bytes_max + 1)
    _check(len(unpacked), bytes_max)
    if not member.eof or member.unused_data:
        raise BadInput("compressed batch: expected one whole member of gzip", COMPRESSION)
    return unpacked


def _unsnappy(packed: bytes, bytes_max: int) -> bytes:
    blocks = list(_xerial_blocks(packed)) if packed.startswith(_XERIAL) else [packed]
    _check(sum(cramjam.snappy.decompress_raw_len(block) for block in blocks), bytes_max)
    return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in blocks)


def _xerial_blocks(packed: bytes) -> Iterator[bytes]:
    at = _XERIAL_HEADER_BYTES
    while at < len(packed):
        (length,) = _BLOCK.unpack_from(packed, at)
        at += _BLOCK.size
        if length <= 0:
            raise BadInput(f"compressed batch: snappy block of {length} bytes", COMPRESSION)
        yield packed[at : at + length]
        at += length


def _unlz4(packed: bytes, bytes_max: int) -> bytes:
    with mmap.mmap(-1, bytes_max) as room:  # pages that are not written cost nothing
        try:
            return room[: cramjam.lz4.decompress_into(packed, room)]
        except cramjam.DecompressionError as error:
            if "whole buffer" in str(error):
                raise BadInput(f"compressed batch: more than {bytes_max} bytes unpacked", TOO_LARGE) from error
            raise


def _unzstd(packed: bytes, bytes_max: int) -> bytes:
    unpacking = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES_MAX)
    with unpacking.stream_reader(packed, read_across_frames=True) as reader:
        unpacked = bytearray()
        while piece := reader.read(_PIECE_BYTES):  # it allocates as much as it is asked for
            unpacked += piece
            _check(len(unpacked), bytes_max)
    return bytes(unpacked)


def _check(size: int, bytes_max: int) -> None:
    if size > bytes_max:
        raise BadInput(f"compressed batch: more than {bytes_max} bytes unpacked", TOO_LARGE)
