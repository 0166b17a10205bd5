"""Records that cannot be read are put aside, with the reason, and the reader goes on."""

import contextlib
from dataclasses import dataclass

import structlog

from bus.base import MESSAGE_BYTES_MAX, Bus, Message, Record
from bus.limits import HEADERS_BYTES_MAX
from bus.metrics import DEAD_LETTERS
from common.errors import BadInput, Unavailable
from telemetry.topics import DEADLETTER, Topic

REASON, DETAIL, TOPIC, PARTITION, OFFSET = "dead.reason", "dead.detail", "dead.topic", "dead.partition", "dead.offset"
CUT = "dead.cut"  # bytes that the value had, where it was too large to travel again
LOST = "dead.lost"  # what else was: key, headers
_OURS = frozenset({REASON, DETAIL, TOPIC, PARTITION, OFFSET, CUT, LOST})
_VALUE_BYTES_MAX = MESSAGE_BYTES_MAX - 64 * 1024  # room for the key
_KEY_BYTES_MAX = 1024
log = structlog.get_logger(__name__)


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
    lost = ["key"] * (len(record.key) > _KEY_BYTES_MAX) + ["headers"] * (kept is not record.headers)
    if lost:
        added[LOST] = " ".join(lost).encode()
    await bus.publish(topic, [Message(record.key[:_KEY_BYTES_MAX], value, {**kept, **added})])
    DEAD_LETTERS.labels(record.topic, error.reason).inc()


async def put_aside(bus: Bus, record: Record, error: BadInput) -> None:
    """Logs a record that cannot be read; it is a dead letter if the bus takes it now."""
    log.warning(
        "corrupt record",
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        reason=error.reason,
        error=str(error),
    )
    with contextlib.suppress(Unavailable, BadInput):
        await dead_letter(bus, record, error)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that was put aside.

    number: its own offset among the dead letters; at_ns: when it came there, by the bus's wall clock. original: as it
    was, as far as it is kept; cut: what of it is not. topic, partition, offset: where it was, '?' and -1 where the
    letter does not say so: anybody may write to the topic.
    """

    number: int
    at_ns: int
    topic: str
    partition: int
    offset: int
    reason: str
    detail: str
    size_bytes: int
    original: Message
    cut: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"{self.topic}[{self.partition}] {self.offset}"


def read_letter(record: Record) -> DeadLetter:
    """A record of the topic of dead letters, whatever it holds."""
    headers = record.headers
    texts = {name: headers.get(name, b"?").decode(errors="replace") for name in (REASON, DETAIL, TOPIC)}
    partition, offset, cut_bytes = (_number(headers.get(name, b"")) for name in (PARTITION, OFFSET, CUT))
    kept = {name: value for name, value in headers.items() if name not in _OURS}
    cut = (("value",) if CUT in headers else ()) + tuple(headers.get(LOST, b"").decode(errors="replace").split())
    size = cut_bytes if CUT in headers else len(record.value or b"")
    place = (texts[TOPIC], partition, offset)
    original = Message(record.key, record.value, kept)
    return DeadLetter(record.offset, record.appended_ns, *place, texts[REASON], texts[DETAIL], size, original, cut)


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 20 else -1
