"""The spool's content: what is appended, read again in order, and given up. Blocking: for one thread.

What is published, dropped and left is known from the counts in the heads, also of what cannot be read any more.
"""

import errno
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from common.units import to_ns
from ingest.config import SpoolConfig
from ingest.ledger import Counts, DropReason
from ingest.outgoing import Outgoing
from ingest.spool.record import Amount, Head
from ingest.spool.segment import Segment
from ingest.spool.segments import Segments
from ingest.spool.state_file import Position, State, StateFile

SETTING = "ingest.publish.spool.folder"
_SEGMENT_BYTES_MAX = 16 << 20
_SEGMENTS_MIN = 8  # the oldest is dropped as a whole: at most an eighth of what may wait
Losses = dict[DropReason, Amount]
LossesOfTargets = dict[DropReason, Counter[str]]
"""Samples by target, as far as it is known whose they were."""


class Store:
    """The spool in ``folder``. Every method but ``close`` raises OSError when the disk does not do it."""

    def __init__(self, folder: Path, config: SpoolConfig) -> None:
        self._folder, self._config = folder, config
        self._age_max_ns = to_ns(config.age_max_s)
        size_max = min(_SEGMENT_BYTES_MAX, config.bytes_max // _SEGMENTS_MIN)
        self._segments = Segments(folder, size_max, self._age_max_ns // _SEGMENTS_MIN)
        self._state = StateFile(folder, SETTING)
        self._published, self._read = Position(0, 0), Position(0, 0)
        self._published_amount = self._read_amount = Amount()
        self._opened = Amount()
        self._losses: Losses = {}
        self._of_targets: LossesOfTargets = {}

    @property
    def unread(self) -> Amount:
        """What ``read`` has yet to give."""
        return self._segments.written.beyond(self._read_amount)

    @property
    def used_bytes(self) -> int:
        return self._segments.used_bytes

    @property
    def oldest_ns(self) -> int | None:
        """About when the oldest that is here was spooled."""
        return self._segments[0].first_ns if len(self._segments) else None

    def open(self) -> Counts | None:
        """The counts that were saved last; None when there are none. ConfigError when a newer version wrote them."""
        self._folder.mkdir(parents=True, exist_ok=True)
        state = self._state.read()
        if state is None:
            self._segments.load(Amount(), 0)
            self._published = Position(0, 0)
            self._published_amount = self._segments[0].first if len(self._segments) else Amount()
        else:
            self._segments.load(state.written, state.position.segment)
            self._published, self._published_amount = state.position, state.published
            self._segments.delete_before(state.position.segment)
        self._opened = self._segments.written
        # What is missing before the oldest segment is counted when that is read.
        self._read, self._read_amount = self._published, self._published_amount
        return state.counts if state else None

    def append(self, records: Sequence[Outgoing], now_ns: int, *, taken: bool = False) -> Position:
        """Puts them behind all others and returns where they end. After OSError none of them is here.

        taken: they are being published already, so they are not read again; nothing else may be unread then.
        """
        encoded = self._segments.encode(records, now_ns)
        self._make_room(sum(map(len, encoded)))
        self._segments.append(records, encoded, now_ns)
        end = Position(self._segments[-1].number, self._segments[-1].size)
        if taken:
            self._read, self._read_amount = end, self._segments.written
        return end

    def _make_room(self, size: int) -> None:
        """The disk must have enough left; then the oldest segments go."""
        self.check_room(size)
        while len(self._segments) and self.used_bytes + size > self._config.bytes_max:
            self._drop_oldest(DropReason.SPOOL_FULL)

    def check_room(self, size: int = 0) -> None:
        """OSError when the disk would have too little left."""
        free = os.statvfs(self._folder)
        if free.f_bavail * free.f_frsize - size < self._config.free_bytes_min:
            raise OSError(errno.ENOSPC, f"less than free_bytes_min of {self._config.free_bytes_min} would be left")

    def read(self, count_max: int, bytes_max: int, now_ns: int) -> tuple[list[Outgoing], Position]:
        """The oldest records that were not read yet, and where they end; what is damaged or too old is dropped.

        bytes_max: no further record is begun beyond it.
        """
        found: list[Outgoing] = []
        size = 0
        for index, segment in enumerate(self._segments):
            if segment.number < self._read.segment:
                continue
            if segment.number > self._read.segment:
                self._read = Position(segment.number, 0)
                self._lose(DropReason.SPOOL_DAMAGED, segment.first)
            begin, following = self._read.offset, self._following(index)
            for head, record, end in _records(segment, begin):
                if head.after.exceeds(following):
                    break  # a process could not take it back from the disk, and has written it again behind this
                if self._read_amount.exceeds(head.before):
                    break  # no process counts backwards: whatever wrote this, what is behind it is no better
                found += self._pass(head, record, now_ns)
                self._read, self._read_amount = Position(segment.number, end), head.after
                if len(found) >= count_max or size + end - begin >= bytes_max:
                    return found, self._read
            size += self._read.offset - begin
            self._read = Position(segment.number, segment.size)
            self._lose(DropReason.SPOOL_DAMAGED, following)
        self._lose(DropReason.SPOOL_DAMAGED, self._segments.written)
        return found, self._read

    def _following(self, index: int) -> Amount:
        """What was spooled before the end of a segment."""
        return self._segments[index + 1].first if index + 1 < len(self._segments) else self._segments.written

    def _pass(self, head: Head, record: Outgoing | None, now_ns: int) -> list[Outgoing]:
        """The record, unless it is damaged or too old."""
        self._lose(DropReason.SPOOL_DAMAGED, head.before)
        if record is None:
            self._lose(DropReason.SPOOL_DAMAGED, head.after)
        elif head.spooled_ns < now_ns - self._age_max_ns:
            self._count_target(DropReason.SPOOL_EXPIRED, head, record)
            self._lose(DropReason.SPOOL_EXPIRED, head.after)
        else:
            return [record if self._is_own(head) else replace(record, target="")]
        return []

    def _lose(self, reason: DropReason, up_to: Amount) -> None:
        """What lies between the last record that was read and ``up_to`` is dropped."""
        lost = up_to.beyond(self._read_amount)
        if lost:
            self._losses[reason] = self._losses.get(reason, Amount()) + lost
            self._read_amount += lost

    def _is_own(self, head: Head) -> bool:
        """Whether this process has spooled it: its accounts do not know what others have received."""
        return head.after.exceeds(self._opened)

    def _count_target(self, reason: DropReason, head: Head, record: Outgoing) -> None:
        if record.target and self._is_own(head):
            self._of_targets.setdefault(reason, Counter())[record.target] += record.samples

    def pop_losses_of_targets(self) -> LossesOfTargets:
        """Of what ``pop_losses`` says, whose it was; nobody knows that of what is damaged."""
        losses, self._of_targets = self._of_targets, {}
        return losses

    def pop_losses(self) -> Losses:
        """What was dropped since the last call."""
        losses, self._losses = self._losses, {}
        return losses

    def expire(self, now_ns: int) -> None:
        """Drops the segments in which everything is too old."""
        while len(self._segments) and self._segments[0].last_ns < now_ns - self._age_max_ns:
            self._drop_oldest(DropReason.SPOOL_EXPIRED)

    def _drop_oldest(self, reason: DropReason) -> None:
        """What of it was read is somebody else's to count."""
        following = self._following(0)
        oldest = self._segments[0]
        unread = list(_records(oldest, self._read.offset if self._read.segment == oldest.number else 0))
        begin = Position(self._segments.pop_oldest().number + 1, 0)
        if self._read < begin:
            for head, record, _ in unread:
                if record is not None:
                    self._count_target(reason, head, record)
            self._lose(reason, following)
            self._read, self._read_amount = begin, following
        if self._published < begin:
            self._published, self._published_amount = begin, following

    def published(self, end: Position, counts: Counts) -> None:
        """Everything before ``end`` is on the bus: it is deleted once ``counts`` say so on the disk.

        What was read last must end there.
        """
        if end > self._published:
            self._published, self._published_amount = end, self._read_amount
        self.save(counts)
        if self._published_amount == self._segments.written:
            self._segments.clear()
        else:
            self._segments.delete_before(self._published.segment)

    def save(self, counts: Counts) -> None:
        """Writes where the spool is. counts: as of now, without what was dropped since ``pop_losses``."""
        drops = Counter(counts.drops)
        for reason, amount in self._losses.items():
            drops[reason] += amount.samples
        counts = Counts(counts.epoch_ns, counts.samples_in, counts.samples_out, drops)
        self._state.write(State(self._published, self._published_amount, self._segments.written, counts))

    def sync(self) -> None:
        """Returns when what was appended survives a power cut."""
        self._segments.sync()

    def close(self) -> None:
        """Idempotent, safe before ``open``."""
        self._segments.end_segment()
        self._state.close()


def _records(segment: Segment, offset: int) -> Iterator[tuple[Head, Outgoing | None, int]]:
    """Those of the segment; what the disk does not give is as good as damaged."""
    with suppress(OSError):
        yield from segment.records(offset)
