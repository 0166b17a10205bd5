"""Recent telemetry in memory, as it came over the bus: decoded only when somebody asks for a plot."""

from collections import OrderedDict, deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from telemetry.codec.batch import BatchDecoder
from telemetry.samples import SampleBatch

_RECORD_BYTES = 450
"""Of a record without what is in it: three objects of bytes, a dict, its entry here and in the line of its device."""


@dataclass(frozen=True, slots=True)
class _Kept:
    collected_ns: int
    value: bytes
    headers: dict[str, bytes]

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return _RECORD_BYTES + len(self.value) + sum(map(len, self.headers.values()))


class History:
    """The records of the last ``span_ns`` of each device, at most ``bytes_max`` of memory in all."""

    def __init__(self, span_ns: int, bytes_max: int) -> None:
        self._span_ns = span_ns
        self._bytes_max = bytes_max
        self._bytes = 0
        self._devices: OrderedDict[str, deque[_Kept]] = OrderedDict()
        self._decoder = BatchDecoder()

    def add(self, batch: SampleBatch, value: bytes, headers: dict[str, bytes]) -> None:
        """Keeps a batch as it came on the bus (``value`` and ``headers``) until it is too old or too much is kept.

        One without samples says only how late it is: what targets that are down report would fill the memory.
        """
        device, collected_ns = batch.table.device, batch.collection.collected_ns
        if len(batch):
            kept = _Kept(collected_ns, value, headers)
            self._devices.setdefault(device, deque()).append(kept)
            self._devices.move_to_end(device)
            self._bytes += kept.size
        self._drop_older(device, collected_ns - self._span_ns)
        while self._bytes > self._bytes_max:
            self._drop_oldest(next(iter(self._devices)))

    def series(self, device: str, keys: set[str]) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Times (ns) and values of each series of a device, in time order; a series without samples is missing."""
        pieces: dict[str, list[tuple[NDArray[np.int64], NDArray[np.float64]]]] = {}
        for kept in list(self._devices.get(device, ())):
            batch = self._decoder.decode(kept.value, kept.headers)
            for row, key in enumerate(batch.table.keys):
                if key in keys:
                    mine = batch.series == row
                    pieces.setdefault(key, []).append((batch.times_ns[mine], batch.values[mine]))
        return {key: _in_time_order(parts) for key, parts in pieces.items()}

    def _drop_older(self, device: str, oldest_ns: int) -> None:
        while (kept := self._devices.get(device)) and kept[0].collected_ns < oldest_ns:
            self._drop_oldest(device)

    def _drop_oldest(self, device: str) -> None:
        kept = self._devices[device]
        self._bytes -= kept.popleft().size
        if not kept:
            del self._devices[device]


def _in_time_order(
    parts: list[tuple[NDArray[np.int64], NDArray[np.float64]]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    times = np.concatenate([times for times, _ in parts])
    values = np.concatenate([values for _, values in parts])
    times, first = np.unique(times, return_index=True)
    return times, values[first]
