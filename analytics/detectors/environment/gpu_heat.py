"""How warm each GPU is for the power that it draws, as several detectors of heat need it, each with its own memory."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analytics.models import thermal
from analytics.models.group_medians import group_medians
from analytics.snapshot.stateful import State
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.limits import GPU_SLOWDOWN_CELSIUS

CELSIUS, MARGIN = "gpu_temperature_celsius", "gpu_temperature_margin_celsius"
_POWERS, _POWER_LIMIT = ("gpu_energy_joules_total", "gpu_power_watts"), "gpu_power_limit_watts"
METRICS = (CELSIUS, *_POWERS, MARGIN, _POWER_LIMIT)
MEMORY = (
    MemoryColumn("line", thermal.WIDTH, settings=("interval_s",)),
    MemoryColumn("spread", thermal.SPREAD_WIDTH, settings=("interval_s",)),
    MemoryColumn("moment", settings=("interval_s",)),
)
# From so far above its normal it is learned slowly, so that a fault does not become the normal while it lasts; further
# where readings of health lie further apart, or the line would be that of the lower ones.
_LEARNED_KELVIN = 2.0
_SLOWER_TIMES = 8.0
# Where readings at steady power lie further apart than that, more is needed. Of two temperatures that take turns, J
# kelvin apart, one is at most J above the line. The fourth root is J * q^(1/4), q being how often the lower one follows
# the higher one: this covers one in sixteen readings.
_SPREADS = 2.0
# Kelvin below the slowdown: what an H100 has between its highest operating temperature and that, by T.Limit 0 and -2
# (docs/simulator/h100.md).
NEAR_KELVIN = 2.0
Floats = NDArray[np.float64]


def sums_of_means(state: State) -> State:
    """Lines and spreads of earlier versions had means where there are sums now."""
    line, spread = state.arrays["line"], state.arrays["spread"]
    sums = {"line": thermal.line_of_means(line), "spread": thermal.spread_of_means(spread, line)}
    return State(state.head, {**state.arrays, **sums})


def without_moments(state: State) -> State:
    """Lines of earlier versions were learned at any moment: that of the mean power."""
    return State(state.head, {**state.arrays, "moment": np.zeros(state.arrays["sid"].size)})


def readings(view: TickView) -> tuple[Column, Floats]:
    """Temperatures of the n GPUs whose power is known too, and that power, watts, float64[n]: the mean of the last
    interval, the momentary one where a GPU counts no energy."""
    heat = view.column(CELSIUS)
    watts = np.full(len(heat), np.nan)
    for metric in _POWERS:
        power = view.column(metric)
        watts = np.where(np.isnan(watts), power.only(power.fresh).about(heat.objects), watts)
    rows = heat.fresh & ~np.isnan(watts)
    return heat.only(rows), watts[rows]


def kelvin_above(
    view: TickView, memory: Memory, heat: Column, watts: Floats, groups: Sequence[NDArray[np.int64]]
) -> Floats:
    """Kelvin above normal of each GPU; learns from what is new, and slowly while any of its groups is warm.

    groups: int64[n] each, such as its rack and its host; without any the GPU by itself.
    """
    rows, at_s = memory.rows(heat.sids), heat.times_ns / 1e9
    line, forget = memory["line"][rows], view.config.baseline.alpha
    new = at_s > line[:, thermal.SEEN_S]
    above = thermal.kelvin_above(line, heat.values, watts)
    noise = _noise(memory, heat, line[:, thermal.WATTS])
    compared = [(group_medians(group, above), group_medians(group, noise)) for group in groups] or [(above, noise)]
    usual = [rise <= np.fmax(spread, _LEARNED_KELVIN) for rise, spread in compared]
    weight = np.where(np.logical_and.reduce(usual), 1.0, 1.0 / _SLOWER_TIMES)
    counts = thermal.learned(line) & thermal.settled(line, watts)
    later = line[new]
    thermal.learn(later, heat.values[new], watts[new], at_s[new], weight[new], forget)
    thermal.pool(later, noise[new], memory["line"])
    memory["line"][rows[new]] = later
    more = (_moment(view, heat, watts) - memory["moment"][rows])[new]
    memory["moment"][rows[new]] += thermal.learned_part(line[new], later, weight[new]) * more
    spread = memory["spread"][rows[new]]
    thermal.learn_spread(spread, above[new], watts[new], counts[new], forget)
    memory["spread"][rows[new]] = spread
    return above


def _moment(view: TickView, heat: Column, watts: Floats) -> Floats:
    """Power of the moment at which each GPU was read less the mean one, watts, float64[n]; 0 where it is not known."""
    now = view.column(_POWERS[-1])
    return np.nan_to_num(now.only(now.fresh).about(heat.objects) - watts)


def _noise(memory: Memory, heat: Column, watts: Floats) -> Floats:
    return thermal.spread_kelvin(memory["spread"][memory.rows(heat.sids)], watts, memory["spread"])


def least_kelvin(memory: Memory, heat: Column, watts: Floats) -> Floats:
    """How much the readings of each GPU demand at least of a rise, float64[n]."""
    line = memory["line"][memory.rows(heat.sids)]
    noise = _noise(memory, heat, thermal.explaining(line, watts))
    return _SPREADS * thermal.prediction_kelvin(line, noise, watts)


def at_once_kelvin(view: TickView, memory: Memory, heat: Column, watts: Floats) -> Floats:
    """How much of a rise of each GPU the power of the moment may explain, float64[n]. Beside a limit that knows nothing
    of how far readings lie apart: all of a job may meet one phase of its steps until they all meet another."""
    rows = memory.rows(heat.sids)
    return thermal.at_once_kelvin(memory["line"][rows], _moment(view, heat, watts), memory["moment"][rows])


def slowdown_celsius(view: TickView, heat: Column) -> Floats:
    """At which temperature each GPU slows down, float64[n]."""
    margin = view.column(MARGIN)
    left = margin.only(margin.fresh).about(heat.objects)
    return np.where(np.isnan(left), GPU_SLOWDOWN_CELSIUS, heat.values + left)


def draws_and_limit(view: TickView, memory: Memory, heat: Column, watts: Floats) -> tuple[Floats, Floats]:
    """The power that explains the temperature of each GPU, and what it may draw, NaN where it is not known: float64[n].

    The larger of the mean and past power, and that of this moment: part of the warming shows at once.
    """
    line = memory["line"][memory.rows(heat.sids)]
    now, limit = (view.column(metric) for metric in (_POWERS[-1], _POWER_LIMIT))
    momentary = now.only(now.fresh).about(heat.objects)
    draws = np.fmax(np.maximum(watts, line[:, thermal.SLOW_WATTS]), momentary)
    return draws, limit.only(limit.fresh).about(heat.objects)
