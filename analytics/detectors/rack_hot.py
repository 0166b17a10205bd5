"""Cooling of a rack: its GPUs get hotter together while they draw no more power than before."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.base import Evidence, Verdicts
from analytics.racks import RackFinder
from analytics.statistics import baseline
from analytics.statistics.groups import group_medians
from analytics.view import Column, View, lookup
from telemetry.findings import FindingKind
from telemetry.objects import ObjectKind
from telemetry.series import series_key

# An H100 slows down at 87 C and works at 60 to 70 C: six kelvin more at the same power is a third of what is left.
_KELVIN_MAX = 6.0
_MORE_POWER = 1.1  # of the own level: explains three kelvin; more power explains more heat
_SMOOTHING = 0.2  # weight of the newest load: power moves with every step of a job, heat with the average of a minute
_LOAD, _SEEN_S = 0, 1  # what it remembers of each temperature
_GPUS_MIN, _HOSTS_MIN = 8, 2  # fewer are the matter of one host
# Levels that were learned while everything still warmed up are too low for half an hour, in every rack.
_SETTLED_VALUES = 180


@dataclass(frozen=True)
class RackHot:
    """Judges the middle of the rack's GPUs, each against its own normal temperature and power."""

    name: str = "rack_hot"
    kind: FindingKind = FindingKind.OVERHEATED
    metrics: tuple[str, ...] = ("gpu_temperature_celsius", "gpu_power_watts")
    persist: int = 3
    sure: float = np.inf
    clear_intervals: float = 6.0
    _finder: RackFinder = field(default_factory=RackFinder, compare=False)

    def judge(self, view: View) -> list[Verdicts]:
        rack_of = self._finder.rack_of(view)
        heat, power = (view.column(metric) for metric in self.metrics)
        at = lookup(power.objects, heat.objects)
        heat = heat.only(heat.fresh & (at >= 0) & (rack_of[heat.objects] >= 0) & ~np.isnan(heat.level))
        power = power.only(lookup(power.objects, heat.objects))
        load = _smooth_load(view, heat, power)
        racks = rack_of[heat.objects]
        rise = _own_rise(view, heat, racks)
        more = group_medians(racks, load)
        present, first, size = np.unique(racks, return_index=True, return_counts=True)
        hosts = np.unique(np.stack([racks, heat.targets]), axis=1)[0]
        enough = (size >= _GPUS_MIN) & (np.unique(hosts, return_counts=True)[1] >= _HOSTS_MIN)
        cool = enough & (more[first] <= _MORE_POWER)
        score = np.where(cool, np.maximum(rise[first], 0.0) / _KELVIN_MAX, 0.0)
        names = [view.registry.objects.names[number].partition(":")[2] for number in present.tolist()]

        def key(row: int) -> str:
            return f"median({series_key(self.metrics[0], {str(ObjectKind.RACK): names[row]})})"

        values, normals = (group_medians(racks, column)[first] for column in (heat.values, heat.level))
        evidence = Evidence(np.full(present.size, -1), values, normals, "celsius", key)
        newest_ns = np.zeros(present.size, np.int64)
        np.maximum.at(newest_ns, np.searchsorted(present, racks), heat.times_ns)
        return [Verdicts(present, newest_ns, score >= 1.0, score, (evidence,), 0.7)]


def _own_rise(view: View, heat: Column, racks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Kelvin above normal of each GPU's rack; while levels settle, only what not all racks have."""
    rise = group_medians(racks, heat.values - heat.level)
    settled = view.series["baseline"][heat.sids, baseline.COUNT] >= _SETTLED_VALUES
    if settled.all() or np.unique(racks).size < 2:
        return rise
    return np.where(settled, rise, rise - max(0.0, float(rise.min())))


def _smooth_load(view: View, heat: Column, power: Column) -> NDArray[np.float64]:
    """Power of each GPU as a share of its own normal, averaged over the last collections; NaN before there is one."""
    memory = view.series["memory"][heat.sids]
    with np.errstate(divide="ignore", invalid="ignore"):
        load = power.values / power.level
    seen_s = heat.times_ns * 1e-9
    new = power.fresh & np.isfinite(load) & (seen_s > memory[:, _SEEN_S])
    weight = np.where(memory[:, _SEEN_S] == 0.0, 1.0, _SMOOTHING)
    memory[new, _LOAD] += (weight * (load - memory[:, _LOAD]))[new]
    memory[new, _SEEN_S] = seen_s[new]
    view.series["memory"][heat.sids] = memory
    return np.where(memory[:, _SEEN_S] > 0.0, memory[:, _LOAD], np.nan)
