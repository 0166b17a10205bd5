"""Cooling of a rack or of a host: together its GPUs get warmer than the power that they draw explains."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.environment import gpu_heat
from analytics.detectors.spec import Detector, Scope, Verdicts, computed_evidence
from analytics.models import baseline, thermal
from analytics.models.group_medians import group_medians
from analytics.snapshot.block import Migration
from analytics.snapshot.stateful import State
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.objects import ObjectKind
from telemetry.series import series_key

# An H100 slows down at 87 C and works at 60 to 70 C: four kelvin more at the same power is a fifth of the rest, and
# more than the air of a healthy room changes within half an hour, which is how far the normal looks back.
_KELVIN_MAX = 4.0
_GPUS_MIN, _HOSTS_MIN = 8, 2  # fewer may be one host
_RACK_SHARE = 0.75  # of its GPUs, on hosts that are as warm: air that is too warm reaches all of a rack
# One host alone is warm when half of what an H100 at 70 C has left is gone, on most of its GPUs: its fans follow its
# load and its firmware, which moves a host by a few kelvin, and not all of its GPUs alike.
_HOST_KELVIN_MAX, _HOST_GPUS_MIN, _HOST_GPUS_SHARE = 8.0, 4, 0.75
_ROOM_QUANTILE = 0.25  # what more than three quarters of all hosts have in common is the room
# Normals that were learned while the room warmed up are too low for half an hour, in every rack.
_SETTLED_VALUES = 180
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RackHot(Detector):
    """Judges the median of the rack's or host's GPUs, each against its own normal temperature at that power."""

    name: str = "rack_hot"
    kind: FindingKind = FindingKind.OVERHEATED
    metrics: tuple[str, ...] = gpu_heat.METRICS
    scope: Scope = Scope.CLUSTER
    persist: int = 3
    fire_immediately_score: float = 2.0
    clear_intervals: float = 6.0
    memory: tuple[MemoryColumn, ...] = gpu_heat.MEMORY
    memory_format: int = 4
    memory_migrations: Mapping[int, Migration] = field(
        default_factory=lambda: {1: _from_format_1, 2: gpu_heat.sums_of_means, 3: gpu_heat.without_moments},
        hash=False,
    )

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        heat, watts = gpu_heat.readings(view)
        hosts = view.index.device_objects[heat.targets]
        racks = view.topology_index.rack[heat.objects]
        above = gpu_heat.kelvin_above(view, memory, heat, watts, (np.where(racks >= 0, racks, hosts), hosts))
        least = gpu_heat.least_kelvin(memory, heat, watts)
        at_once = gpu_heat.at_once_kelvin(view, memory, heat, watts)
        placed = racks >= 0
        return [
            _racks(view, heat.only(placed), racks[placed], above[placed], least[placed], at_once[placed]),
            _hosts(view, heat, hosts, above, least, at_once, _margins(view, memory, heat, watts, least)),
        ]


def _from_format_1(state: State) -> State:
    """Format 1 knew nothing of spreads: they begin empty."""
    spread = np.zeros((state.arrays["sid"].size, thermal.SPREAD_WIDTH))
    return State(state.head, {**state.arrays, "spread": spread})


def _racks(
    view: TickView, heat: Column, racks: NDArray[np.int64], above: Floats, least: Floats, at_once: Floats
) -> Verdicts:
    """least: kelvin, float64[n], what the readings of each GPU demand at least of a rise. at_once: kelvin, float64[n],
    what the power of the moment may explain of it."""
    counts = view.series["baseline"][heat.sids, baseline.COUNT]
    present, first, size = np.unique(racks, return_index=True, return_counts=True)
    hosts = np.unique(np.stack([racks, heat.targets]), axis=1)[0]
    enough = (size >= _GPUS_MIN) & (np.unique(hosts, return_counts=True)[1] >= _HOSTS_MIN)
    rise = _own_rise(group_medians(racks, above), counts, racks)[first]
    warm = group_medians(heat.targets.astype(np.int64), above - at_once) >= _KELVIN_MAX
    enough &= np.bincount(np.searchsorted(present, racks), warm, present.size) >= _RACK_SHARE * size
    limit = np.maximum(group_medians(racks, least), _KELVIN_MAX + group_medians(racks, at_once))[first]
    score = np.where(enough, np.maximum(rise, 0.0) / limit, 0.0)
    return _verdicts(view, heat, racks, score, rise, ObjectKind.RACK)


def _hosts(
    view: TickView,
    heat: Column,
    hosts: NDArray[np.int64],
    above: Floats,
    least: Floats,
    at_once: Floats,
    margins: Floats,
) -> Verdicts:
    """Each host by the median of its GPUs, less what nearly all hosts have in common. Correlation decides by the margin
    that is left whether anybody is paged. margins: of each GPU."""
    present, first, size = np.unique(hosts, return_index=True, return_counts=True)
    rise = group_medians(hosts, above)[first]
    room = np.quantile(rise, _ROOM_QUANTILE, method="lower") if present.size > 1 else 0.0
    rise = rise - max(0.0, float(room))
    warm = np.bincount(np.searchsorted(present, hosts), above - at_once >= _HOST_KELVIN_MAX / 2, present.size)
    enough = (size >= _HOST_GPUS_MIN) & (warm >= _HOST_GPUS_SHARE * size)
    limit = np.maximum(group_medians(hosts, least), _HOST_KELVIN_MAX + group_medians(hosts, at_once))[first]
    score = np.where(enough, np.maximum(rise, 0.0) / limit, 0.0)
    return _verdicts(view, heat, hosts, score, rise, ObjectKind.DEVICE, _least(hosts, margins))


def _margins(view: TickView, memory: Memory, heat: Column, watts: Floats, least: Floats) -> Floats:
    """Kelvin until each GPU slows down, float64[n], once it draws all that it may: work does so sooner or later, and
    what it gets warmer by then is on its line. Where no power limit is known, at the power that it draws now.

    As far as its readings lie apart at the same power (least), what is to come may be in the newest one already.
    """
    draws, limit = gpu_heat.draws_and_limit(view, memory, heat, watts)
    more = memory["line"][memory.rows(heat.sids), thermal.RESISTANCE] * np.nan_to_num(limit - draws)
    return np.asarray(gpu_heat.slowdown_celsius(view, heat) - heat.values - np.maximum(more - least, 0.0))


def _least(hosts: NDArray[np.int64], margins: Floats) -> Floats:
    """Of the GPUs of each host, in the order of their numbers."""
    present = np.unique(hosts)
    least = np.full(present.size, np.inf)
    np.minimum.at(least, np.searchsorted(present, hosts), margins)
    return least


def _verdicts(
    view: TickView,
    heat: Column,
    groups: NDArray[np.int64],
    score: Floats,
    rise: Floats,
    kind: ObjectKind,
    margins: Floats | None = None,
) -> Verdicts:
    """groups: int64[n], object of each GPU's rack or host; score, rise, margins: of each of these, in their order."""
    present, first = np.unique(groups, return_index=True)
    names = [view.index.objects.names[number].partition(":")[2] for number in present.tolist()]

    def key(row: int) -> str:
        return f"median({series_key(gpu_heat.CELSIUS, {str(kind): names[row]})})"

    def least(row: int) -> str:
        return f"least({series_key(gpu_heat.MARGIN, {str(kind): names[row]})})"

    def nearly_slowed(row: int) -> str:
        return f"at_power_limit({least(row)})"

    values = group_medians(groups, heat.values)[first]
    evidence = [computed_evidence(values, values - rise, "celsius", key)]
    if margins is not None:
        evidence.append(computed_evidence(margins, np.nan, "kelvin", least))
        # Once more where that is why people are paged: a finding with new evidence is published at once.
        near = np.where(margins <= gpu_heat.NEAR_KELVIN, margins, np.nan)
        evidence.append(computed_evidence(near, np.nan, "kelvin", nearly_slowed))
    newest_ns = np.zeros(present.size, np.int64)
    np.maximum.at(newest_ns, np.searchsorted(present, groups), heat.times_ns)
    every_s = group_medians(groups, view.cadence_of(heat.sids))[first]
    return Verdicts(present, newest_ns, score >= 1.0, score, tuple(evidence), 0.7, cadence_s=every_s)


def _own_rise(rise: NDArray[np.float64], counts: NDArray[np.float64], racks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Kelvin above normal; while levels settle, less the rise that all racks have in common."""
    settled = counts >= _SETTLED_VALUES
    if settled.all() or np.unique(racks).size < 2:
        return rise
    return np.where(settled, rise, rise - max(0.0, float(rise.min())))
