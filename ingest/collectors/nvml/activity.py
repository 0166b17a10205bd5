"""How busy the parts of a GPU were since the last collection: GPM of NVML, which Hopper and later have. Blocking.

A sample is what the GPU has counted up to one moment; each metric is of the span between two of them.
"""

import ctypes
import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from time import monotonic
from typing import Any

import pynvml

from ingest.collectors.nvml.errors import UNSUPPORTED, UNUSABLE

Handle = Any
Counters = Any
"""``nvmlGpmSample_t``, memory of the library."""

SPAN_MIN_S = 0.2
"""The counters move every 0.1 s: in a shorter span a GPU that works all the time may seem idle."""


@dataclass(slots=True)
class _Part:
    """A GPU, or a MIG instance of it. last: its counters at ``last_s``; free: room for the next ones.

    last_s: monotonic, None before the first sample.
    """

    last: Counters
    free: Counters
    last_s: float | None = None


class Activity:
    """Keeps the counters of the last collection, of each GPU and each MIG instance."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], _Part | None] = {}
        self._read: set[tuple[str, str]] = set()

    def read(self, handle: Handle, uuid: str, names: Sequence[str], instance: str = "") -> list[tuple[str, float]]:
        """The metrics of these names; NaN for what cannot be read at the moment. None at the first collection, too soon
        after the last one, and of a GPU without GPM.

        handle: of the GPU, also for an instance of it. NVMLError when it cannot be used.
        """
        key = uuid, instance
        self._read.add(key)
        if key not in self._parts:
            self._parts[key] = _begin(handle)
        part = self._parts[key]
        now_s = monotonic()
        if part is None or (part.last_s is not None and now_s - part.last_s < SPAN_MIN_S):
            return []
        last_s, part.last_s = part.last_s, None
        try:
            _take(handle, instance, part.free)
            found = [] if last_s is None else _metrics(part.last, part.free, names)
        except pynvml.NVMLError as error:
            if error.value in UNUSABLE:
                raise
            return [] if error.value in UNSUPPORTED else [(name, math.nan) for name in names]
        part.last, part.free, part.last_s = part.free, part.last, now_s
        return found

    def keep(self, uuids: Set[str]) -> None:
        """Those that were read since the last time, of these GPUs. What is gone or failed may begin again at 0."""
        for key in [key for key in self._parts if key not in self._read or key[0] not in uuids]:
            _release(self._parts.pop(key))
        self._read.clear()


def _begin(handle: Handle) -> _Part | None:
    """None where the GPU or the driver has no GPM."""
    try:
        if not pynvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice:
            return None
        return _Part(pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc())
    except pynvml.NVMLError as error:
        if error.value in UNUSABLE:
            raise
        return None


def _take(handle: Handle, instance: str, counters: Counters) -> None:
    if instance:
        pynvml.nvmlGpmMigSampleGet(handle, ctypes.c_uint(int(instance)), counters)
    else:
        pynvml.nvmlGpmSampleGet(handle, counters)


def _metrics(first: Counters, second: Counters, names: Sequence[str]) -> list[tuple[str, float]]:
    asked = pynvml.c_nvmlGpmMetricsGet_t()
    asked.version = pynvml.NVML_GPM_METRICS_GET_VERSION
    asked.numMetrics = len(names)
    asked.sample1, asked.sample2 = first, second
    for metric, name in zip(asked.metrics, names, strict=False):
        metric.metricId = getattr(pynvml, name)
    pynvml.nvmlGpmMetricsGet(asked)
    answers = zip(names, asked.metrics, strict=False)
    stated = ((name, answer) for name, answer in answers if answer.nvmlReturn not in UNSUPPORTED)
    return [(name, answer.value if answer.nvmlReturn == pynvml.NVML_SUCCESS else math.nan) for name, answer in stated]


def _release(part: _Part | None) -> None:
    if part is not None:
        for counters in (part.last, part.free):
            pynvml.nvmlGpmSampleFree(counters)
