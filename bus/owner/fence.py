"""The reading side: which records are the owner's, and which are of a process that has been replaced. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from bus.base import Record, TopicPartition
from telemetry.owner import EPOCH_MAX

EPOCH = "owner.epoch"
"""Header of every output on the bus: the epoch of the process that published it, in decimal digits."""

ROLE = "owner.role"
"""Header beside it: the name of the role that the epoch is of. Several roles may share a partition."""

STALE_OWNER = "stale_owner"
"""Why a reader drops a record: its publisher had been replaced before."""

ROLES_MAX = 64
"""Roles known of a partition. A stage whose settings change gets another one, and the oldest are forgotten."""

_ROLE_BYTES_MAX = 256


class RoleInPartition(NamedTuple):
    """What has an order of owners. role: '' where the record has none."""

    topic: str
    partition: int
    role: str


Epochs = dict[RoleInPartition, int]
"""The newest epoch of each role in each partition."""


class Stamp(NamedTuple):
    """Who published a record."""

    place: RoleInPartition
    epoch: int


class OwnerFence:
    """The order within a partition decides: behind the first record of a newer owner, older ones publish no more.

    What an owner published before it was replaced stays good, however late it is read. Records without an epoch are
    accepted: they are of an older version. Owners of different roles do not concern each other.
    newest: the epochs of a run before.
    """

    def __init__(self, newest: Mapping[RoleInPartition, int] | None = None) -> None:
        self.newest: Epochs = dict(newest or {})

    def admits(self, record: Record) -> bool:
        """Whether the record is the owner's. Call it with every record of a partition, in their order."""
        return self.admits_stamp(stamp_of(record))

    def admits_stamp(self, stamp: Stamp | None) -> bool:
        """The same, for who has the record no more."""
        if stamp is None:
            return True
        newest = self.newest.get(stamp.place)
        if newest is None:
            self._make_room(stamp.place)
        if newest is None or stamp.epoch > newest:
            self.newest[stamp.place] = stamp.epoch
            return True
        return stamp.epoch == newest

    def forget(self, partition: TopicPartition) -> None:
        """After a gap the log may be another one, whose epochs begin again: a page too many is better than none."""
        for place in [place for place in self.newest if place[:2] == partition]:
            del self.newest[place]

    def _make_room(self, place: RoleInPartition) -> None:
        beside = [other for other in self.newest if other[:2] == place[:2]]
        if len(beside) >= ROLES_MAX:
            del self.newest[min(beside, key=lambda other: (self.newest[other], other))]


def stamp_of(record: Record) -> Stamp | None:
    """None where there is none, or nothing that an owner of ours writes."""
    digits = record.headers.get(EPOCH, b"")
    if not digits.isdigit() or len(digits) > len(str(EPOCH_MAX)):
        return None
    epoch = int(digits)
    if epoch > EPOCH_MAX:
        return None
    role = record.headers.get(ROLE, b"")[:_ROLE_BYTES_MAX].decode(errors="replace")
    return Stamp(RoleInPartition(record.topic, record.partition, role), epoch)
