"""Labelled series from a folder: what is read, what is refused, and which half is for choosing."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from common.errors import ConfigError
from common.units import NS_PER_S
from evaluation.series.folders import Recording, halves, recordings, windows_of

START = datetime(2026, 1, 1, tzinfo=UTC)


def write(folder: Path, name: str, **columns: Sequence[float]) -> None:
    rows = len(next(iter(columns.values())))
    times = [START + timedelta(minutes=row) for row in range(rows)]
    (folder / name).parent.mkdir(exist_ok=True)
    pl.DataFrame({"timestamp": times, **columns}).write_parquet(folder / name)


def test_each_column_of_a_file_is_a_series_with_the_labels_of_the_rows(tmp_path: Path) -> None:
    labels = [0] * 50 + [1] * 5 + [0] * 45
    write(tmp_path, "one/a.parquet", cpu=[1.0] * 100, disk=[2.0] * 100, label=labels)
    (found,) = recordings(tmp_path)
    assert (found.collection, found.file) == ("one", "a.parquet")
    assert [(each.values[0], each.probation) for each in found.columns] == [(1.0, 15), (2.0, 15)]
    assert [(each.start, each.end) for each in found.columns[1].windows] == [(50, 55)]
    assert np.diff(found.columns[0].times_ns).tolist() == [60 * NS_PER_S] * 99


def test_events_of_the_probation_do_not_count(tmp_path: Path) -> None:
    write(tmp_path, "one/a.parquet", cpu=[1.0] * 100, label=[1] * 20 + [0] * 70 + [1] * 10)
    (found,) = recordings(tmp_path)
    assert [(each.start, each.end) for each in found.columns[0].windows] == [(90, 100)]


def test_a_missing_value_is_the_one_before(tmp_path: Path) -> None:
    write(tmp_path, "one/a.parquet", cpu=[5.0, float("nan"), 7.0], label=[0, 0, 0])
    assert recordings(tmp_path)[0].columns[0].values.tolist() == [5.0, 5.0, 7.0]


def test_a_folder_without_series_is_an_error_that_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no labelled series, expected Parquet files in folders"):
        recordings(tmp_path)


@pytest.mark.parametrize("columns", [{"cpu": [1.0]}, {"label": [0]}])
def test_a_file_without_labels_or_numbers_is_an_error(tmp_path: Path, columns: dict[str, Sequence[float]]) -> None:
    write(tmp_path, "one/a.parquet", **columns)
    with pytest.raises(ConfigError, match=r"a\.parquet: columns .*, expected timestamp"):
        recordings(tmp_path)


def test_runs_of_labels_are_windows() -> None:
    found = windows_of(np.array([1, 0, 0, 1, 1, 0, 1], np.bool_))
    assert [(each.start, each.end) for each in found] == [(0, 1), (3, 5), (6, 7)]


def test_the_halves_depend_on_the_names_of_files_alone() -> None:
    files = [Recording("one", f"{number}.parquet", ()) for number in range(21)]
    choosing, report = halves(files)
    assert (len(choosing), len(report)) == (11, 10)
    assert halves(files[::-1]) == (choosing, report)
    assert {each.file for each in choosing}.isdisjoint(each.file for each in report)
    assert choosing[0].file == "9.parquet"  # its hash is the lowest
