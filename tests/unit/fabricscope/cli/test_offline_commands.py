"""``fabricscope detect`` and ``explain`` as people type them, in files and in pipes."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from tests.waiting import DEADLINE_S

COMMAND = [sys.executable, "-m", "fabricscope"]
HEADER = "timestamp,value,score,alert,alert_start,expected,lower,upper,reason"


def fabricscope(*arguments: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], input=given, capture_output=True, timeout=DEADLINE_S, check=False)


@pytest.fixture
def series(tmp_path):
    values = np.random.default_rng(2).normal(size=500)
    values[450] = 40.0
    path = tmp_path / "f.csv"
    pl.DataFrame({"timestamp": np.arange(500) + 1_704_067_200, "value": values}).write_csv(path)
    return path


def test_detect_from_file_and_pipe_and_to_parquet(series, tmp_path):
    from_file = fabricscope("detect", str(series))
    assert from_file.returncode == 0
    lines = from_file.stdout.decode().splitlines()
    assert lines[0] == HEADER
    assert lines[451].split(",")[3] == "1"
    assert b"f.csv: 500 rows: " in from_file.stderr
    assert fabricscope("detect", "-", given=series.read_bytes()).stdout == from_file.stdout

    out = tmp_path / "out.parquet"
    to_parquet = fabricscope("detect", str(series), "--output", str(out), "--fail-on-alert")
    assert to_parquet.returncode == 3
    written = pl.read_parquet(out)
    assert written.columns == HEADER.split(",")
    assert written["timestamp"].dtype == pl.Datetime("ns", "UTC")
    assert written["score"].to_list() == [float(line.split(",")[2]) for line in lines[1:]]


def test_a_row_of_a_pipe_is_answered_when_it_comes():
    named = ["--time", "column_1", "--value", "column_2", "--one-series"]
    with subprocess.Popen([*COMMAND, "detect", "-", *named], stdin=-1, stdout=-1, stderr=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"1704067200,1\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"column_1,")
        for row in range(3):
            assert process.stdout.readline().startswith(f"170406720{row},".encode())
            process.stdin.write(f"170406720{row + 1},1\n".encode())
            process.stdin.flush()
        process.stdin.close()


def test_a_folder_takes_a_file_each(series, tmp_path):
    other = series.with_name("g.csv")
    other.write_text("time,value,host\n2024-01-01,1,a\n")
    folder = tmp_path / "out"
    assert fabricscope("detect", str(series), str(other), "--output", f"{folder}/").returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == ["f.csv", "g.csv"]


def test_a_file_may_be_replaced_by_its_scores_and_is_kept_when_that_fails(series):
    assert fabricscope("detect", str(series), "--output", str(series)).returncode == 0
    assert series.read_text().startswith(HEADER)
    broken = "time,value\n2024-01-01,1\n2024-01-02,1\nsoon,1\n"
    series.write_text(broken)
    failed = fabricscope("detect", str(series), "--output", str(series))
    assert failed.returncode == 1
    assert failed.stderr.decode().strip() == f"fabricscope: {series}: line 4 has the time 'soon': expected %Y-%m-%d"
    assert series.read_text() == broken
    assert [path.name for path in series.parent.iterdir()] == ["f.csv"]


@pytest.mark.parametrize("options", [["--wide", "--value", "value"], ["--by", "value", "--one-series"]])
def test_options_that_contradict_are_refused(series, options):
    answer = fabricscope("detect", str(series), *options)
    assert answer.returncode == 2
    assert options[0].encode() in answer.stderr


def test_times_without_a_zone_are_of_the_one_that_is_named(tmp_path):
    path, out = tmp_path / "f.csv", tmp_path / "out.parquet"
    path.write_text("time,value\n2026-07-01 02:00,1\n2026-07-01 03:00,2\n2026-07-01 04")
    answer = fabricscope("detect", str(path), "--timezone", "Europe/Berlin", "-o", str(out))
    assert answer.returncode == 0
    assert pl.read_parquet(out)["time"].dt.hour().to_list() == [0, 1]
    assert answer.stderr.decode().splitlines()[-1] == f"{path}: 1 row left out: line 4 ends within its time"
    refused = fabricscope("detect", str(path), "--timezone", "Berlin")
    assert refused.returncode == 1
    assert b"'Berlin': expected a time zone such as Europe/Berlin" in refused.stderr


def test_a_full_disk_is_reported(series):
    with open("/dev/full", "wb") as full:
        command = [*COMMAND, "detect", str(series)]
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False)
    assert answer.returncode == 1
    assert answer.stderr.decode().splitlines() == ["fabricscope: standard output: No space left on device"]


def test_explain_draws_beside_the_file(series):
    answer = fabricscope("explain", str(series))
    assert answer.returncode == 0
    assert answer.stdout.decode().strip() == f"{series}.png"
    assert series.with_name("f.csv.png").read_bytes().startswith(b"\x89PNG")


def test_the_detector_is_loaded_when_it_is_asked_for():
    code = """
import sys, fabricscope
assert "numba" not in sys.modules
from fabricscope import Detector
print(Detector().score([1, 2], [3.0, 4.0])["reason"].to_list())
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    assert answer.stdout == "['not enough history', 'not enough history']\n"


def test_the_example_of_the_detector_runs():
    code = "import doctest; from analytics.offline import api; print(doctest.testmod(api))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    assert answer.stdout.startswith("TestResults(failed=0, attempted=6")
