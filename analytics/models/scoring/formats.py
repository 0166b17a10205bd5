"""The state of live scores as earlier versions have written it, converted to today's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring import season as seasons
from analytics.models.scoring.layout import (
    CORE,
    DAY_BINS,
    EXCESS,
    EXPERTS,
    PHASE_UP,
    RUNGS,
    SCALE_BINS,
    SEARCHING,
    SLOTS,
    STRETCH,
    TAILS,
    TRIAL_QUANTA,
    TRIAL_UNKNOWN,
    UNKNOWN,
    USED,
    WEEK,
    WEEK_BINS,
)
from analytics.snapshot.stateful import State

_SINCE_5 = ("frequency", "frequency_peak", "frequency_max")
_STRETCH_5 = 1024.0

_LEVEL_5 = [("level", "f8"), ("scale", "f4"), ("count", "f8"), ("outliers", "f4"), ("outlier_level", "f8")]
_LEVEL_5 += [("fast", "f8"), ("fast_scale", "f4")]
_PHASE_5 = [("values_per_slot", "f4"), ("slot_s", "f4"), ("anchor", "f8"), ("quantum", "f4"), ("newest", "f8")]
_PHASE_5 += [("oldest", "f8"), ("lag", "f4"), ("proved", "u1")]
_PHASE_5 += [(name, "f4") for name in ("error", "wrong_error", "judged", "lags_tried", "difference_sum")]
_PHASE_5 += [(name, "f4") for name in ("best_share", "best_lag", "run", "run_distance")]
CORE_5: np.dtype[Any] = np.dtype(
    [
        ("values", _LEVEL_5),
        ("residuals", [(name, "f4") for name, _ in _LEVEL_5]),
        *(("time_s", "f8"), ("interval_s", "f4"), ("drift", "f4"), ("last", "f8")),
        *((name, "f4") for name in ("run", "run_mean", "run_max")),
        *(("anchor", "f8"), ("season_from_s", "f8"), ("bin_s", "f4"), ("season_proved", "u1")),
        *((name, "f4") for name in ("day_error", "week_error", "gross_scale", "drift_slow", "runs", "streak")),
        *(("prior_level", "f8"), ("prior_at", "f4"), ("prior_hits", "u1"), ("reported", "f4"), ("quantum", "f4")),
        ("phase", _PHASE_5),
        *((name, "f4") for name in ("step_scale", "rest", "departures", "height", *_SINCE_5)),
    ]
)
_EXPERTS_5 = ("threshold", "excess", "square", "excesses", "newest")
TAILS_5 = np.dtype(
    [*((name, "f4", EXPERTS) for name in _EXPERTS_5), ("top", "u1", EXPERTS), ("ladder", "u2", (RUNGS, EXPERTS))]
)
SEASON_5 = np.dtype(
    [("day", "i2", DAY_BINS), ("week", "i2", WEEK_BINS), ("scale", "i2", SCALE_BINS), ("slots", "i2", SLOTS)]
)


def _wide(layout: np.dtype[Any]) -> np.dtype[Any]:
    """A record of numbers with all of them in double precision, as until format 4."""
    names = [name for name in layout.names or () if name not in _SINCE_5]
    return np.dtype([(name, _wide(layout[name]) if layout[name].names else np.dtype("f8")) for name in names])


CORE_4 = _wide(CORE_5)
TAILS_4 = np.dtype([(name, "f4", (RUNGS, EXPERTS) if name == "ladder" else EXPERTS) for name in TAILS_5.names or ()])


def from_format_1(state: State) -> State:
    """Of the block of scores: format 1 had a flag for the level before an event where 2 counts what was reported."""
    core = np.array(state.arrays["records/core"], np.float64, order="C")
    prior_at, reported = _place_until_3("prior_at"), _place_until_3("reported")
    core[core[:, reported] == 0.0, prior_at] *= -1.0
    core[:, reported] = 0.0
    return State(state.head, {**state.arrays, "records/core": core})


def from_format_2(state: State) -> State:
    """Format 2 had two experts of the spread where 3 has one, and knew no departures from rest."""
    arrays = state.arrays
    old = arrays["records/core"]
    core = np.zeros((len(old), CORE_4.itemsize // 8 + 1))
    core[:, : old.shape[1]] = old
    converted: dict[str, NDArray[Any]] = {
        "records/core": core,
        "records/tails": _without_expert(arrays["records/tails"], EXPERTS + 2, axis=2),
        "records/pools": _without_expert(arrays["records/pools"], EXPERTS + 2, axis=1),
    }
    return State(state.head, {**arrays, **converted})


def from_format_3(state: State) -> State:
    """Format 3 had an expert of fluctuations, and their variance before the last value."""
    arrays = state.arrays
    core = np.ascontiguousarray(np.delete(arrays["records/core"], _place("last"), axis=1))
    converted: dict[str, NDArray[Any]] = {
        "records/core": core,
        "records/tails": _without_expert(arrays["records/tails"], EXPERTS + 1, axis=2),
        "records/pools": _without_expert(arrays["records/pools"], EXPERTS + 1, axis=1),
    }
    return State(state.head, {**arrays, **converted})


def from_format_4(state: State) -> State:
    """Format 4 had all numbers of a series in double precision, and heights in single, and did not know how often
    departures come.
    """
    arrays = state.arrays
    old, tails = _rows(arrays["records/core"], CORE_4), _rows(arrays["records/tails"], TAILS_4)
    core, heights = np.zeros(len(old), CORE_5), np.zeros(len(old), TAILS_5)
    _copy(old, core)
    _copy(tails, heights)
    heights["ladder"] = np.rint(_STRETCH_5 * tails["ladder"])
    return State(state.head, {**arrays, "records/core": _bytes(core), "records/tails": _bytes(heights)})


def from_format_5(state: State) -> State:
    """Format 5 had two bytes for each bin of every season, and of the week of one that is not proved too."""
    arrays = state.arrays
    old, tails = _rows(arrays["records/core"], CORE_5), _rows(arrays["records/tails"], TAILS_5)
    bins = _rows(arrays["records/season"], SEASON_5)
    core, heights, season = np.zeros(len(old), CORE), np.zeros(len(old), TAILS), np.zeros(len(old), SEARCHING)
    _copy_counts(old, core)
    _copy(tails, heights)
    heights["excesses"] = np.rint(EXCESS * tails["excesses"])
    heights["ladder"] = np.minimum(np.rint(STRETCH / _STRETCH_5 * tails["ladder"]), 255)
    proved = old["season_proved"] != 0
    for rows, convert in ((proved, _used), (~proved, _on_trial)):
        of_rows = core[rows]
        season[rows] = convert(old[rows], bins[rows], of_rows)
        core[rows] = of_rows
    converted = {"records/core": _bytes(core), "records/tails": _bytes(heights), "records/season": _bytes(season)}
    return State(state.head, {**arrays, **converted})


def _copy_counts(old: NDArray[Any], core: NDArray[Any]) -> None:
    """All numbers of format 5 that are still there, as far as they are counted today."""
    for name in old.dtype.names or ():
        if name not in (core.dtype.names or ()):
            continue
        kind = core.dtype[name]
        if kind.names:
            _copy_counts(old[name], core[name])
        else:
            core[name] = np.clip(old[name], np.iinfo(kind).min, np.iinfo(kind).max) if kind.kind in "iu" else old[name]
    if "bin_s" in (old.dtype.names or ()):
        core["bin_minutes"] = old["bin_s"] / 60.0
    if "oldest" in (old.dtype.names or ()):
        core["earlier"] = np.clip(old["newest"] - old["oldest"], 0, SLOTS - 1)


def _used(old: NDArray[Any], bins: NDArray[Any], core: NDArray[Any]) -> NDArray[Any]:
    """Seasons that are used: the day as it is, the week in quanta of its own."""
    season = np.zeros(len(old), USED)
    quanta = np.maximum(np.abs(bins["week"].astype(np.float64)).max(axis=1, initial=0.0) / seasons.BYTE_MAX, 1.0)
    season["scale"], season["day"] = bins["scale"], bins["day"]
    season["week"] = np.rint(bins["week"] / quanta[:, None])
    week = core.view(WEEK)
    week["quantum"], week["from_days"] = quanta * old["quantum"], 1.0
    week["day_error"], week["week_error"] = old["day_error"], old["week_error"]
    return season.view(SEARCHING)


def _on_trial(_: NDArray[Any], bins: NDArray[Any], core: NDArray[Any]) -> NDArray[Any]:
    """The others: the day within the range of a byte, about its middle, and the last values."""
    season, known = np.zeros(len(bins), SEARCHING), bins["day"] != UNKNOWN
    low = np.where(known, bins["day"], np.inf).min(axis=1)
    high = np.where(known, bins["day"], -np.inf).max(axis=1)
    low, high = np.where(known.any(axis=1), (low, high), 0.0)
    middle, range_max = 0.5 * (low + high), seasons.BYTE_MAX * TRIAL_QUANTA
    times = np.exp2(np.ceil(np.log2(np.maximum(0.5 * (high - low) / range_max, 1.0))))
    trial = np.rint((bins["day"] - middle[:, None]) / (TRIAL_QUANTA * times[:, None]))
    season["trial"] = np.where(known, trial, TRIAL_UNKNOWN)
    season["scale"], season["slots"] = bins["scale"] / times[:, None], bins["slots"]
    core["anchor"] += middle * core["quantum"]
    core["quantum"] *= times
    return season


def _rows(numbers: NDArray[Any], layout: np.dtype[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(numbers).view(layout)[:, 0]


def _bytes(records: NDArray[Any]) -> NDArray[np.uint8]:
    return records.view(np.uint8).reshape(len(records), records.dtype.itemsize)


def _copy(old: NDArray[Any], new: NDArray[Any]) -> None:
    """All fields of the old records, those of records in them too."""
    for name in old.dtype.names or ():
        if old.dtype[name].names:
            _copy(old[name], new[name])
        else:
            new[name] = old[name]


def _place(name: str) -> int:
    """The column of a field in format 4."""
    assert CORE_4.fields is not None
    return int(CORE_4.fields[name][1]) // 8


def _place_until_3(name: str) -> int:
    """The same of formats 1 to 3, which had one column more."""
    return _place(name) + (_place(name) >= _place("last"))


def _without_expert(numbers: NDArray[Any], experts: int, axis: int) -> NDArray[Any]:
    """[rows, numbers] of so many experts without the one before those of the phase. axis: 2 where a row has the experts
    side by side for each number, 1 where it has the numbers for each expert.
    """
    rows, width = len(numbers), numbers.shape[1] // experts
    shaped = numbers.reshape((rows, width, experts) if axis == 2 else (rows, experts, width))
    return np.ascontiguousarray(np.delete(shaped, PHASE_UP, axis=axis).reshape(rows, -1))
