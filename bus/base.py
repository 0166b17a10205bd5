"""What every bus engine promises.

Records of one key keep their order. ``publish`` returns once the record is durable. Delivery is at least once.
The bus stores no consumer's position: whoever consumes keeps the next offsets in its own state and seeks on start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from telemetry.topics import Topic

MESSAGE_BYTES_MAX = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Message:
    """A record to be published. value None is a tombstone: it deletes the key of a compacted topic."""

    key: bytes
    value: bytes | None
    headers: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """A message with its offset on the bus. appended_ns: the bus's wall clock; event time is inside the value."""

    topic: str
    partition: int
    offset: int
    appended_ns: int
    key: bytes
    value: bytes | None
    headers: dict[str, bytes]


TopicPartition = tuple[str, int]
"""Topic name and partition."""

Offsets = dict[TopicPartition, int]
"""The next offset to read, by topic name and partition. A partition that is missing is read from its beginning."""


class Consumer(Protocol):
    """Reads some topics from given offsets on."""

    async def poll(self, *, records_max: int = 1000, wait_s: float = 0.5) -> list[Record]:
        """The next records, in offset order within a partition; [] when none came in time.

        Never blocks for longer than ``wait_s`` plus a second, whatever the broker does.
        Raises ``Gap`` once when retention has passed the offset asked for, records are damaged, or the log was replaced
        by a shorter one; then goes on behind the gap (after a replaced log: at its beginning).
        Raises ConfigError when the topic has another number of partitions on the bus.
        """
        ...

    async def at_end(self) -> bool:
        """Whether everything that was on the topics at this call has been polled."""
        ...

    async def behind(self) -> set[TopicPartition]:
        """The partitions that are known to have records which were not polled yet, and those nothing is known of.

        Asks no broker, unlike ``at_end``, which on Kafka waits for half a second behind a fetch that finds nothing:
        what came since the bus was last read is not counted. After this process stood still for over a second, which
        makes all that it knows old, it does ask: what came meanwhile is counted.
        """
        ...

    async def lag(self) -> int:
        """How many records are known to wait, in all partitions. Asks a broker no more than ``behind``, and as well
        counts what compaction has taken from between them. 0 where nothing is known yet.
        """
        ...

    async def stop(self) -> None:
        """Idempotent; returns within 5 s whatever the broker does."""
        ...


class Gap(Exception):
    """Records ``first``..``last`` of a partition are lost: the reader's state is not complete."""

    def __init__(self, topic: str, partition: int, first: int, last: int) -> None:
        super().__init__(f"{topic}[{partition}]: records {first} to {last} are gone")
        self.topic, self.partition, self.first, self.last = topic, partition, first, last


class Bus(Protocol):
    """A connection to one bus."""

    async def start(self) -> None:
        """Returns at once also when the broker is absent; connects, and goes on trying, in the background."""
        ...

    async def stop(self) -> None:
        """Idempotent, safe before ``start``; flushes what it can and returns within 5 s whatever the broker does."""
        ...

    def problem(self) -> str | None:
        """None, or why the bus cannot be used now, in words."""
        ...

    def clock_ahead_ns(self) -> int | None:
        """How far the bus's wall clock was ahead of this machine's when it took what was published last; < 0 when it
        was behind, None before the first publish.
        """
        ...

    async def publish(self, topic: Topic, messages: Sequence[Message]) -> None:
        """Returns when all are durable. Raises Unavailable when they are not after the engine's deadline
        (some may be on the bus all the same: readers drop duplicates), BadInput for one above MESSAGE_BYTES_MAX,
        ConfigError when the topic has another number of partitions on the bus.
        """
        ...

    async def offsets_since(self, topics: Sequence[Topic], since_ns: int) -> Offsets:
        """For every partition, the offset of the first record appended at or after ``since_ns`` (bus wall clock); the
        end where there is none yet. Waits for the bus; raises Unavailable after the engine's deadline.
        """
        ...

    def consume(self, topics: Sequence[Topic], start: Offsets) -> Consumer:
        """Reads all partitions of ``topics`` from ``start``. Needs no group: scale-out is by assigning partitions."""
        ...
