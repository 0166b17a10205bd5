"""The telemetry of a campaign as plain series: the input of methods that score one series at a time."""

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
    """Series that changed at least once. Counters are rates per second, by the engine's own code.

    times_ns, values: all samples, by series and time. starts: int64[series + 1], first sample of each, and the end.
    objects, devices: the object of each series, and the device that reported it.
    """

    times_ns: Ints
    values: Floats
    starts: Ints
    objects: tuple[ObjectRef, ...]
    devices: tuple[str, ...]


class Recorder:
    """Collects batches in order of arrival."""

    def __init__(self) -> None:
        self._registry = Registry(EngineConfig().series_max)
        self._rates = Columns(rates.LAYOUT)
        self._parts: list[tuple[Ints, Ints, Floats]] = []

    def add(self, batches: list[SampleBatch]) -> None:
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
        is_value = status == rates.VALUE
        self._parts.append((tick.sids[is_value], tick.times_ns[is_value], values[is_value]))

    def recording(self) -> Recording:
        """All series so far."""
        sids, times_ns, values = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.lexsort((times_ns, sids))
        sids, times_ns, values = sids[order], times_ns[order], values[order]
        changed = (np.diff(sids) == 0) & (np.diff(values) != 0)
        changing = np.unique(sids[1:][changed])
        kept = np.isin(sids, changing)
        starts = np.searchsorted(sids[kept], np.append(changing, np.iinfo(np.int64).max))
        columns, registry = self._registry.columns, self._registry
        objects = tuple(registry.object_ref(number) for number in columns["object"][changing].tolist())
        devices = tuple(registry.devices[target] for target in columns["target"][changing].tolist())
        return Recording(times_ns[kept], values[kept], starts, objects, devices)
