"""XIDs of the GPUs of this host, as events of NVML. Blocking."""

import contextlib
import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import pynvml

from common.units import to_ns
from ingest.collectors.canonical_samples import SourceSample
from ingest.collectors.kernel_log.config import HOLD_S
from ingest.collectors.kernel_log.records import Xid, pci_address
from ingest.collectors.kernel_log.xids import HostXids

Handle = Any
_EVENTS_MAX = 1024  # of one collection; the rest waits
_WHOLE_GPU = 0xFFFFFFFF


class EventXids:
    """What the driver reports of the GPUs that are watched. clock: event time, as events state none.

    An error that the kernel log has many lines of is one event.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._xids = HostXids({}, to_ns(HOLD_S), source="nvml")
        self._events: Any = None
        self._addresses: dict[int | None, str] = {}

    def watch(self, handle: Handle, uuid: str) -> None:
        """From now on, once a session. A GPU that has no such events is not watched."""
        if _place(handle) in self._addresses:
            return
        with contextlib.suppress(pynvml.NVMLError):
            if self._events is None:
                self._events = pynvml.nvmlEventSetCreate()
            address = pci_address(pynvml.nvmlDeviceGetPciInfo(handle).busId)
            pynvml.nvmlDeviceRegisterEvents(handle, pynvml.nvmlEventTypeXidCriticalError, self._events)
            self._addresses[_place(handle)] = address
            self._xids.know(address, uuid)

    def take(self) -> int:
        """Those since the last time, without waiting; how many there was no room for."""
        without_room = 0
        with contextlib.suppress(pynvml.NVMLError):  # the last one: no more of them
            for _ in range(_EVENTS_MAX if self._events is not None else 0):
                event = pynvml.nvmlEventSetWait_v2(self._events, 0)
                address = self._addresses.get(_place(event.device), "")
                instance = "" if event.gpuInstanceId == _WHOLE_GPU else str(event.gpuInstanceId)
                without_room += not self._xids.add(Xid(address, int(event.eventData), instance), self._clock())
        return without_room

    def reading(self) -> Iterable[SourceSample]:
        return self._xids.reading(self._clock())

    def end(self) -> None:
        """Of the session; what was counted stays."""
        self._addresses.clear()
        if self._events is not None:
            with contextlib.suppress(pynvml.NVMLError):
                pynvml.nvmlEventSetFree(self._events)
            self._events = None


def _place(handle: Handle) -> int | None:
    """Which GPU a handle is of: the same for each of them."""
    return ctypes.cast(handle, ctypes.c_void_p).value
