"""The reading side: which records are the owner's, and which are of a process that has been replaced. Pure."""

from collections.abc import Mapping

from bus.base import Record, TopicPartition
from telemetry.owner import EPOCH_MAX

EPOCH = "owner.epoch"
"""Header of every output of a stage that has an owner: its epoch, in decimal digits."""

STALE_OWNER = "stale_owner"
"""Why a reader drops a record: its publisher had been replaced before."""


class OwnerFence:
    """The order within a partition decides: behind the first record of a newer owner, older ones publish no more.

    What an owner published before it was replaced stays good, however late it is read. Records without an epoch are
    accepted: they are of an older version.
    newest: the epochs of a run before, by partition.
    """

    def __init__(self, newest: Mapping[TopicPartition, int] | None = None) -> None:
        self.newest: dict[TopicPartition, int] = dict(newest or {})

    def admits(self, record: Record) -> bool:
        """Whether the record is the owner's. Call it with every record of a partition, in their order."""
        epoch = _epoch_of(record)
        if epoch is None:
            return True
        partition = (record.topic, record.partition)
        newest = self.newest.get(partition, epoch)
        self.newest[partition] = max(newest, epoch)
        return epoch >= newest

    def forget(self, partition: TopicPartition) -> None:
        """After a gap the log may be another one, whose epochs begin again: a page too many is better than none."""
        self.newest.pop(partition, None)


def _epoch_of(record: Record) -> int | None:
    """None where there is none, or nothing that an owner of ours writes."""
    digits = record.headers.get(EPOCH, b"")
    if not digits.isdigit() or len(digits) > len(str(EPOCH_MAX)):
        return None
    epoch = int(digits)
    return epoch if epoch <= EPOCH_MAX else None
