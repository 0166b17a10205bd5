"""What tests of the stages put on a bus and take from it."""

from bus.base import Bus, Message
from telemetry import topics
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import decode_record, encode_record
from telemetry.events import Event
from telemetry.incidents import Incident
from telemetry.ledger import StageReport
from telemetry.samples import SampleBatch


async def publish_batches(bus: Bus, *batches: SampleBatch) -> None:
    messages = [Message(each.table.device.encode(), *encode_batch(each)) for each in batches]
    await bus.publish(topics.SAMPLES, messages)


async def publish_incidents(bus: Bus, *versions: Incident) -> None:
    await bus.publish(topics.INCIDENTS, [Message(each.id.encode(), encode_record(each)) for each in versions])


async def publish_events(bus: Bus, *versions: Event) -> None:
    await bus.publish(topics.EVENTS, [Message(each.id.encode(), encode_record(each)) for each in versions])


async def first_report(bus: Bus) -> StageReport:
    """Waits for it."""
    reader = bus.consume([topics.LEDGER], {})
    try:
        records = await reader.poll(wait_s=10)
    finally:
        await reader.stop()
    return decode_record(records[0].value or b"", StageReport)
