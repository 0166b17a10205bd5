"""The reference of scoring: the source of ``analytics.models.scoring`` as plain Python, not compiled.

``python -m benchmarks.references.scoring_python GIVEN.npz FOUND.npz`` with NUMBA_DISABLE_JIT=1.
GIVEN: state of a detector (``state.…``), times_ns and values of some rounds, int64 and float64[rounds, series].
FOUND: the columns of the scores, and cpu_s.
"""

import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring import kernel
from analytics.models.scoring.scorer import Scores, SeriesScorer
from analytics.snapshot.stateful import State

_STATE = "state."


def in_python(
    state: Mapping[str, NDArray[Any]], times_ns: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[dict[str, NDArray[Any]], float]:
    """The columns of the scores, each [rounds, series], and CPU seconds, of a process without numba."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
        named = {f"{_STATE}{name}": array for name, array in state.items()}
        np.savez(given, allow_pickle=False, **named, times_ns=times_ns, values=values)
        command = [sys.executable, "-m", __name__, str(given), str(found)]
        subprocess.run(command, check=True, env=os.environ | {"NUMBA_DISABLE_JIT": "1"})
        with np.load(found) as arrays:
            columns = dict(arrays)
    return columns, float(columns.pop("cpu_s"))


def scored(detector: SeriesScorer, times_ns: NDArray[np.int64], values: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """The columns of the scores, each [rounds, series]."""
    series = np.arange(values.shape[1])
    rounds = [detector.score(at, given, series, bands=False) for at, given in zip(times_ns, values, strict=True)]
    names = [column.name for column in dataclasses.fields(Scores)]
    return {name: np.stack([getattr(one, name) for one in rounds]) for name in names}


def _fields(record: np.void) -> SimpleNamespace:
    """A record as the quickest thing that has its fields in plain Python."""
    values = {name: record[name] for name in record.dtype.names or ()}
    values |= {name: value.item() for name, value in values.items() if isinstance(value, np.number)}
    nested = {name: _fields(value) for name, value in values.items() if isinstance(value, np.void)}
    return SimpleNamespace(**values | nested)


def _main(given: str, found: str) -> None:
    if not os.environ.get("NUMBA_DISABLE_JIT"):
        raise SystemExit("expected NUMBA_DISABLE_JIT=1")
    vars(kernel)["prefetch"] = lambda array, row, first, size: None  # a hint to the processor: no part of the result
    with np.load(given) as stored:
        state = {name.removeprefix(_STATE): array for name, array in stored.items() if name.startswith(_STATE)}
        times_ns, values = stored["times_ns"], stored["values"]
    detector = SeriesScorer()
    detector.restore(State(None, state))
    arrays = detector._arrays()
    records: dict[str, Any] = {
        name: [_fields(record) for record in array] for name, array in arrays._asdict().items() if name != "pools"
    }
    vars(detector)["_arrays"] = lambda: arrays._replace(**records)
    began = time.process_time()
    with np.errstate(all="ignore"):
        columns = scored(detector, times_ns, values)
    np.savez(found, allow_pickle=False, **columns, cpu_s=np.float64(time.process_time() - began))


if __name__ == "__main__":
    _main(*sys.argv[1:])
