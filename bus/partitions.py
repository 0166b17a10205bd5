"""Which partition a key belongs to: the same on both engines, and for every other Kafka client."""

from functools import lru_cache

from aiokafka.partitioner import murmur2


@lru_cache(maxsize=65_536)  # in pure Python the hash costs more than all else about a record
def partition_of(key: bytes, partitions: int) -> int:
    """Kafka's default: murmur2 of the key.

    >>> partition_of(b"leaf1", 1), partition_of(b"leaf1", 4) in range(4)
    (0, True)
    """
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)
