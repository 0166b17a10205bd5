"""What arrives when: the telemetry of small clusters, collected in the ways that can be configured."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.collection.config import Clocks, CollectionConfig, Durations, Losses, Timing
from simulator.collection.presets import PRESETS
from simulator.collection.schedule import GRID_NS
from simulator.config import JobMix, SimulatorConfig
from simulator.direct import CampaignTick, campaign
from simulator.faults.schedule import parse_fault
from telemetry.changes import ChangeKind
from telemetry.samples import DownReason, SampleBatch
from telemetry.series import parse_series_key

CONFIG = SimulatorConfig(hosts=2, gpus_per_host=2, step_ms=50, jobs=JobMix(jobs=1, compute_s=0.6))
IDLE = CONFIG.model_copy(update={"jobs": JobMix(jobs=0)})
START_NS = 1_700_000_000 * NS_PER_S
Batches = dict[str, list[SampleBatch]]


def run(
    collection: CollectionConfig | None,
    lasts_s: float,
    *faults: str,
    config: SimulatorConfig = CONFIG,
    parts: int = 4,
    seed: int = 1,
) -> list[CampaignTick]:
    scheduled = [parse_fault(fault) for fault in faults]
    ticks = campaign(config, scheduled, lasts_s, START_NS, parts, collection=collection, collection_seed=seed)
    return list(ticks)


def by_target(ticks: Iterable[CampaignTick]) -> Batches:
    found: Batches = defaultdict(list)
    for tick in ticks:
        for batch in tick.batches:
            found[batch.table.target].append(batch)
    return found


def everything(ticks: list[CampaignTick]) -> list[object]:
    """All that a consumer gets, comparable."""
    columns = [
        (b.table, b.collection, b.times_ns.tobytes(), b.series.tobytes(), b.values.tobytes())
        for tick in ticks
        for b in tick.batches
    ]
    return [columns, [(tick.now_ns, len(tick.batches), tick.facts, tick.changes) for tick in ticks]]


def metrics(ticks: list[CampaignTick]) -> set[str]:
    return {parse_series_key(key)[0] for tick in ticks for b in tick.batches for key in b.table.keys}


def values_of(batches: list[SampleBatch], metric: str) -> list[float]:
    """The value of the first series of a metric in each batch that has it."""
    row = next(row for row, key in enumerate(batches[0].table.keys) if key.startswith(metric + "{"))
    return [float(b.values[b.series == row][0]) for b in batches if row in b.series]


def seconds_of(batches: list[SampleBatch]) -> np.ndarray:
    return np.array([batch.collection.collected_ns - START_NS for batch in batches]) / NS_PER_S


@pytest.mark.parametrize("parts", [3, 4])
def test_the_ideal_is_a_campaign_without_a_collection(parts: int) -> None:
    faults = ("xid@25s:node1/1", "switch-reboot@40s:spine1", "exporter-frozen@60s:node/node2", "link-down@70s+10s")
    without = run(None, 100.0, *faults, parts=parts)
    assert everything(run(PRESETS["ideal"], 100.0, *faults, parts=parts)) == everything(without)
    assert any(not batch.collection.up for tick in without for batch in tick.batches)


def test_each_group_has_its_interval_and_each_target_its_phase() -> None:
    found = by_target(run(PRESETS["mixed-intervals"], 130.0, config=IDLE))
    first_of = {
        "fabric_port_receive_bytes_total": 1.0,
        "fabric_queue_transmit_bytes_total": 10.0,
        "fabric_queue_occupancy_peak_bytes": 60.0,
        "fabric_port_optical_power_dbm": 60.0,
        "fabric_port_up": 10.0,
        "gpu_power_watts": 30.0,
        "storage_read_bytes_total": 30.0,
    }
    phases = set()
    for batches in found.values():
        for metric, interval_s in first_of.items():
            rows = [row for row, key in enumerate(batches[0].table.keys) if key.startswith(metric + "{")]
            at = seconds_of([batch for batch in batches if np.isin(batch.series, rows).any()]) if rows else np.zeros(0)
            if at.size:
                assert np.diff(at) == pytest.approx(interval_s, abs=0.5)
                assert len(at) == pytest.approx(130.0 / interval_s, abs=1)
                phases.add((metric, at[0] % interval_s))
    assert len({phase for metric, phase in phases if metric == "fabric_port_receive_bytes_total"}) > 2
    nodes = [np.diff(seconds_of(batches)) for target, batches in found.items() if target.startswith("node/")]
    assert all(any(steps == pytest.approx(s, abs=0.5) for s in (15.0, 30.0, 60.0)) for steps in nodes)


def test_a_switch_sends_a_part_of_its_series_at_a_time_under_one_table() -> None:
    found = by_target(run(PRESETS["mixed-intervals"], 70.0, config=IDLE))
    for target, batches in found.items():
        assert [batch.collection.seq for batch in batches] == list(range(len(batches)))
        assert len({id(batch.table) for batch in batches}) == 1
        if target.startswith("gnmi/"):
            assert min(map(len, batches)) < len(batches[0].table) / 2
            assert len(set(np.concatenate([batch.series for batch in batches]).tolist())) == len(batches[0].table)
            assert all(len(set(batch.series.tolist())) == len(batch) for batch in batches)


def test_values_are_those_of_the_last_refresh() -> None:
    dcgm = CollectionConfig(dcgm=Timing(refresh_s=(30.0,)))
    found = by_target(run(dcgm, 150.0, config=IDLE))["dcgm/127.1.0.1:9400"]
    cluster = SimulatedCluster(IDLE, START_NS)
    true_s = {}
    for k in range(600):
        cluster.advance(START_NS + k * GRID_NS)
        true_s[float(cluster.readings.gpus.energy_joules[0])] = k / 4
    read_s = np.array([true_s[joules] for joules in values_of(found, "gpu_energy_joules_total")])
    age_s = seconds_of(found) - read_s
    assert (age_s >= 0).all()
    assert 15.0 < age_s.max() < 30.0
    assert set(np.diff(np.unique(read_s)[1:])) == {30.0}
    assert set(found[-1].times_ns.tolist()) == {found[-1].collection.collected_ns}, "a scrape has no other time"


def test_a_cached_counter_rises_in_steps() -> None:
    """Scraped every 10 s and read every 30 s, two of three rates are 0 and the third is three times the true one."""
    found = by_target(run(CollectionConfig(dcgm=Timing(refresh_s=(30.0,))), 300.0, config=IDLE))["dcgm/127.1.0.1:9400"]
    steps = np.diff(values_of(found, "gpu_energy_joules_total"))
    assert np.mean(steps == 0) == pytest.approx(2 / 3, abs=0.05)


@pytest.mark.parametrize(
    ("watermarks", "shown_s"), [(Timing(), 10.0), (Timing(refresh_s=(60.0,)), 60.0), (Timing(interval_s=(60.0,)), 60.0)]
)
def test_a_watermark_shows_a_burst_until_it_is_read_again(watermarks: Timing, shown_s: float) -> None:
    """However rarely it is read, a burst of two seconds within the time since the last read is in it."""
    config = IDLE.model_copy(update={"hosts": 4})
    found = by_target(run(CollectionConfig(watermarks=watermarks), 240.0, "incast@75s+2s:node2/mlx5_0", config=config))
    leaf = found["gnmi/127.2.0.1:50051"]
    rows = [row for row, key in enumerate(leaf[0].table.keys) if key.startswith("fabric_queue_occupancy_peak_bytes{")]
    highest = [batch.values[np.isin(batch.series, rows)].max() for batch in leaf if np.isin(rows, batch.series).any()]
    interval_s = 60.0 if watermarks.interval_s else 10.0
    assert max(highest) > 1e5
    assert sum(peak > 0.5 * max(highest) for peak in highest) * interval_s == shown_s


def test_a_lost_gpu_is_there_until_the_exporter_looks_again() -> None:
    found = by_target(run(CollectionConfig(dcgm=Timing(refresh_s=(30.0,))), 120.0, "xid@31s:node1/1", config=IDLE))
    batches = found["dcgm/127.1.0.1:9400"]
    sizes = np.array(list(map(len, batches)))
    gone_s = seconds_of(batches)[sizes < sizes[0]][0]
    assert 31.0 <= gone_s <= 31.0 + 30.0 + 10.0
    assert set(sizes) == {sizes[0], sizes[0] // 2}


@pytest.mark.parametrize(
    ("preset", "absent", "left"),
    [
        ("frames-only", "fabric_port_pfc_pause_seconds_total", "fabric_port_pfc_pause_frames_total"),
        ("frames-only", "nic_pfc_transitions_total", "nic_pfc_pause_frames_total"),
        ("no-ecn", "fabric_queue_ecn_marked_packets_total", "fabric_queue_transmit_packets_total"),
    ],
)
def test_absent_series_are_absent(preset: str, absent: str, left: str) -> None:
    all_of_them = metrics(run(None, 20.0))
    found = metrics(run(PRESETS[preset], 20.0))
    assert absent in all_of_them - found
    assert left in found
    assert all_of_them - found == set(PRESETS[preset].absent)


def test_what_is_left_keeps_its_values() -> None:
    complete, partial = by_target(run(None, 20.0)), by_target(run(PRESETS["no-ecn"], 20.0))
    for target, batches in partial.items():
        for batch, whole in zip(batches, complete[target], strict=True):
            expected = dict(zip(whole.table.keys, whole.values.tolist(), strict=True))
            assert dict(zip(batch.table.keys, batch.values.tolist(), strict=True)).items() <= expected.items()


def test_a_group_of_absent_series_is_no_collection() -> None:
    slow = {"watermarks": Timing(interval_s=(3.0,)), "optics": Timing(interval_s=(7.0,))}
    watermarks = [metric for metric in metrics(run(None, 10.0)) if "_peak_" in metric]
    found = by_target(run(CollectionConfig(**slow, absent=tuple(watermarks)), 60.0, config=IDLE))
    for batches in found.values():
        assert [batch.collection.seq for batch in batches] == list(range(len(batches)))
        assert min(map(len, batches)) > 0


def test_lost_collections_leave_gaps_and_failed_ones_reasons() -> None:
    losses = Losses(bad_share=0.2, burst_s=30.0)
    found = by_target(run(CollectionConfig(losses=losses), 400.0, config=IDLE))
    expected = 40 * len(found)
    vanished = expected - sum(map(len, found.values()))
    failed = [batch for batches in found.values() for batch in batches if not batch.collection.up]
    # 3,600 s of bursts of 30 s in all targets together: standard deviation of the share 0.03
    assert 0.08 < (vanished + len(failed)) / expected < 0.32
    assert vanished > 0.02 * expected
    assert len(failed) > 0.02 * expected
    for batches in found.values():
        seqs = [batch.collection.seq for batch in batches]
        assert seqs == sorted(set(seqs))
        assert all(
            batch.collection.collected_ns == START_NS + at for batch, at in zip(batches, _at(batches), strict=True)
        )


def _at(batches: list[SampleBatch]) -> list[int]:
    """A gap in the sequence is a collection that was due: later ones keep their times."""
    first = batches[0].collection
    step = 10 * NS_PER_S
    return [first.collected_ns - START_NS + (b.collection.seq - first.seq) * step for b in batches]


def test_slow_polls_arrive_later_and_those_that_take_too_long_fail() -> None:
    slow = CollectionConfig(durations=Durations(median_s=2.0, sigma=1.0, timeout_s=8.0))
    ticks = run(slow, 400.0, config=IDLE)
    polls = [(t, b) for t in ticks for b in t.batches if not b.table.target.startswith("gnmi/")]
    durations = np.array([batch.collection.duration_s for _, batch in polls])
    failed = np.array([batch.collection.down is DownReason.TIMEOUT for _, batch in polls])
    assert np.median(durations) == pytest.approx(2.0, rel=0.25)
    assert failed.mean() == pytest.approx(0.083, abs=0.06)  # P(ln(8 / 2) < N(0, 1))
    assert set(durations[failed]) == {8.0}
    for tick, batch in polls:
        late_s = (tick.now_ns - batch.collection.collected_ns) / NS_PER_S - batch.collection.duration_s
        assert -0.25 <= late_s <= 0.0, "to the quarter of a second"
    for batches in by_target(ticks).values():
        assert [batch.collection.seq for batch in batches] == list(range(len(batches)))


def test_ticks_come_in_the_order_of_time() -> None:
    for preset in ("mixed-intervals", "cached", "lossy"):
        ticks = run(PRESETS[preset], 60.0, config=IDLE)
        times = [tick.now_ns for tick in ticks]
        assert times == sorted(times)
        assert all(batch.collection.collected_ns <= tick.now_ns for tick in ticks for batch in tick.batches)
        assert times[-1] == START_NS + 60 * NS_PER_S


def test_clocks_of_switches_are_off_by_a_constant_and_a_drift() -> None:
    config = CollectionConfig(clocks=Clocks(skewed_share=1.0, offset_s=8.0, drift_ppm=400.0))
    offsets = []
    for target, batches in by_target(run(config, 120.0, config=IDLE)).items():
        ahead_ns = np.array([batch.times_ns[0] - batch.collection.collected_ns for batch in batches])
        since_s = seconds_of(batches)
        if not target.startswith("gnmi/"):
            assert (ahead_ns == 0).all()
            continue
        drift, offset = np.polyfit(since_s, ahead_ns / NS_PER_S, 1)
        assert abs(drift) <= 400e-6
        assert abs(offset) <= 8.0
        assert ahead_ns / NS_PER_S == pytest.approx(offset + drift * since_s, abs=1e-6)
        offsets.append(offset)
    assert max(offsets) - min(offsets) > 3.0


def test_half_of_the_switches_have_the_right_time() -> None:
    config = SimulatorConfig(hosts=8, gpus_per_host=4, step_ms=50, spines=20, jobs=JobMix(jobs=0))
    found = by_target(run(PRESETS["skewed-clocks"], 10.0, config=config))
    right = [b[0].times_ns[0] == b[0].collection.collected_ns for t, b in found.items() if t.startswith("gnmi/")]
    assert 0.2 < np.mean(right) < 0.8


def test_maintenance_is_not_announced() -> None:
    wave = "planned-reboot-wave@15s:r1"
    announced = [change for tick in run(None, 60.0, wave, config=IDLE) for change in tick.changes]
    found = [change for tick in run(PRESETS["unannounced"], 60.0, wave, config=IDLE) for change in tick.changes]
    assert ChangeKind.MAINTENANCE in {change.kind for change in announced}
    assert found == [change for change in announced if change.kind is not ChangeKind.MAINTENANCE]


def test_without_inventory_only_jobs_are_known() -> None:
    facts = [fact for tick in run(PRESETS["no-inventory"], 20.0) for fact in tick.facts]
    assert [fact.entity.key for fact in facts] == ["job/4711"]


@pytest.mark.parametrize("preset", ["mixed-intervals", "cached", "lossy", "skewed-clocks", "stale-inventory"])
def test_the_seed_decides(preset: str) -> None:
    first = everything(run(PRESETS[preset], 20.0, seed=5))
    assert everything(run(PRESETS[preset], 20.0, seed=5)) == first
    assert everything(run(PRESETS[preset], 20.0, seed=6)) != first


def test_how_it_is_collected_does_not_change_what_happens() -> None:
    fault = "slow-receiver@20s+20s"
    states = []
    for preset in (None, PRESETS["mixed-intervals"], PRESETS["lossy"]):
        last = run(preset, 60.0, fault)[-1].cluster
        states.append((last.truth, last.readings.ports.bytes.tobytes(), last.readings.gpus.energy_joules.tobytes()))
    assert states[0] == states[1] == states[2]
