"""Records that cannot be read are put aside, with the reason, and the reader goes on."""

from bus.base import MESSAGE_BYTES_MAX, Bus, Message, Record
from bus.limits import HEADERS_BYTES_MAX
from bus.metrics import DEAD_LETTERS
from common.errors import BadInput
from telemetry.topics import DEADLETTER, Topic

REASON, DETAIL, TOPIC, PARTITION, OFFSET = "dead.reason", "dead.detail", "dead.topic", "dead.partition", "dead.offset"
CUT = "dead.cut"  # bytes that the value had, where it was too large to travel again
_VALUE_BYTES_MAX = MESSAGE_BYTES_MAX - 64 * 1024  # room for the key
_KEY_BYTES_MAX = 1024


async def dead_letter(bus: Bus, record: Record, error: BadInput, *, topic: Topic = DEADLETTER) -> None:
    """Publishes the record as it came, headers included, and with where it was and why it is here.

    What is larger than any message of ours is cut: a record that nobody can put aside would be read again for ever.

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
    value = record.value
    if value is not None and len(value) > _VALUE_BYTES_MAX:
        value, added = value[:_VALUE_BYTES_MAX], {**added, CUT: str(len(value)).encode()}
    await bus.publish(topic, [Message(record.key[:_KEY_BYTES_MAX], value, {**kept, **added})])
    DEAD_LETTERS.labels(record.topic, error.reason).inc()
