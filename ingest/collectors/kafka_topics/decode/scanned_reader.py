"""gnmic's JSON formats: messages of known devices and paths by a compiled scan, all others by a plain reader."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from common.errors import BadInput
from ingest.collectors.kafka_topics.decode.joined import DONE, FULL, PLAIN, joined
from ingest.collectors.kafka_topics.decode.known_paths import OUT_BYTES, ROWS, KnownPaths, Values, Written
from ingest.collectors.kafka_topics.decode.responses import Responses


class ScannedReader(ABC):
    """Remembers devices and paths. Not shared between threads."""

    def __init__(self) -> None:
        self._known = KnownPaths()
        self._values, self._written = Values.allocate(ROWS), Written.allocate(ROWS, OUT_BYTES)

    @abstractmethod
    def read(self, message: bytes, into: Responses) -> None:
        """Adds what a message holds. BadInput when it is none of this format."""

    @abstractmethod
    def _scan(self, buf: NDArray[np.uint8], ends: NDArray[np.int64], message: int) -> tuple[int, int, int, int]:
        """Parts and bytes written, the next message, and why the scan stopped there."""

    def read_all(self, messages: Sequence[bytes], into: Responses) -> int:
        """As all of these would be read by ``read``; how many are none of this format."""
        _, buf, ends = joined(messages)
        message, why, of_no_use = 0, PLAIN, 0
        while why != DONE:
            parts, used, message, why = self._scan(buf, ends, message)
            self._take(parts, used, into)
            if why == PLAIN or (why == FULL and parts == 0):
                try:
                    self.read(messages[message], into)
                except BadInput:
                    of_no_use += 1
                message += 1
        return of_no_use

    def _take(self, parts: int, used: int, into: Responses) -> None:
        data, sources = self._written.out[:used].tobytes(), self._known.sources
        for source, begin, end in self._written.parts[:parts].tolist():
            into.add(sources[source], data[begin:end])
