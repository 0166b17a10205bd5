"""Records that cannot be read are put aside, with the reason, and the reader goes on."""

from bus.base import Bus, Message, Record
from bus.limits import HEADERS_BYTES_MAX
from bus.metrics import DEAD_LETTERS
from common.errors import BadInput
from telemetry.topics import DEADLETTER, Topic

REASON, DETAIL, TOPIC, PARTITION, OFFSET = "dead.reason", "dead.detail", "dead.topic", "dead.partition", "dead.offset"


async def dead_letter(bus: Bus, record: Record, error: BadInput, *, topic: Topic = DEADLETTER) -> None:
    """Publishes the record as it came, headers included, and with where it was and why it is here.

    The same record may come twice after a crash; partition and offset name it. Raises Unavailable like ``Bus.publish``.
    """
    added = {
        REASON: error.reason.encode(),
        DETAIL: str(error).encode()[:1024],
        TOPIC: record.topic.encode(),
        PARTITION: str(record.partition).encode(),
        OFFSET: str(record.offset).encode(),
    }
    header_bytes = sum(len(name) + len(value) for name, value in record.headers.items())
    kept = record.headers if header_bytes < HEADERS_BYTES_MAX // 2 else {}
    await bus.publish(topic, [Message(record.key, record.value, {**kept, **added})])
    DEAD_LETTERS.labels(record.topic, error.reason).inc()
