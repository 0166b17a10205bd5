"""Records that cannot be read go aside, with the reason, and the reader goes on."""

from bus.base import Bus, Message, Record
from bus.limits import HEADERS_BYTES_MAX
from bus.metrics import DEAD_LETTERS
from common.errors import BadInput
from telemetry.topics import DEADLETTER, Topic

REASON, DETAIL, TOPIC, PARTITION, OFFSET = "dead.reason", "dead.detail", "dead.topic", "dead.partition", "dead.offset"


async def dead_letter(bus: Bus, record: Record, error: BadInput, *, topic: Topic = DEADLETTER) -> None:
    """Publishes the record as it came, headers included, and with where it was and why it is here.

    The same record may come twice after a crash; its place names it. Raises Unavailable like ``Bus.publish``.
    """
    ours = {
        REASON: error.reason.encode(),
        DETAIL: str(error).encode()[:1024],
        TOPIC: record.topic.encode(),
        PARTITION: str(record.partition).encode(),
        OFFSET: str(record.offset).encode(),
    }
    theirs = record.headers if sum(len(n) + len(v) for n, v in record.headers.items()) < HEADERS_BYTES_MAX // 2 else {}
    await bus.publish(topic, [Message(record.key, record.value, {**theirs, **ours})])
    DEAD_LETTERS.labels(record.topic, error.reason).inc()
