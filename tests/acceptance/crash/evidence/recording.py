"""The samples in a recording: its Parquet files, by polars."""

import json
from pathlib import Path

import polars as pl

from tests.acceptance.crash.evidence.batches import RawBatch, interface_in
from tests.acceptance.crash.samples import sample_of


def read_recording(folder: Path) -> list[RawBatch]:
    """The collections of all slices that the manifest names."""
    slices = json.loads((folder / "manifest.json").read_bytes())["slices"]
    return [batch for one in slices for batch in _slice(folder / one["name"])]


def _slice(folder: Path) -> list[RawBatch]:
    if not (folder / "batches.parquet").exists():
        return []
    batches, samples = pl.read_parquet(folder / "batches.parquet"), pl.read_parquet(folder / "samples.parquet")
    tables = {one["digest"]: one for one in pl.read_parquet(folder / "tables.parquet").iter_rows(named=True)}
    found, at = [], 0
    for batch in batches.iter_rows(named=True):
        table, rows = tables[batch["table"]], samples[at : at + batch["rows"]]
        at += batch["rows"]
        device, keys, of_pages = table["device"], table["keys"], []
        if device.startswith("numbered"):
            pairs = zip(rows["series"], rows["value"], strict=True)
            of_pages = [sample_of(device, interface_in(keys[row]), value) for row, value in pairs]
        found.append(RawBatch(f"{table['target']} {batch['epoch_ns']} {batch['seq']}", batch["rows"], of_pages))
    return found
