"""The files of a spool in order: one of them grows, the oldest go. Blocking.

A segment is written by one process; the next one begins a new segment, so nothing is ever appended behind a torn end.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from ingest.outgoing import Outgoing
from ingest.spool.record import Amount, amount_of, encode_one
from ingest.spool.segment import SUFFIX, Segment, SegmentWriter, open_segment, path_of


class Segments:
    """Those in ``folder``, oldest first. size_max: bytes of one; it may be exceeded by a single record. lasts_ns: how
    long records are put into one, by when they were spooled. written: what was put into the spool, ever."""

    def __init__(self, folder: Path, size_max: int, lasts_ns: int) -> None:
        self._folder, self._size_max, self._lasts_ns = folder, size_max, lasts_ns
        self._segments: deque[Segment] = deque()
        self._writer: SegmentWriter | None = None
        self._next_number = 1
        self.written = Amount()

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __getitem__(self, index: int) -> Segment:
        return self._segments[index]

    @property
    def used_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    def load(self, written: Amount, after: int) -> None:
        """Finds what earlier processes have left. written: as far as is known; after: the number of a segment that is
        perhaps gone. The last segment may hold more."""
        paths = sorted(path for path in self._folder.glob(f"*{SUFFIX}") if path.stem.isdigit())
        self._segments = deque(segment for path in paths if (segment := _opened(path)) is not None)
        self._next_number = max([after, *(int(path.stem) for path in paths)]) + 1
        self.written = written
        for segment, following in pairwise(self._segments):
            segment.last_ns = following.first_ns
        if self._segments:
            last = self._segments[-1]
            for head in last.heads():
                last.last_ns = head.spooled_ns
                self.written += head.after.beyond(self.written)

    def encode(self, records: Sequence[Outgoing], now_ns: int) -> list[bytes]:
        """As they are to be appended next."""
        encoded, before = [], self.written
        for record in records:
            encoded.append(encode_one(record, before, now_ns))
            before += amount_of(record.topic, record.samples)
        return encoded

    def append(self, records: Sequence[Outgoing], encoded: Sequence[bytes], now_ns: int) -> None:
        """Puts them at the end; after OSError none of them is there."""
        written, count, size = self.written, len(self), self[-1].size if self._segments else 0
        begin = 0
        try:
            while begin < len(encoded):
                begin += self._append_part(records[begin:], encoded[begin:], now_ns)
        except OSError:
            self.written = written
            self._take_back(count, size)
            raise

    def _append_part(self, records: Sequence[Outgoing], encoded: Sequence[bytes], now_ns: int) -> int:
        """Writes as many as the segment has room for, at least one; returns how many."""
        if self._writer is None or self._is_full(self[-1], len(encoded[0]), now_ns):
            self._begin_segment(now_ns)
        writer, segment = self._writer, self[-1]
        assert writer is not None
        count, size = 1, len(encoded[0])
        while count < len(encoded) and segment.size + size + len(encoded[count]) <= self._size_max:
            size += len(encoded[count])
            count += 1
        writer.append(b"".join(encoded[:count]))
        segment.size, segment.last_ns = writer.size, now_ns
        for record in records[:count]:
            self.written += amount_of(record.topic, record.samples)
        return count

    def _is_full(self, segment: Segment, size: int, now_ns: int) -> bool:
        return segment.size + size > self._size_max or now_ns - segment.first_ns > self._lasts_ns

    def _begin_segment(self, now_ns: int) -> None:
        self.end_segment()
        path = path_of(self._folder, self._next_number)
        self._writer = SegmentWriter(path)
        self._segments.append(Segment(path, self._next_number, self.written, now_ns, now_ns, 0))
        self._next_number += 1

    def _take_back(self, count: int, size: int) -> None:
        self.end_segment()
        while len(self) > count:
            _delete(self._segments.pop())
        if self._segments and self[-1].size > size:
            self[-1].size = size
            self[-1].cut(size)

    def sync(self) -> None:
        """Returns when what was appended survives a power cut."""
        if self._writer is not None:
            self._writer.sync()

    def end_segment(self) -> None:
        """What comes next goes to a new one; idempotent."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(OSError):
                writer.sync()
            writer.close()

    def pop_oldest(self) -> Segment:
        """Deletes it."""
        oldest = self._segments.popleft()
        if not self._segments:
            self.end_segment()
        _delete(oldest)
        return oldest

    def delete_before(self, number: int) -> None:
        """Those with smaller numbers."""
        while self._segments and self[0].number < number:
            self.pop_oldest()

    def clear(self) -> None:
        """Deletes all."""
        self.delete_before(self._next_number)


def _opened(path: Path) -> Segment | None:
    """None for one that cannot be read: what it held is counted when the segment behind it is read."""
    try:
        segment = open_segment(path)
    except OSError:
        return None
    if segment is None:
        with suppress(OSError):
            path.unlink()
    return segment


def _delete(segment: Segment) -> None:
    """A file that stays is deleted by the next process, which knows how far it was published."""
    with suppress(OSError):
        segment.path.unlink()
