"""Cooling of a rack or of a host: together its GPUs get warmer than the power that they draw explains."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

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
# From so far above its normal a rack is learned slowly, so that a fault does not become the normal while it lasts.
_LEARNED_KELVIN = 2.0
_SLOWER_TIMES = 8.0
_GPUS_MIN, _HOSTS_MIN = 8, 2  # fewer may be one host
# One host alone is warm when half of what an H100 at 70 C has left is gone, on most of its GPUs: its fans follow its
# load and its firmware, which moves a host by a few kelvin, and not all of its GPUs alike.
_HOST_KELVIN_MAX, _HOST_GPUS_MIN, _HOST_GPUS_SHARE = 8.0, 4, 0.75
# Where readings at steady power lie further apart than that, more is needed. Of two temperatures that take turns, J
# kelvin apart, one is at most J above the line. The fourth root is J * q^(1/4), q being how often the lower one follows
# the higher one: this covers one in sixteen readings.
_SPREADS = 2.0
_SLOWDOWN_CELSIUS = 87.0  # of an H100, where a GPU does not report how far it is from that
_ROOM_QUANTILE = 0.25  # what more than three quarters of all hosts have in common is the room
# Normals that were learned while the room warmed up are too low for half an hour, in every rack.
_SETTLED_VALUES = 180
Floats = NDArray[np.float64]
_METRICS = ("gpu_temperature_celsius", "gpu_energy_joules_total", "gpu_power_watts")
_MARGIN, _POWER_LIMIT = "gpu_temperature_margin_celsius", "gpu_power_limit_watts"


@dataclass(frozen=True, kw_only=True)
class RackHot(Detector):
    """Judges the median of the rack's or host's GPUs, each against its own normal temperature at that power."""

    name: str = "rack_hot"
    kind: FindingKind = FindingKind.OVERHEATED
    metrics: tuple[str, ...] = (*_METRICS, _MARGIN, _POWER_LIMIT)
    scope: Scope = Scope.CLUSTER
    persist: int = 3
    fire_immediately_score: float = 2.0
    clear_intervals: float = 6.0
    memory: tuple[MemoryColumn, ...] = (
        MemoryColumn("line", thermal.WIDTH, settings=("interval_s",)),
        MemoryColumn("spread", thermal.SPREAD_WIDTH, settings=("interval_s",)),
    )
    memory_format: int = 2
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: {1: _from_format_1}, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        heat = view.column(_METRICS[0])
        watts = _watts(view, heat)
        rows = heat.fresh & ~np.isnan(watts)
        heat, watts = heat.only(rows), watts[rows]
        hosts = view.index.device_objects[heat.targets]
        racks = view.topology_index.rack[heat.objects]
        above = _above(view, memory, heat, watts, np.where(racks >= 0, racks, hosts), hosts)
        least = _SPREADS * thermal.spread_kelvin(memory["spread"][memory.rows(heat.sids)])
        placed = racks >= 0
        return [
            _racks(view, heat.only(placed), racks[placed], above[placed], least[placed]),
            _hosts(
                view, heat, hosts, above, least, _margins(view, heat, watts, memory["line"][memory.rows(heat.sids)])
            ),
        ]


def _from_format_1(state: State) -> State:
    """Format 1 knew nothing of spreads: they begin empty."""
    spread = np.zeros((state.arrays["sid"].size, thermal.SPREAD_WIDTH))
    return State(state.head, {**state.arrays, "spread": spread})


def _racks(view: TickView, heat: Column, racks: NDArray[np.int64], above: Floats, least: Floats) -> Verdicts:
    """least: kelvin, float64[n], what the readings of each GPU demand at least of a rise."""
    counts = view.series["baseline"][heat.sids, baseline.COUNT]
    present, first, size = np.unique(racks, return_index=True, return_counts=True)
    hosts = np.unique(np.stack([racks, heat.targets]), axis=1)[0]
    enough = (size >= _GPUS_MIN) & (np.unique(hosts, return_counts=True)[1] >= _HOSTS_MIN)
    rise = _own_rise(group_medians(racks, above), counts, racks)[first]
    warm = group_medians(heat.targets.astype(np.int64), above) >= _KELVIN_MAX / 2
    enough &= 2 * np.bincount(np.searchsorted(present, racks), warm, present.size) > size
    limit = np.maximum(group_medians(racks, least)[first], _KELVIN_MAX)
    score = np.where(enough, np.maximum(rise, 0.0) / limit, 0.0)
    return _verdicts(view, heat, racks, score, rise, ObjectKind.RACK)


def _hosts(
    view: TickView, heat: Column, hosts: NDArray[np.int64], above: Floats, least: Floats, margins: Floats
) -> Verdicts:
    """Each host by the median of its GPUs, less what nearly all hosts have in common. Correlation decides by the margin
    that is left whether anybody is paged. margins: of each GPU."""
    present, first, size = np.unique(hosts, return_index=True, return_counts=True)
    rise = group_medians(hosts, above)[first]
    room = np.quantile(rise, _ROOM_QUANTILE, method="lower") if present.size > 1 else 0.0
    rise = rise - max(0.0, float(room))
    warm = np.bincount(np.searchsorted(present, hosts), above >= _HOST_KELVIN_MAX / 2, present.size)
    enough = (size >= _HOST_GPUS_MIN) & (warm >= _HOST_GPUS_SHARE * size)
    limit = np.maximum(group_medians(hosts, least)[first], _HOST_KELVIN_MAX)
    score = np.where(enough, np.maximum(rise, 0.0) / limit, 0.0)
    return _verdicts(view, heat, hosts, score, rise, ObjectKind.DEVICE, _least(hosts, margins))


def _margins(view: TickView, heat: Column, watts: Floats, lines: Floats) -> Floats:
    """Kelvin until each GPU slows down, float64[n], once it draws all that it may: work does so sooner or later, and
    what it gets warmer by then is on its line. Where no power limit is known, at the power that it draws now."""
    reported, limit = view.column(_MARGIN), view.column(_POWER_LIMIT)
    margins = reported.only(reported.fresh).about(heat.objects)
    margins = np.where(np.isnan(margins), _SLOWDOWN_CELSIUS - heat.values, margins)
    more = limit.only(limit.fresh).about(heat.objects) - np.maximum(watts, lines[:, thermal.SLOW_WATTS])
    return np.asarray(margins - lines[:, thermal.RESISTANCE] * np.maximum(np.nan_to_num(more), 0.0))


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
        return f"median({series_key(_METRICS[0], {str(kind): names[row]})})"

    def least(row: int) -> str:
        return f"least({series_key(_MARGIN, {str(kind): names[row]})})"

    values = group_medians(groups, heat.values)[first]
    evidence = [computed_evidence(values, values - rise, "celsius", key)]
    if margins is not None:
        evidence.append(computed_evidence(margins, np.nan, "kelvin", least))
    newest_ns = np.zeros(present.size, np.int64)
    np.maximum.at(newest_ns, np.searchsorted(present, groups), heat.times_ns)
    return Verdicts(present, newest_ns, score >= 1.0, score, tuple(evidence), 0.7)


def _watts(view: TickView, heat: Column) -> NDArray[np.float64]:
    """Mean power of each GPU in the last interval; the momentary one where it counts no energy; NaN if unknown."""
    watts = np.full(len(heat), np.nan)
    for metric in _METRICS[1:]:
        power = view.column(metric)
        watts = np.where(np.isnan(watts), power.only(power.fresh).about(heat.objects), watts)
    return watts


def _above(
    view: TickView, memory: Memory, heat: Column, watts: Floats, racks: NDArray[np.int64], hosts: NDArray[np.int64]
) -> Floats:
    """Kelvin above normal of each GPU; learns from what is new. racks: or the host, where no rack is known."""
    rows, at_s = memory.rows(heat.sids), heat.times_ns / 1e9
    line = memory["line"][rows]
    new = at_s > line[:, thermal.SEEN_S]
    above = thermal.kelvin_above(line, heat.values, watts)
    warm = np.fmax(group_medians(racks, above), group_medians(hosts, above)) > _LEARNED_KELVIN
    slower = np.where(warm, 1.0 / _SLOWER_TIMES, 1.0)
    weight = view.config.baseline.alpha * slower
    later = line[new]
    thermal.learn(later, heat.values[new], watts[new], at_s[new], weight[new])
    memory["line"][rows[new]] = later
    _learn_spread(view, memory, rows[new], above[new], watts[new])
    return above


def _learn_spread(view: TickView, memory: Memory, rows: NDArray[np.int64], above: Floats, watts: Floats) -> None:
    line, spread = memory["line"][rows], memory["spread"][rows]
    counts = thermal.learned(line) & thermal.settled(line, watts)
    thermal.learn_spread(spread, above, counts, view.config.baseline.alpha)
    memory["spread"][rows] = spread


def _own_rise(rise: NDArray[np.float64], counts: NDArray[np.float64], racks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Kelvin above normal; while levels settle, less the rise that all racks have in common."""
    settled = counts >= _SETTLED_VALUES
    if settled.all() or np.unique(racks).size < 2:
        return rise
    return np.where(settled, rise, rise - max(0.0, float(rise.min())))
