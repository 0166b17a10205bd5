"""Which partition a key belongs to: the same on both engines, and for every other Kafka client."""

import struct
from functools import lru_cache

_MULTIPLIER, _SEED = 0x5BD1E995, 0x9747B28C
_32_BITS = 0xFFFFFFFF


@lru_cache(maxsize=65_536)  # in pure Python the hash costs more than all else about a record
def partition_of(key: bytes, partitions: int) -> int:
    """Kafka's default: murmur2 of the key.

    >>> partition_of(b"leaf1", 1), partition_of(b"leaf1", 4) in range(4)
    (0, True)
    """
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """The hash as an unsigned number of 32 bits. Source: ``Utils.murmur2`` of Kafka's Java client.

    >>> hex(murmur2(b"foobar"))
    '0xd0e47bbe'
    """
    whole = len(data) & ~3
    hashed = _SEED ^ len(data)
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = word * _MULTIPLIER & _32_BITS
        word = (word ^ word >> 24) * _MULTIPLIER & _32_BITS
        hashed = hashed * _MULTIPLIER & _32_BITS ^ word
    if rest := data[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * _MULTIPLIER & _32_BITS
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _32_BITS
    return hashed ^ hashed >> 15
