"""From collectors' outputs to messages of the bus, each with what it counts for."""

from collections.abc import Sequence
from dataclasses import dataclass

from bus.base import MESSAGE_BYTES_MAX, Message
from ingest.collectors.base import ClusterEvent
from telemetry import topics
from telemetry.changes import Change
from telemetry.codec.account import ACCOUNT_HEADER, encode_account
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import encode_record
from telemetry.ledger import TargetAccount
from telemetry.samples import SampleBatch
from telemetry.topology import TopologyFact


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message on its way to the bus. samples: in it; 0 for a fact, a change, or a target that is down.

    target: whose account counts the samples; '' for none, as for those of an earlier process.
    """

    topic: topics.Topic
    message: Message
    samples: int = 0
    target: str = ""


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


def encode_batches(
    batches: Sequence[SampleBatch], accounts: Sequence[TargetAccount]
) -> tuple[list[Outgoing], list[SampleBatch]]:
    """The messages, and the batches that are too large for one. A table that is new costs milliseconds.

    accounts: of each batch's target.
    """
    encoded: list[Outgoing] = []
    too_large: list[SampleBatch] = []
    for batch, account in zip(batches, accounts, strict=True):
        value, headers = encode_batch(batch)
        if len(value) > MESSAGE_BYTES_MAX:
            too_large.append(batch)
            continue
        headers[ACCOUNT_HEADER] = encode_account(account)
        message = Message(batch.table.device.encode(), value, headers)
        encoded.append(Outgoing(topics.SAMPLES, message, len(batch), batch.table.target))
    return encoded, too_large
