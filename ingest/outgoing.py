"""From collectors' outputs to messages of the bus, each with what it counts for."""

from collections.abc import Sequence
from dataclasses import dataclass

from bus.base import MESSAGE_BYTES_MAX, Message
from ingest.collectors.base import ClusterEvent
from telemetry import topics
from telemetry.changes import Change
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import encode_record
from telemetry.samples import SampleBatch
from telemetry.topology import TopologyFact


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message on its way to the bus. samples: in it; 0 for a fact, a change, or a target that is down."""

    topic: topics.Topic
    message: Message
    samples: int = 0


def key_of(event: ClusterEvent) -> str:
    """By which the bus keeps the order, and a newer fact replaces an older one."""
    return event.id if isinstance(event, Change) else event.entity.key


def encode_events(events: Sequence[ClusterEvent]) -> list[Outgoing]:
    """Facts before changes, so that consumers know the objects of a change."""
    return [
        Outgoing(topic, Message(key_of(event).encode(), encode_record(event)))
        for topic, kind in ((topics.TOPOLOGY, TopologyFact), (topics.CHANGES, Change))
        for event in events
        if isinstance(event, kind)
    ]


def encode_batches(batches: Sequence[SampleBatch]) -> tuple[list[Outgoing], int]:
    """The messages, and the samples of batches that are too large for one. A table that is new costs milliseconds."""
    encoded: list[Outgoing] = []
    too_large = 0
    for batch in batches:
        value, headers = encode_batch(batch)
        if len(value) > MESSAGE_BYTES_MAX:
            too_large += len(batch)
            continue
        encoded.append(Outgoing(topics.SAMPLES, Message(batch.table.device.encode(), value, headers), len(batch)))
    return encoded, too_large
