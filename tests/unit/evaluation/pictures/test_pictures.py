"""The pictures of a day: what they show is what the switches report, and the same day gives the same bytes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.pictures import run
from evaluation.pictures.day import CONFIG, Day, simulate
from evaluation.pictures.fabric import draw_marks, draw_pauses, draw_queues, from_frames, from_transitions
from evaluation.pictures.gpus import draw_gpus, recording, replay
from evaluation.pictures.storage import draw_storage
from evaluation.pictures.style import quantiles
from simulator.conditions.config import STRENGTH_MAX

MINUTES = 20


@pytest.fixture(scope="module")
def day() -> Day:
    return simulate(MINUTES / 60, CONFIG.model_copy(update={"hosts": 4}))


def test_ports_are_those_of_hosts_uplinks_and_spines(day: Day) -> None:
    assert list(day.tiers) == ["hosts", "uplinks", "spines"]
    assert day.tiers["hosts"].pause_share.shape == (MINUTES, 32)
    assert day.tiers["hosts"].sampled.shape == (MINUTES * 6, 32)
    assert day.tiers["hosts"].bits_per_second == 400e9
    assert day.tiers["uplinks"].bits_per_second == 800e9


def test_a_healthy_day_has_pauses_and_marks(day: Day) -> None:
    hosts = day.tiers["hosts"]
    assert 0.0 < hosts.pause_share.mean() < 0.02
    assert 0.0 < np.nanmean(hosts.marked) < 0.3


def test_no_port_is_paused_for_longer_than_a_minute_of_a_minute(day: Day) -> None:
    for ports in day.tiers.values():
        assert ports.pause_share.min() >= 0.0
        assert ports.pause_share.max() <= 1.0


def test_a_watermark_is_never_below_a_sample(day: Day) -> None:
    hosts = day.tiers["hosts"]
    sampled = hosts.sampled.reshape(MINUTES, 6, -1).max(axis=1)
    assert (hosts.peak >= sampled).all()


def test_frames_bound_the_time_of_pauses_from_above(day: Day) -> None:
    hosts = day.tiers["hosts"]
    paused = hosts.pause_share > 1e-4
    assert (from_frames(hosts)[paused] > hosts.pause_share[paused]).all()


def test_transitions_give_the_time_of_pauses_within_a_factor_of_two(day: Day) -> None:
    hosts = day.tiers["hosts"]
    assert from_transitions(hosts).mean() == pytest.approx(hosts.pause_share.mean(), rel=0.5)


def test_disks_answer_later_than_flash(day: Day) -> None:
    assert day.disks.sum() == 2
    assert np.nanmedian(day.read_s[:, day.disks]) > 5.0 * np.nanmedian(day.read_s[:, ~day.disks])


def test_quantiles_are_of_ten_bins_and_all_columns() -> None:
    values = np.arange(40.0).reshape(20, 2)
    assert quantiles(values, (0.0, 1.0)).tolist() == [[0.0, 20.0], [19.0, 39.0]]


def test_quantiles_of_nothing_are_missing() -> None:
    assert np.isnan(quantiles(np.full((10, 2), np.nan), (0.5,))).all()


def test_the_same_day_gives_the_same_bytes_and_small_pictures(day: Day, tmp_path: Path) -> None:
    for draw in (draw_pauses, draw_marks, draw_queues, draw_gpus, draw_storage):
        one, other = tmp_path / "one.svg", tmp_path / "other.svg"
        draw(day, one)
        draw(day, other)
        assert one.read_bytes() == other.read_bytes()
        assert one.stat().st_size < 300_000
        assert "<text" in one.read_text()  # not outlines: readers find words


def test_rows_have_the_published_figures_beside_ours(day: Day) -> None:
    found = {row["what"]: row for row in run.rows(day)}
    frames = found["pause frames received, hosts"]
    assert frames["median"] == pytest.approx(np.median(day.tiers["hosts"].frames))
    assert frames["source"].startswith("Guo et al.")
    assert "published" not in found["power"]
    page = run.page(list(found.values()))
    assert page.count("\n| ") == len(found) + 2


def test_a_row_without_values_is_empty(day: Day) -> None:
    nothing = replace(day, read_s=np.full_like(day.read_s, np.nan))
    row = next(row for row in run.rows(nothing) if row["what"] == "time of a read, disks")
    assert "median" not in row


def test_the_replayed_gpu_follows_the_recording() -> None:
    rows = recording()
    simulated = np.array(list(replay(rows)))
    for phase, mhz, watts in (("train", 60.0, 15.0), ("gemm", 60.0, 15.0), ("hung-kernel", 1.0, 3.0)):
        mine = (rows["phase"] == phase).to_numpy()
        mine[np.flatnonzero(mine)[:50]] = False  # until it has settled
        recorded_mhz = np.median(rows["sm_clock_mhz"].to_numpy()[mine])
        recorded_watts = np.median(rows["power_usage_mw"].to_numpy()[mine]) / 1e3
        assert np.median(simulated[mine, 0]) == pytest.approx(recorded_mhz, abs=mhz)
        assert np.median(simulated[mine, 1]) == pytest.approx(recorded_watts, abs=watts)


def test_the_day_has_all_conditions_but_a_power_cap() -> None:
    assert {condition.name for condition in CONFIG.conditions} == set(STRENGTH_MAX) - {"power-cap"}
