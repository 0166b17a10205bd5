"""Public series: read from the archives of packages; their expected values and scales."""

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from common.units import NS_PER_S
from evaluation.series.public import excerpt, signal_of
from evaluation.series.public_files import Source, series_of
from evaluation.series.signals import DAY_S, Floats

CSV = b"""id,when,load
a,2024-01-01 01:00:00,2
a,2024-01-01 00:00:00,1
b,2024-01-01 00:00:00,5
a,2024-01-01 01:00:00,9
"""
KEYED = Source("things==1.0", "loads.csv", "when", "%Y-%m-%d %H:%M:%S", ("load",), "id")
HOUR_NS = 3600 * NS_PER_S


def wheel(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("things/data/loads.csv", CSV)
    return path


def test_a_file_is_read_in_order_of_time_with_one_value_a_time(tmp_path):
    first, second = series_of(KEYED, wheel(tmp_path / "things-1.0-py3-none-any.whl"))
    assert (first[0], second[0]) == ("loads, 0", "loads, 1")
    assert first[1].tolist() == [1_704_067_200 * NS_PER_S, 1_704_070_800 * NS_PER_S]
    assert (first[2].tolist(), second[2].tolist()) == ([1.0, 2.0], [5.0])


def test_a_source_archive_is_read_like_a_wheel(tmp_path):
    path = tmp_path / "things-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        entry = tarfile.TarInfo("things-1.0/data/loads.csv")
        entry.size = len(CSV)
        packed.addfile(entry, io.BytesIO(CSV))
    assert [values.size for _, _, values in series_of(KEYED, path)] == [2, 1]


def test_a_package_without_the_file_is_named(tmp_path):
    missing = Source("things==1.0", "other.csv", "when", "", ("load",))
    with pytest.raises(FileNotFoundError, match=r"things-1\.0-py3-none-any\.whl holds no other\.csv"):
        list(series_of(missing, wheel(tmp_path / "things-1.0-py3-none-any.whl")))


def hourly(values: Floats) -> NDArray[np.int64]:
    return np.arange(values.size, dtype=np.int64) * HOUR_NS


def test_a_daily_season_is_expected_and_the_rest_is_its_scale():
    rng = np.random.default_rng(1)
    hours = np.arange(24 * 60)
    clean = 100 + 50 * np.sin(2 * np.pi * hours / 24)
    signal = signal_of(hourly(clean), clean + rng.normal(0, 5, hours.size))
    assert (signal.step_s, signal.season) == (3600, DAY_S // 3600)
    assert np.median(np.abs(signal.base - clean)) < 3
    assert np.median(signal.scale) == pytest.approx(5, rel=0.35)
    assert "missing_season" in signal.anomalies


def test_without_a_season_the_neighbours_are_expected():
    walk = np.cumsum(np.random.default_rng(2).normal(size=1500))
    signal = signal_of(hourly(walk), walk)
    assert signal.season == 0
    assert "missing_season" not in signal.anomalies
    assert np.all(signal.scale > 0)
    assert signal.floor == -np.inf


def test_an_excerpt_changes_only_points_in_its_windows():
    rng = np.random.default_rng(3)
    values = 100 + 50 * np.sin(2 * np.pi * np.arange(4000) / 24) + rng.normal(0, 5, 4000)
    for seed in range(20):
        part = excerpt("loads", hourly(values), values, np.random.default_rng(seed), seed)
        start = int(part.times_ns[0] // HOUR_NS)
        changed = np.flatnonzero(part.values != values[start : start + part.values.size])
        allowed = np.zeros(part.values.size, dtype=bool)
        for window in part.windows:
            allowed[window.start : window.end] = True
        assert np.all(allowed[changed])
        assert np.all(changed >= part.probation)
