"""The state of live scores as earlier versions have written it, converted to today's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.layout import CORE, EXPERTS, PHASE_UP, RUNGS, STRETCH, TAILS
from analytics.snapshot.stateful import State

_SINCE_5 = ("frequency", "frequency_peak", "frequency_max")


def _wide(layout: np.dtype[Any]) -> np.dtype[Any]:
    """A record of numbers with all of them in double precision, as until format 4."""
    names = [name for name in layout.names or () if name not in _SINCE_5]
    return np.dtype([(name, _wide(layout[name]) if layout[name].names else np.dtype("f8")) for name in names])


CORE_4 = _wide(CORE)
TAILS_4 = np.dtype([(name, "f4", (RUNGS, EXPERTS) if name == "ladder" else EXPERTS) for name in TAILS.names or ()])


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
    core, heights = np.zeros(len(old), CORE), np.zeros(len(old), TAILS)
    _copy(old, core)
    _copy(tails, heights)
    heights["ladder"] = np.rint(STRETCH * tails["ladder"])
    converted: dict[str, NDArray[Any]] = {
        "records/core": core.view(np.uint8).reshape(len(old), CORE.itemsize),
        "records/tails": heights.view(np.uint8).reshape(len(old), TAILS.itemsize),
    }
    return State(state.head, {**arrays, **converted})


def _rows(numbers: NDArray[Any], layout: np.dtype[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(numbers).view(layout)[:, 0]


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
