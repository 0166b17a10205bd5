"""Whether a partition is still the log that was read before: a topic may be deleted and made again.

The new log may be as long as the old one was by the time a reader is back, and then its position says nothing. So a new
client begins with the last record that is known, and compares the time at which the broker appended it.
"""

from collections.abc import Sequence
from typing import Any

from aiokafka import TopicPartition

from bus.kafka.record_batches import Damaged


class LogIdentity:
    """messages: as aiokafka gives them, one at least."""

    def __init__(self) -> None:
        self._newest: dict[TopicPartition, tuple[int, int]] = {}  # offset and time of the last record
        self._compared: set[TopicPartition] = set()

    def resume(self, tp: TopicPartition, position: int) -> int:
        """Where a new client begins to read, to go on at ``position``."""
        offset, _ = self._newest.get(tp, (-1, 0))
        if offset != position - 1 or offset < 0:
            return position
        self._compared.discard(tp)
        return offset

    def unread(self, tp: TopicPartition, messages: Sequence[Any]) -> Sequence[Any] | None:
        """What of them was not read before; None when the log is another one."""
        first = messages[0]
        if tp in self._newest and tp not in self._compared:
            offset, appended_ms = self._newest[tp]
            if first.offset == offset:
                if not isinstance(first.checksum, Damaged) and first.timestamp != appended_ms:
                    del self._newest[tp]
                    return None
                messages = messages[1:]
        self._compared.add(tp)
        if messages and not isinstance(messages[-1].checksum, Damaged):
            self._newest[tp] = messages[-1].offset, messages[-1].timestamp
        return messages
