"""Batches as JSON and arrays, for the snapshot: each table once, the samples of all batches one behind the other."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.snapshot import string_table
from analytics.snapshot.stateful import State
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable


def pack_batches(batches: Sequence[SampleBatch]) -> State:
    tables: dict[SeriesTable, int] = {}
    rows = []
    for batch in batches:
        of = batch.collection
        number = tables.setdefault(batch.table, len(tables))
        rows.append([number, len(batch), of.epoch_ns, of.seq, of.collected_ns, of.duration_s, of.down])
    head = {"tables": [[table.target, table.device, len(table)] for table in tables], "batches": rows}
    arrays: dict[str, NDArray[Any]] = {
        "keys": string_table.pack([key for table in tables for key in table.keys]),
        "times_ns": np.concatenate([np.zeros(0, np.int64), *(batch.times_ns for batch in batches)]),
        "series": np.concatenate([np.zeros(0, np.uint32), *(batch.series for batch in batches)]),
        "values": np.concatenate([np.zeros(0), *(batch.values for batch in batches)]),
    }
    return State(head, arrays)


def unpack_batches(state: State) -> Iterator[SampleBatch]:
    """The batches again, in order."""
    head, arrays = state
    keys = iter(string_table.unpack(arrays["keys"]))
    tables = [SeriesTable(target, device, tuple(islice(keys, size))) for target, device, size in head["tables"]]
    start = 0
    for number, size, epoch_ns, seq, collected_ns, duration_s, down in head["batches"]:
        collection = Collection(epoch_ns, seq, collected_ns, duration_s, DownReason(down) if down else None)
        rows = slice(start, start + size)
        yield SampleBatch(
            tables[number], collection, arrays["times_ns"][rows], arrays["series"][rows], arrays["values"][rows]
        )
        start += size
