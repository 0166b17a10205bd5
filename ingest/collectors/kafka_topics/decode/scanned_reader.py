"""gnmic's JSON formats: messages of known devices and paths by a compiled scan, all others by a plain reader."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from common.errors import BadInput
from common.wire.hashed_bytes import UNKNOWN
from ingest.collectors.gnmi.decode.known_updates import KnownUpdates
from ingest.collectors.kafka_topics.decode.known_paths import ROWS, KnownPaths, Updates, allocate_parts, by_source
from ingest.collectors.kafka_topics.decode.responses import Responses
from ingest.collectors.kafka_topics.decode.stops import DONE, FULL, PLAIN
from ingest.collectors.kafka_topics.joined import joined


class ScannedReader(ABC):
    """Remembers devices and paths. Not shared between threads."""

    def __init__(self) -> None:
        self._known = KnownPaths()
        self._updates, self._parts = Updates.allocate(ROWS), allocate_parts(ROWS)

    @abstractmethod
    def read(self, message: bytes, into: Responses) -> None:
        """Adds what a message holds. BadInput when it is none of this format."""

    @abstractmethod
    def _scan(self, buf: NDArray[np.uint8], ends: NDArray[np.int64], message: int) -> tuple[int, int, int, int]:
        """Rows and parts written, the next message, and why the scan stopped there."""

    def read_all(self, messages: Sequence[bytes], into: Responses) -> int:
        """As all of these would be read by ``read``; how many are none of this format."""
        all_of_them = joined(messages)
        data, buf, ends = all_of_them.data, all_of_them.buf, all_of_them.ends
        message, why, of_no_use = 0, PLAIN, 0
        while why != DONE:
            rows, parts, message, why = self._scan(buf, ends, message)
            self._take(rows, parts, data, into)
            if why == PLAIN or (why == FULL and parts == 0):
                try:
                    self.read(messages[message], into)
                except BadInput:
                    of_no_use += 1
                message += 1
        return of_no_use

    def _take(self, rows: int, parts: int, data: bytes, into: Responses) -> None:
        """What a scan of ``data`` found."""
        if not parts:
            return
        known, grouped, found = self._known, Updates.allocate(rows), allocate_parts(parts)
        place = np.full(len(known.sources), UNKNOWN, np.int64)
        count = by_source(self._parts, parts, (*self._updates,), place, found, (*grouped,))
        for source, begin, end, messages, size in found[:count].tolist():
            of = slice(begin, end)
            columns = grouped.paths[of], grouped.kinds[of], grouped.numbers[of], grouped.times_ns[of], grouped.texts[of]
            into.add(known.sources[source], KnownUpdates(known, data, *columns, messages, size))
