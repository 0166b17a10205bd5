"""How alerts of baselines become pages in a campaign, and that baselines see what the engine saw."""

from dataclasses import replace

import numpy as np
import pytest

from common.errors import ConfigError
from common.units import NS_PER_S
from evaluation.baselines import learned, statistical
from evaluation.campaigns import baselines
from evaluation.campaigns.baselines import CampaignAlerts, alerts, best, later, left_discord, recorded, robust_z
from evaluation.campaigns.pages import GAP_NS, Alerts, Labels, Pages, false_events, figures, labels, pages
from evaluation.campaigns.plan import INTERVAL_S, STEP_MS, Plan, faulty, healthy
from evaluation.campaigns.recording import Recorder, Recording
from evaluation.campaigns.run_plan import CampaignRun, run_plan
from evaluation.campaigns.truth import LATE_NS, FaultImpact, impacts
from evaluation.series.labelled import Series
from simulator.config import JobMix, SimulatorConfig
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault
from simulator.faults.truth import Truth
from simulator.layout import topology_facts
from simulator.wiring import build_layout
from telemetry.objects import device, parse_object
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable
from telemetry.topology import Job, Topology, TopologyFact

CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2)
LAYOUT = build_layout(CONFIG)
JOB = TopologyFact(Job("1", ("node1", "node2"), started_ns=0), 0, "slurm")
TOPOLOGY = Topology().with_facts([*topology_facts(LAYOUT, 0), JOB])
ABOUT = ("device:node1", "port:leaf1/Ethernet0", "device:spine1", "device:node4", "port:spine1/Ethernet1/1")


def cause(fault: str, root: str, reach: tuple[str, ...] = ()) -> FaultImpact:
    truth = Truth(
        fault, FAULTS[fault].kind, parse_object(root), 1000 * NS_PER_S, 1100 * NS_PER_S, FAULTS[fault].planned, reach
    )
    return impacts([truth], TOPOLOGY)[0]


def labelled(*causes: FaultImpact) -> Labels:
    """An hour and a day at 10 s; series ``ABOUT``, of which only what changes is recorded."""
    objects = tuple(parse_object(text) for text in ABOUT)
    devices = tuple(each.device for each in objects)
    recording = Recording(np.zeros(0, np.int64), np.zeros(0), np.zeros(6, np.int64), objects, devices)
    run = CampaignRun(Plan(CONFIG, (ScheduledFault(fault="spine-down"),), 86400.0 + 3600.0, 1), series=1000)
    return labels(run, causes, recording, 3600 * NS_PER_S)


def alerts_at(*points: tuple[int, float]) -> Alerts:
    """(series, second) of each alert."""
    series, seconds = (np.array(column) for column in zip(*points, strict=True))
    return Alerts(np.ones(len(points)), (seconds * NS_PER_S).astype(np.int64), series.astype(np.int64))


SPINE = cause("spine-down", "device:spine1")
THROTTLED = cause("gpu-thermal-throttle", f"gpu:node1/{LAYOUT.gpus[0].uuid}", ("node1",))


def outcome(of: Labels, *points: tuple[int, float]) -> tuple[list[bool], list[bool]]:
    """Of each page: whether it belongs to the first fault, and whether it names its root."""
    found = pages(of, alerts_at(*points))
    return found.belongs[0].tolist(), found.names[0].tolist()


def test_alerts_of_a_device_that_are_close_together_are_one_page():
    gap_s = GAP_NS / NS_PER_S
    near = alerts_at((2, 1000.0), (4, 1000.0 + gap_s), (2, 1000.0 + 2 * gap_s))
    assert pages(labelled(SPINE), near).sent_ns.tolist() == [1000 * NS_PER_S]
    apart = alerts_at((4, 1001.0 + gap_s), (2, 1000.0), (3, 1000.0))
    assert sorted(pages(labelled(SPINE), apart).sent_ns.tolist()) == [
        1000 * NS_PER_S,
        1000 * NS_PER_S,
        int((1001 + gap_s) * NS_PER_S),
    ]


@pytest.mark.parametrize(
    ("series", "at_s", "belongs", "names"),
    [
        (2, 1000.0, True, True),
        (4, 1099.0, True, True),  # a port of the spine
        (1, 1050.0, True, False),  # backpressure at a leaf
        (0, 1050.0, True, False),  # a host whose job may wait
        (3, 1050.0, False, False),  # an idle host
        (2, 999.0 - INTERVAL_S, False, False),
        (2, 1100.0 + LATE_NS / NS_PER_S, True, True),
        (2, 1101.0 + LATE_NS / NS_PER_S, False, False),
    ],
)
def test_a_page_belongs_to_a_fault_that_affects_its_object_while_it_lasts(series, at_s, belongs, names):
    assert outcome(labelled(SPINE), (series, at_s)) == ([belongs], [names])


def test_a_slow_gpu_is_named_by_its_host_and_affects_no_switch():
    assert outcome(labelled(THROTTLED), (0, 1050.0), (1, 1050.0)) == ([False, True], [False, True])


@pytest.mark.parametrize(
    ("fault", "root", "reach", "devices"),
    [
        ("slow-receiver", "port:leaf1/Ethernet0", ("node1",), {"leaf1", "node1"}),
        ("spine-down", "device:spine1", (), {"spine1"}),
        ("rack-cooling", "rack:r1", ("node1", "node2"), {"node1", "node2"}),
        ("planned-reboot-wave", "device:node1", ("node1", "node2"), {"node1", "node2"}),
        ("late-checkpoint", "job:1", ("node2",), {"node2"}),
    ],
)
def test_the_devices_that_name_a_root(fault, root, reach, devices):
    assert cause(fault, root, reach).devices == devices


def test_a_storage_target_is_named_by_its_server():
    target = LAYOUT.targets[0]
    slow = cause("slow-storage-target", f"storage_target:{LAYOUT.filesystem}/{target.name}")
    assert slow.devices == {target.server}


def test_an_alert_before_the_fault_keeps_the_page_false_however_long_it_goes_on():
    assert outcome(labelled(SPINE), *((2, 900.0 + 60.0 * k) for k in range(4))) == ([False], [False])


def test_figures_of_pages_are_shares_of_faults_and_false_pages_per_day():
    of = labelled(SPINE, THROTTLED)
    found = figures([of], [pages(of, alerts_at((1, 1010.0), (2, 1030.0), (3, 5000.0), (3, 9000.0)))])
    assert (found.recall, found.root_named, found.pages) == (0.5, 0.5, 1.0)
    assert (found.precision, found.f1, found.delay) == (0.5, 0.5, 1.0)
    assert (found.false, found.per_day) == (2, 2.0)


def test_false_events_are_counted_by_series():
    of = labelled(SPINE)
    assert false_events(of, alerts_at((1, 5000.0), (2, 5000.0), (4, 5000.0), (4, 5060.0), (2, 1050.0))) == 3


def test_no_alerts_have_recall_0_and_nothing_false():
    of = labelled(SPINE)
    none = Alerts(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
    found = figures([of], [pages(of, none)])
    assert (found.recall, found.false, np.isnan(found.precision)) == (0.0, 0, True)


def test_the_threshold_is_that_of_the_best_f1():
    of = labelled(SPINE)
    points = alerts_at((2, 1010.0), (3, 5000.0), (3, 9000.0))
    scored = replace(points, scores=np.array([3.0, 2.0, 1.0]))
    nothing = np.zeros((1, 0), np.bool_)
    found = CampaignAlerts(of, Pages(np.zeros(0, np.int64), nothing, nothing), 0, {"some": scored})
    assert 2.0 < best("some", [found]) <= 3.0


TABLE = SeriesTable(
    "node/n1:9100",
    "node1",
    (
        'nic_flaps_total{device="node1",port="mlx5_0"}',
        'node_load_1m{device="node1"}',
        'node_memory_total_bytes{device="node1"}',
    ),
)


def batch(at_s: float, *values: float) -> SampleBatch:
    at_ns = int(at_s * NS_PER_S)
    rows = np.arange(3, dtype=np.uint32)
    collection = Collection(0, int(at_s), at_ns, 0.01)
    return SampleBatch(TABLE, collection, np.full(3, at_ns, np.int64), rows, np.array(values))


def test_counters_are_recorded_as_rates_and_what_never_changes_is_left_out():
    recorder = Recorder()
    for at_s, *values in ((10, 5, 1, 7), (20, 25, 1, 7), (40, 45, 2, 7), (50, 3, 2, 7), (60, 13, 2, 7)):
        recorder.add([batch(at_s, *values)])
    found = recorder.recording()
    assert [str(each) for each in found.objects] == ["port:node1/mlx5_0", "device:node1"]
    assert found.devices == ("node1", "node1")
    assert found.starts.tolist() == [0, 3, 8]
    assert (found.times_ns[:3] // NS_PER_S).tolist() == [20, 40, 60]  # the reset at 50 s gives no rate
    assert found.values.tolist() == [2.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]


def test_what_is_recorded_is_what_the_engine_got():
    plan = Plan(
        SimulatorConfig(hosts=2, gpus_per_host=2, jobs=JobMix(jobs=1), seed=5, step_ms=STEP_MS, interval_s=INTERVAL_S),
        (),
        400.0,
        5,
    )
    batches: list[SampleBatch] = []
    run = run_plan(plan, batches.extend)
    up = [one for one in batches if one.collection.down is None]
    assert run.series == sum(len(table) for table in {one.table for one in up})
    assert len({one.table for one in up}) * 40 > len(up)  # some were lost
    assert any(one.collection.down is DownReason.TIMEOUT for one in batches)
    assert [one.collection for one in _batches_of(plan)] == [one.collection for one in batches]


def _batches_of(plan: Plan) -> list[SampleBatch]:
    again: list[SampleBatch] = []
    run_plan(plan, again.extend)
    return again


def test_a_later_plan_has_the_same_faults_after_more_healthy_time():
    plan = faulty(1)[0]
    moved = later(plan, 1200.0)
    assert moved.lasts_s == plan.lasts_s + 1200.0
    assert [fault.at_s - 1200.0 for fault in moved.faults] == pytest.approx([fault.at_s for fault in plan.faults])
    assert (moved.config, moved.seed) == (plan.config, plan.seed)
    assert later(healthy(1), 1200.0).healthy


def test_a_fault_without_a_job_is_postponed(monkeypatch):
    tried = []

    def busy_later(plan, on_batches):
        tried.append(plan.lasts_s)
        if len(tried) < 3:
            raise ConfigError("no job")
        return run_plan(plan, on_batches)

    monkeypatch.setattr(baselines, "run_plan", busy_later)
    monkeypatch.setattr(baselines, "HEALTHY_FIRST_S", 100.0)
    run, found = recorded(
        Plan(SimulatorConfig(hosts=2, gpus_per_host=2, step_ms=STEP_MS, interval_s=INTERVAL_S), (), 60.0, 5), 100.0
    )
    assert tried == [160.0, 220.0, 280.0]
    assert (run.plan.lasts_s, len(found.objects) > 0) == (280.0, True)
    tried.clear()
    with pytest.raises(ConfigError):
        recorded(Plan(CONFIG, (), 60.0, 5), 200.0)


def recording(*columns: np.ndarray) -> Recording:
    starts = np.cumsum([0, *(column.size for column in columns)])
    times_ns = np.concatenate([np.arange(column.size, dtype=np.int64) * 10 * NS_PER_S for column in columns])
    return Recording(times_ns, np.concatenate(columns), starts, (device("n"),) * len(columns), ("n",) * len(columns))


def series(values: np.ndarray) -> Series:
    return Series("campaign", 0, np.arange(values.size, dtype=np.int64) * 10 * NS_PER_S, values, (), 30)


def test_the_robust_z_score_of_all_series_at_once_is_that_of_each():
    rng = np.random.default_rng(1)
    columns = [rng.normal(10, 1, size) for size in (400, 60, 400, 20)]
    each = np.concatenate([statistical.robust_z(series(values)) for values in columns])
    np.testing.assert_array_equal(robust_z(recording(*columns)), each)


def test_a_constant_window_is_no_discord_and_other_scores_are_unchanged():
    values = np.random.default_rng(2).normal(10, 1, 300)
    values[200:240] = 10.0
    was, found = learned.left_discord(series(values)), left_discord(series(values))
    assert was[223:240].min() > 6.0
    assert found[223:240].tolist() == [0.0] * 17
    np.testing.assert_array_equal(np.delete(found, range(223, 240)), np.delete(was, range(223, 240)))


def test_the_score_of_a_constant_window_is_causal():
    values = np.random.default_rng(4).normal(10, 1, 300)
    values[100:140] = 10.0
    later_on = np.concatenate([values[:200], values[200:] + 50.0])
    assert left_discord(series(values))[:200].tobytes() == left_discord(series(later_on))[:200].tobytes()


@pytest.mark.parametrize("name", ["EWMA", "robust z-score"])
def test_alerts_are_the_points_with_the_highest_scores(name):
    values = np.random.default_rng(3).normal(10, 1, 600)
    values[20], values[550] = 40.0, 40.0
    found = alerts(name, recording(values, values[::-1].copy()), 300 * 10 * NS_PER_S)
    assert 0 < found.scores.size <= 0.02 * 1200 + 1
    assert found.times_ns.min() >= 300 * 10 * NS_PER_S
    assert set(found.series.tolist()) <= {0, 1}
