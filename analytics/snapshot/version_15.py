"""Snapshots of state version 15, before there were blocks: the same numbers under other names.

They say nothing of definitions, which are taken for today's: no release has written them.
"""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from analytics.snapshot.stateful import State, parted

VERSION = 15
_BASELINES, _SCORES = ("baseline", "score"), ("slot", "anomaly")
Head = dict[str, Any]
Arrays = Mapping[str, NDArray[Any]]


def converted(head: Head, arrays: Arrays) -> tuple[Head, dict[str, NDArray[Any]]]:
    """Head and arrays as version 16 has them; every block is of format 1."""
    blocks: dict[str, State] = {}
    for name, state in parted(State(head["parts"], arrays)).items():
        if name == "series":
            blocks |= _of_series(state)
        elif name == "detectors":
            blocks |= {f"detectors.{each}": own for each, own in parted(state).items()}
        elif name == "multivariate":
            blocks |= _of_models(state)
        else:
            blocks[name] = state
    blocks["window"].head["tick_ns"] = max(1, round(head["config"]["interval_s"] * 1e9) // 2)
    named = {f"{name}/{key}": array for name, state in blocks.items() for key, array in state.arrays.items()}
    parts = {name: state.head for name, state in blocks.items()}
    return {**head, "metrics": None, "blocks": {name: [1, None] for name in blocks}, "parts": parts}, named


def _of_series(state: State) -> dict[str, State]:
    parts = parted(state)
    columns = parts["columns"].arrays
    records = {f"records/{name}": array for name, array in parts["scores"].arrays.items()}
    slots = {f"columns/{name}": columns[name] for name in _SCORES}
    rates = {name: array for name, array in columns.items() if name not in (*_BASELINES, *_SCORES)}
    return {
        "rates": State(None, rates),
        "baselines": State(None, {name: columns[name] for name in _BASELINES}),
        "scores": State({"columns": None, "records": None}, slots | records),
    }


def _of_models(state: State) -> dict[str, State]:
    found = {"multivariate": State(state.head["unhealthy"], {})}
    for kind, own in parted(State(state.head["models"], state.arrays)).items():
        parts = parted(State(own.head["parts"], own.arrays))
        found[f"multivariate.{kind}.model"] = parts.pop("training")
        arrays = {f"{name}/{key}": array for name, part in parts.items() for key, array in part.arrays.items()}
        heads = {name: part.head for name, part in parts.items()}
        found[f"multivariate.{kind}"] = State({"names": own.head["names"], "parts": heads}, arrays)
    return found
