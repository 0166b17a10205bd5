"""The telemetry of a campaign as plain series: what a method that looks at one series at a time gets to see."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.config import EngineConfig
from analytics.state import rates
from analytics.state.columns import Columns
from analytics.state.registry import Registry
from analytics.state.tick import pack
from analytics.window.watermark import SampleCounts
from evaluation.series.signals import Floats
from telemetry.objects import ObjectRef
from telemetry.samples import SampleBatch

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Recording:
    """Series that changed at least once. A counter is its rate per second, the engine's own, resets and wraps included.

    times_ns, values: of all samples, by series and time. starts: int64[series + 1], first sample of each, and the end.
    objects, devices: what each series is about, and which device reported it.
    """

    times_ns: Ints
    values: Floats
    starts: Ints
    objects: tuple[ObjectRef, ...]
    devices: tuple[str, ...]


class Recorder:
    """Takes batches in the order in which they arrive."""

    def __init__(self) -> None:
        self._registry = Registry(EngineConfig().series_max)
        self._rates = Columns(rates.LAYOUT)
        self._parts: list[tuple[Ints, Ints, Floats]] = []

    def take(self, batches: list[SampleBatch]) -> None:
        tick, rules = pack(batches, self._registry, SampleCounts()), self._registry.rules
        self._rates.grow(len(self._registry))
        values, status = np.empty(len(tick)), np.empty(len(tick), np.uint8)
        rates.to_values(
            rates.Samples(tick.starts, tick.collected_ns, tick.sids, tick.times_ns, tick.values),
            rates.CounterRules(self._registry.columns["metric"], rules.counter, rules.modulus, rules.refresh_ns),
            rates.RateColumns(*(self._rates[name] for name in rates.LAYOUT)),
            values,
            status,
        )
        fresh = status == rates.VALUE
        self._parts.append((tick.sids[fresh], tick.times_ns[fresh], values[fresh]))

    def recording(self) -> Recording:
        """All that was taken so far."""
        sids, times_ns, values = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.lexsort((times_ns, sids))
        sids, times_ns, values = sids[order], times_ns[order], values[order]
        moved = (np.diff(sids) == 0) & (np.diff(values) != 0)
        moving = np.unique(sids[1:][moved])
        kept = np.isin(sids, moving)
        starts = np.searchsorted(sids[kept], np.append(moving, np.iinfo(np.int64).max))
        columns, registry = self._registry.columns, self._registry
        objects = tuple(registry.object_ref(number) for number in columns["object"][moving].tolist())
        devices = tuple(registry.devices[target] for target in columns["target"][moving].tolist())
        return Recording(times_ns[kept], values[kept], starts, objects, devices)
