"""Batches of samples for the tests of the stage."""

from collections.abc import Sequence

import numpy as np

from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable, series_key

S = 1_000_000_000
T0 = 1_780_000_000 * S


def table(count: int = 3, first: int = 0, target: str = "dcgm/node1:9400") -> SeriesTable:
    """Series ``gpu_power_watts{device="node1",gpu="GPU-<n>"}`` with n from ``first``."""
    keys = [series_key("gpu_power_watts", {"device": "node1", "gpu": f"GPU-{n}"}) for n in range(first, first + count)]
    return SeriesTable(target, "node1", tuple(keys))


def batch(
    at_ns: int = T0,
    of: SeriesTable | None = None,
    rows: Sequence[int] | None = None,
    values: Sequence[float] | None = None,
    times_ns: Sequence[int] | None = None,
    down: DownReason | None = None,
    seq: int = 0,
) -> SampleBatch:
    """One collection; by default each series of the table once, at ``at_ns``, with its row as value."""
    of = of if of is not None else table()
    rows = list(rows) if rows is not None else ([] if down else list(range(len(of))))
    return SampleBatch(
        of,
        Collection(T0, seq, at_ns, 0.25, down),
        np.array([at_ns] * len(rows) if times_ns is None else times_ns, dtype=np.int64),
        np.array(rows, dtype=np.uint32),
        np.array(rows if values is None else values, dtype=np.float64),
    )
