"""Records of incidents to a plan: read, and decided on, in the thread of the outbox."""

import contextlib
from collections.abc import Sequence

import structlog

from alerts.clock import Moment
from alerts.counts import RecordCounts
from alerts.decision.dispatch import Dispatcher, Plan
from alerts.silence import Silence
from bus.base import Bus, Record
from bus.deadletter import put_aside
from bus.owner.fence import OwnerFence
from bus.quarantine.quarantine import Quarantine
from common.errors import BadInput
from telemetry.codec.records import decode_record
from telemetry.incidents import Incident

log = structlog.get_logger(__name__)
Corrupt = list[tuple[Record, BadInput]]


class Deciding:
    """Records are blamed for a crash here alone, and not while a round waits for the thread, a disk or the bus: a
    process that is killed there was not ended by them.
    """

    def __init__(self, dispatcher: Dispatcher, fence: OwnerFence, quarantine: Quarantine, counts: RecordCounts) -> None:
        self._dispatcher, self._fence, self._quarantine, self._counts = dispatcher, fence, quarantine, counts

    def decide(
        self, records: Sequence[Record], own: Sequence[Incident], silenced: Sequence[Silence], now: Moment
    ) -> tuple[Plan, Corrupt]:
        """The plan of a round, and the records that cannot be read. own: incidents of the product itself."""
        with self._quarantine.working_on(records):
            versions, corrupt = self._decode(records)
            return self._dispatcher.plan([*versions, *own], silenced, now), corrupt

    def decide_ahead(self, critical: Sequence[Record], silenced: Sequence[Silence], now: Moment) -> Plan:
        """Before their turn. Those that cannot be read become dead letters when it comes."""
        with self._quarantine.working_on(critical, apart=True):
            return self._dispatcher.plan(_decode_readable(critical), silenced, now)

    def _decode(self, records: Sequence[Record]) -> tuple[list[Incident], Corrupt]:
        versions, corrupt = list[Incident](), Corrupt()
        for record in records:
            if not self._fence.admits(record):
                self._drop_stale(record)
                continue
            if record.value is None:
                # the bus forgets an incident; people who were notified of it still wait for its resolve
                continue
            try:
                versions.append(decode_record(record.value, Incident))
            except BadInput as error:
                corrupt.append((record, error))
        return versions, corrupt

    def _drop_stale(self, record: Record) -> None:
        self._counts.add_stale()
        log.warning("record of a replaced owner", topic=record.topic, partition=record.partition, offset=record.offset)

    async def put_aside(self, bus: Bus, corrupt: Corrupt) -> None:
        for record, error in corrupt:
            self._counts.add_corrupt(record.topic, error.reason)
            await put_aside(bus, record, error)


def _decode_readable(records: Sequence[Record]) -> list[Incident]:
    versions = []
    for record in records:
        with contextlib.suppress(BadInput):
            versions.append(decode_record(record.value or b"", Incident))
    return versions
