"""How warm a device is for the power that it draws: a line that each device learns from its own past.

Once settled, the temperature is that of the air plus power times a thermal resistance. Level and resistance are learned
together, so a load that changes explains the temperature that changes with it.

That is a premise, and not true of every device as it is read: half of the warming of a recorded H100 shows at once
(docs/simulator/h100.md), so one that waits and works in turn jumps by 10 K, while the power of the interval is the mean
of both. Which of the two a reading meets may stay so for minutes. So each device's readings also show how far they lie
apart at steady power: its ``Spread``.
"""

import numpy as np
from numpy.typing import NDArray

CELSIUS, WATTS, RESISTANCE, SLOW_WATTS, SEEN_S = range(5)
WIDTH = 5
# An air-cooled H100 is 30 to 35 K above the air at 600 W; others, and liquid, differ by less than a factor of two.
_RESISTANCE = 0.055  # kelvin per watt, until the device's own is learned
_RESISTANCE_MIN, _RESISTANCE_MAX = 0.01, 0.15
_LEARN, _LEARN_WATTS = 0.05, 100.0  # weight of a value for the resistance, once power is that far from its mean
_SLOW_S = 60.0  # two or three time constants of a heat sink: by then the temperature has followed
_SETTLED_KELVIN = 1.0  # while power still changes the temperature by more, a pair of both is not on the line
ABOVE, FOURTH, COUNT = range(3)
SPREAD_WIDTH = 3
# Of a device of which nothing is known, and of no more weight than one reading: half of what one host alone needs
# (assumption).
_SPREAD_KELVIN = 4.0

Floats = NDArray[np.float64]


def kelvin_above(model: Floats, celsius: Floats, watts: Floats) -> Floats:
    """Degrees above what the power explains, float64[n]; 0 while nothing is learned.

    model: float64[n, 5], zeros for a new device. celsius, watts: float64[n], newest values; power is the mean of the
    interval.
    While the temperature still follows the power, the larger of new and past power explains it.
    """
    explaining = np.maximum(watts, model[:, SLOW_WATTS])
    above = celsius - model[:, CELSIUS] - model[:, RESISTANCE] * (explaining - model[:, WATTS])
    return np.where(learned(model), above, 0.0)


def learned(model: Floats) -> NDArray[np.bool_]:
    """bool[n], which devices have a line."""
    return np.asarray(model[:, RESISTANCE] > 0.0)


def settled(model: Floats, watts: Floats) -> NDArray[np.bool_]:
    """bool[n], whether the temperature has followed the power, so that it may be held against the line."""
    resistance = np.where(learned(model), model[:, RESISTANCE], _RESISTANCE)
    return np.asarray(np.abs(watts - model[:, SLOW_WATTS]) * resistance <= _SETTLED_KELVIN)


def spread_kelvin(spread: Floats) -> Floats:
    """How far the readings of each device lie from its line at steady power, float64[n].

    spread: float64[n, 3], zeros for a new device. The fourth root of a mean fourth power, as rare large ones count.
    """
    return np.where(spread[:, COUNT] > 0.0, spread[:, FOURTH] ** 0.25, _SPREAD_KELVIN)


def learn_spread(spread: Floats, above: Floats, counts: NDArray[np.bool_], weight: float) -> None:
    """Learns from one reading of each device how far it has fallen since the one before, where both count.

    Cooling that fails lifts a device; a temperature that jumps falls as often as it rises.

    above: float64[n], kelvin above the line. counts: bool[n], which devices have a line and have settled.
    weight: of a reading among many.
    """
    before = np.where(spread[:, COUNT] > 0.0, spread[:, FOURTH], _SPREAD_KELVIN**4)
    fallen = np.maximum(spread[:, ABOVE] - above, 0.0) ** 4
    learns = counts & ~np.isnan(fallen)
    spread[learns, COUNT] += 1.0
    share = np.maximum(weight, 1.0 / (spread[:, COUNT] + 1.0))
    spread[:, FOURTH] = np.where(learns, before + share * (fallen - before), spread[:, FOURTH])
    spread[:, ABOVE] = np.where(counts, above, np.nan)


def learn(model: Floats, celsius: Floats, watts: Floats, at_s: Floats, weight: Floats) -> None:
    """Learns the pairs of a new interval, of devices that have settled.

    at_s: float64[n], event time. weight: float64[n], of the pair for the level. A new device has settled once its power
    is known for as long as it influences the temperature.
    The resistance is learned by normalised least mean squares (Widrow and Hoff 1960; Nagumo and Noda 1967).
    """
    known = learned(model)
    resistance = np.where(known, model[:, RESISTANCE], _RESISTANCE)
    follows = settled(model, watts)
    more, warmer = watts - model[:, WATTS], celsius - model[:, CELSIUS]
    better = resistance + _LEARN * more / (_LEARN_WATTS**2 + more**2) * (warmer - resistance * more)
    model[:, RESISTANCE] = np.where(
        known & follows, np.clip(better, _RESISTANCE_MIN, _RESISTANCE_MAX), model[:, RESISTANCE]
    )
    model[follows & ~known, RESISTANCE] = _RESISTANCE
    step = follows * np.where(known, weight, 1.0)
    model[:, CELSIUS] += step * warmer
    model[:, WATTS] += step * more
    slow = 1.0 - np.exp(-np.clip(at_s - model[:, SEEN_S], 0.0, _SLOW_S) / _SLOW_S)
    model[:, SLOW_WATTS] += np.where(model[:, SEEN_S] > 0.0, slow, 0.0) * (watts - model[:, SLOW_WATTS])
    model[:, SEEN_S] = at_s
