"""How warm a device is for the power that it draws: a line that each device learns from its own past.

Once settled, the temperature is that of the air plus power times a thermal resistance. Level and resistance are learned
together, so a load that changes explains the temperature that changes with it.

It is a ridge regression by device that forgets: what a device itself has shown of its resistance is shrunk to that of
all devices together (partial pooling; Gelman and Hill 2007, chapter 12), as one that has drawn the same power all along
has shown nothing of it. A line says less the further a power is from those that it was learned at, and from fewer
readings: ``prediction_kelvin`` is how far a healthy reading lies from it.

The line is a premise, and not true of every device as it is read: half of the warming of a recorded H100 shows at once
(docs/simulator/h100.md), so one that waits and works in turn jumps by 10 K, while the power of the interval is the mean
of both. Which of the two a reading meets may stay so for minutes. So each device's readings also show how far they lie
apart at steady power: its ``Spread``, in proportion to the power, as an idle one does not jump. And the power of that
moment says which of the two a reading met: ``at_once_kelvin``.
"""

import numpy as np
from numpy.typing import NDArray

CELSIUS, WATTS, RESISTANCE, SLOW_WATTS, SEEN_S, COUNT, SQUARES, PRODUCTS = range(8)
WIDTH = 8
# An air-cooled H100 is 30 to 35 K above the air at 600 W; others, and liquid, differ by less than a factor of two.
_RESISTANCE = 0.055  # kelvin per watt, until that of the fleet is learned
_RESISTANCE_MIN, _RESISTANCE_MAX = 0.01, 0.15
_RESISTANCE_SIGMA = 0.01  # between devices of one fleet: a fifth, for their place, sink and paste (assumption)
# Power that differs by less says nothing of the resistance: temperature and mean power follow the same phase of the
# work, 12 K with 33 W on recorded GPUs in training, all of a job alike (measured with recorded-h100, data-parallel).
_PHASE_WATTS = 100.0
_EARLIER_READINGS = 180.0  # weight of what earlier versions have learned: half an hour at usual settings
_AT_ONCE = 0.5  # of the resistance: of a recorded H100 0.024 to 0.028 K/W within 0.15 s (docs/simulator/h100.md)
_NOISE_KELVIN = 1.0  # temperatures are read as whole degrees
_SLOW_S = 60.0  # two or three time constants of a heat sink: by then the temperature has followed
_SETTLED_KELVIN = 2.0  # while power still changes the temperature by more, a pair of both is not on the line
ABOVE, FALLEN, POWERS = range(3)
SPREAD_WIDTH = 3
# Of devices of which nothing is known, and of no more weight than one reading of all of them: half of what one host
# alone needs (assumption), at the power of training.
_SPREAD_KELVIN, _SPREAD_WATTS = 4.0, 550.0
_FLEET_READINGS = 5.0  # of a device's own weigh as much as all that the others have shown (assumption)

Floats = NDArray[np.float64]


def explaining(model: Floats, watts: Floats) -> Floats:
    """The power that explains each temperature, float64[n]: while that still follows, the larger of new and past."""
    return np.maximum(watts, model[:, SLOW_WATTS])


def kelvin_above(model: Floats, celsius: Floats, watts: Floats) -> Floats:
    """Degrees above what the power explains, float64[n]; 0 while nothing is learned.

    model: float64[n, 8], zeros for a new device. celsius, watts: float64[n], newest values; power is the mean of the
    interval.
    """
    above = celsius - model[:, CELSIUS] - model[:, RESISTANCE] * (explaining(model, watts) - model[:, WATTS])
    return np.where(learned(model), above, 0.0)


def at_once_kelvin(model: Floats, moment: Floats, learned_moment: Floats) -> Floats:
    """How much warmer a reading may be than the power of its interval explains, as that of its moment was larger,
    float64[n]; of devices that take longer to get warm it is none of it.

    moment: watts, float64[n], power of the moment less that of the interval. learned_moment: what it was in the mean
    of the readings that the line was learned from.
    """
    return np.asarray(_AT_ONCE * model[:, RESISTANCE] * np.maximum(moment - learned_moment, 0.0))


def prediction_kelvin(model: Floats, noise: Floats, watts: Floats) -> Floats:
    """Standard deviation of a healthy reading from the line, float64[n], at the power that explains it.

    noise: float64[n], that of readings at the power that the line was learned at: ``spread_kelvin``.
    """
    more = explaining(model, watts) - model[:, WATTS]
    usual = _usual_squares(model, noise)
    of_level = noise**2 * (1.0 + 1.0 / np.maximum(model[:, COUNT], 1.0))
    of_resistance = (_RESISTANCE_SIGMA * more) ** 2 * usual / (model[:, SQUARES] + usual)
    return np.where(learned(model), np.sqrt(of_level + of_resistance), noise)


def learned(model: Floats) -> NDArray[np.bool_]:
    """bool[n], which devices have a line."""
    return np.asarray(model[:, COUNT] > 0.0)


def settled(model: Floats, watts: Floats) -> NDArray[np.bool_]:
    """bool[n], whether the temperature has followed the power, so that it may be held against the line."""
    resistance = np.where(learned(model), model[:, RESISTANCE], _RESISTANCE)
    return np.asarray(np.abs(watts - model[:, SLOW_WATTS]) * resistance <= _SETTLED_KELVIN)


def spread_kelvin(spread: Floats, watts: Floats, spreads: Floats) -> Floats:
    """How far the readings of each device lie from its line at steady power, float64[n].

    spread: float64[n, 3], zeros for a new device. watts: float64[n], at which power. spreads: float64[m, 3], of all
    devices. The fourth root of a mean fourth power, as rare large ones count.
    """
    one = _SPREAD_WATTS**4
    fleet = (spreads[:, FALLEN].sum() + _SPREAD_KELVIN**4) / (spreads[:, POWERS].sum() + one)
    own = (spread[:, FALLEN] + _FLEET_READINGS * one * fleet) / (spread[:, POWERS] + _FLEET_READINGS * one)
    return np.asarray(np.maximum(watts * own**0.25, _NOISE_KELVIN))


def learn_spread(spread: Floats, above: Floats, watts: Floats, counts: NDArray[np.bool_], forget: float) -> None:
    """Learns from one reading of each device how far it has fallen since the one before, where both count.

    Cooling that fails lifts a device; a temperature that jumps falls as often as it rises.

    above: float64[n], kelvin above the line. counts: bool[n], which devices have a line and have settled.
    forget: share of what is known, with each reading.
    """
    learns = counts & ~np.isnan(spread[:, ABOVE])
    fallen = np.maximum(spread[:, ABOVE] - above, 0.0)
    for column, new in ((FALLEN, fallen**4), (POWERS, watts**4)):
        spread[learns, column] += new[learns] - forget * spread[learns, column]
    spread[:, ABOVE] = np.where(counts, above, np.nan)


def learn(model: Floats, celsius: Floats, watts: Floats, at_s: Floats, weight: Floats, forget: float) -> None:
    """Learns the pairs of a new interval, of devices that have settled; their resistance is that of ``pool`` after it.

    at_s: float64[n], event time. weight: float64[n], of the pair, 1 for a usual one. forget: share of what is known,
    with each usual pair. A new device has settled once its power is known for as long as it influences the temperature.
    """
    weight = np.where(settled(model, watts), np.where(learned(model), weight, 1.0), 0.0)
    kept = 1.0 - forget * weight
    count = kept * model[:, COUNT] + weight
    step = np.divide(weight, count, out=np.zeros_like(count), where=count > 0.0)
    more, warmer = watts - model[:, WATTS], celsius - model[:, CELSIUS]
    apart = weight * (1.0 - step) * more
    model[:, SQUARES] = kept * model[:, SQUARES] + apart * more
    model[:, PRODUCTS] = kept * model[:, PRODUCTS] + apart * warmer
    model[:, COUNT] = count
    model[:, CELSIUS] += step * warmer
    model[:, WATTS] += step * more
    slow = 1.0 - np.exp(-np.clip(at_s - model[:, SEEN_S], 0.0, _SLOW_S) / _SLOW_S)
    model[:, SLOW_WATTS] += np.where(model[:, SEEN_S] > 0.0, slow, 0.0) * (watts - model[:, SLOW_WATTS])
    model[:, SEEN_S] = at_s


def learned_part(before: Floats, after: Floats, weight: Floats) -> Floats:
    """How much of what it knows each device has learned from its newest pair, float64[n], 0 where it did not count.

    before, after: float64[n, 8], the model before and after ``learn`` with these weights.
    """
    counted = after[:, COUNT] != before[:, COUNT]
    return np.asarray(np.where(counted, np.minimum(weight / np.maximum(after[:, COUNT], 1e-9), 1.0), 0.0))


def pool(model: Floats, noise: Floats, fleet: Floats) -> None:
    """Sets the resistance of each device to its own, shrunk to that of all together, each about its own mean.

    noise: float64[n], see ``prediction_kelvin``. fleet: float64[m, 8], the models of all devices.
    """
    known = _PHASE_WATTS**2 * (fleet[:, COUNT].sum() + 1.0)
    of_fleet = (fleet[:, PRODUCTS].sum() + known * _RESISTANCE) / (fleet[:, SQUARES].sum() + known)
    usual = _usual_squares(model, noise)
    own = (model[:, PRODUCTS] + usual * of_fleet) / (model[:, SQUARES] + usual)
    model[:, RESISTANCE] = np.where(learned(model), np.clip(own, _RESISTANCE_MIN, _RESISTANCE_MAX), 0.0)


def _usual_squares(model: Floats, noise: Floats) -> Floats:
    """Watts squared that the resistance of the fleet weighs beside a device's own: as much as says it to within
    ``_RESISTANCE_SIGMA``, and what each reading may owe to the moment at which it was taken."""
    return np.asarray((noise / _RESISTANCE_SIGMA) ** 2 + _PHASE_WATTS**2 * model[:, COUNT])


def line_of_means(line: Floats) -> Floats:
    """float64[n, 8] of the lines of earlier versions, float64[n, 5], which had no sums: the resistance counts half
    beside that of the fleet."""
    known, squares = line[:, RESISTANCE] > 0.0, _EARLIER_READINGS * _PHASE_WATTS**2
    sums = np.where(known, [[_EARLIER_READINGS], [squares], [squares]], 0.0).T
    sums[:, 2] *= line[:, RESISTANCE]
    return np.concatenate([line, sums], axis=1)


def spread_of_means(spread: Floats, line: Floats) -> Floats:
    """float64[n, 3] of the spreads of earlier versions: what was before, the mean fourth power, and how many."""
    readings = np.minimum(spread[:, 2], _EARLIER_READINGS)
    return np.stack([spread[:, ABOVE], readings * spread[:, 1], readings * line[:, WATTS] ** 4], axis=1)
