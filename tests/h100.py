"""The recording of a real H100: ``tests/data/h100/README.md`` says what it is."""

from pathlib import Path

import polars as pl

FOLDER = Path(__file__).parent / "data" / "h100"


def recording() -> pl.DataFrame:
    """Both runs, a row for every 0.1 s; columns as in the README."""
    return pl.read_parquet(FOLDER / "nvml.parquet")


def phase(name: str, settled_s: float = 5.0) -> pl.DataFrame:
    """The first phase of this name without its first ``settled_s`` and its last half second."""
    rows = recording().filter(pl.col("phase") == name)
    rows = rows.filter(pl.col("run") == rows["run"][0])
    since_s = (pl.col("time_ns") - rows["time_ns"][0]) / 1e9
    left_s = (rows["time_ns"][-1] - pl.col("time_ns")) / 1e9
    return rows.filter((since_s >= settled_s) & (left_s > 0.5))
