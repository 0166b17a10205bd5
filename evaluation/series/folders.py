"""Series that people labelled, from a folder: a folder inside it is a collection, a Parquet file in that a recording.

A recording has a column ``timestamp``, a column ``label`` (not 0: anomalous), and numeric columns that share the label.
Half of the recordings of a collection, those whose file names have the lower hashes, is for choosing; figures are of
the other half.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from common.errors import ConfigError
from evaluation.series.labelled import Series, Window
from evaluation.series.signals import Floats

_PROBATION_SHARE, _PROBATION_MAX = 0.15, 750  # points, as of made series
_LABELLED = "labelled"


@dataclass(frozen=True, slots=True)
class Recording:
    """A file. columns: a series for each numeric column, all with the same times, windows and probation."""

    collection: str
    file: str
    columns: tuple[Series, ...]


def halves(of_collection: Sequence[Recording]) -> tuple[list[Recording], list[Recording]]:
    """Those for choosing, and those for the report: by the SHA-256 of the file names, the lower half of them first."""
    ordered = sorted(of_collection, key=lambda each: hashlib.sha256(each.file.encode()).digest())
    middle = (len(ordered) + 1) // 2
    return ordered[:middle], ordered[middle:]


def recordings(folder: Path) -> list[Recording]:
    """All of a folder, by collection and name. ConfigError where there is none, or a file is not as expected."""
    paths = sorted(folder.glob("*/*.parquet"))
    if not paths:
        raise ConfigError(f"{folder}: no labelled series, expected Parquet files in folders, one for each collection")
    return [_recording(path) for path in paths]


def _recording(path: Path) -> Recording:
    rows = pl.read_parquet(path)
    missing = {"timestamp", "label"} - set(rows.columns)
    names = [name for name, kind in rows.schema.items() if kind.is_numeric() and name != "label"]
    if missing or not names or not rows.schema["timestamp"].is_temporal():
        raise ConfigError(f"{path}: columns {rows.columns}, expected timestamp (a time), label and numbers")
    rows = rows.sort("timestamp", maintain_order=True)
    times_ns = rows["timestamp"].dt.epoch("ns").to_numpy()
    windows = windows_of(rows["label"].to_numpy() != 0)
    probation = min(int(_PROBATION_SHARE * rows.height), _PROBATION_MAX)
    kept = tuple(window for window in windows if window.start >= probation)
    columns = tuple(
        Series(path.parent.name, at, times_ns, _known(rows[name].cast(pl.Float64).to_numpy()), kept, probation)
        for at, name in enumerate(names)
    )
    return Recording(path.parent.name, path.name, columns)


def windows_of(labels: NDArray[np.bool_]) -> tuple[Window, ...]:
    """Each run of anomalous points."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], labels, [False]])))
    return tuple(Window(int(start), int(end), _LABELLED) for start, end in edges.reshape(-1, 2))


def _known(values: Floats) -> Floats:
    """Missing values as the one before: not every baseline knows them."""
    return pl.Series(values).fill_nan(None).fill_null(strategy="forward").fill_null(0.0).to_numpy()
