"""The cluster at a glance, record by record: pace, GPU time, traffic, silent targets."""

from dataclasses import replace

import numpy as np
import pytest

from bus.base import Record
from fabricscope.api.data_state import silent
from fabricscope.api.history import History
from fabricscope.api.instants import rfc3339
from fabricscope.api.read_model import ReadModel
from fabricscope.api.routes.stream import noc_content
from fabricscope.api.wall.gpu_time import DAY_NS, GpuTimeToday
from fabricscope.api.wall.newest import NewestSamples
from fabricscope.api.wall.overview import JobState, overview
from telemetry import topics
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import encode_record
from telemetry.findings import Evidence, FindingKind
from telemetry.objects import job
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.starvation import GpuLoss, HostLosses
from telemetry.topology import Gpu, Job, TopologyFact
from tests.unit.fabricscope.api.wall_cluster import EVERY_S, NS, facts, finding, leaf_round, rounds, silent_round

NOON_NS = 1_700_049_600 * NS
USUAL = [0.4] * 12


@pytest.fixture
def model() -> ReadModel:
    found = ReadModel(History(900 * NS, 10**6))
    found.apply([Record(topics.TOPOLOGY.name, 0, 0, 0, b"", encode_record(fact), {}) for fact in facts()])
    return found


def take(model: ReadModel, *batches: SampleBatch) -> None:
    for one in batches:
        value, headers = encode_batch(one)
        model.apply([Record(topics.SAMPLES.name, 0, 0, 0, one.table.device.encode(), value, dict(headers))])


@pytest.mark.parametrize(
    ("works", "state", "work", "usual"),
    [
        (USUAL, JobState.NORMAL, 0.4, 0.4),
        ([*USUAL, 0.2, 0.2, 0.2, 0.2], JobState.SLOW, 0.2, 0.4),
        (USUAL[:4], JobState.LEARNING, 0.4, None),
        ([], JobState.UNKNOWN, None, None),
    ],
)
def test_the_pace_of_a_job_is_its_work_now_against_its_own_last_hour(model, works, state, work, usual):
    take(model, *rounds(works, NOON_NS))
    (found,) = overview(model, ()).jobs
    assert (found.job_id, found.nodes, found.gpus, found.state) == ("4711", 2, 4, state)
    assert (found.work, found.usual) == (pytest.approx(work) if work else None, usual)


@pytest.mark.parametrize("recorded", [[], [Gpu("node1", "GPU-1-0", 0), Gpu("node1", "GPU-1-1", 1)]])
def test_gpus_that_nobody_has_recorded_count_where_they_send_samples(recorded):
    """Who lists hosts and racks seldom lists the UUID of each GPU."""
    model, entities = ReadModel(History(900 * NS, 10**6)), [one for one in facts() if not isinstance(one.entity, Gpu)]
    entities += [TopologyFact(gpu, 1, "inventory") for gpu in recorded]
    model.apply([Record(topics.TOPOLOGY.name, 0, 0, 0, b"", encode_record(fact), {}) for fact in entities])
    take(model, *rounds(USUAL, NOON_NS))
    (found,) = overview(model, ()).jobs
    assert (found.gpus, found.state) == (4, JobState.NORMAL)
    assert found.work == pytest.approx(0.4)
    assert noc_content(model).cluster.gpus == 4


def test_a_job_on_a_part_of_a_host_has_the_gpus_whose_numbers_are_stated():
    """Of others nobody knows which are its own."""
    model = ReadModel(History(900 * NS, 10**6))
    job_on_a_part = TopologyFact(Job("7", ("node1",), gpu_indices=(1,)), 1, "slurm")
    model.apply([Record(topics.TOPOLOGY.name, 0, 0, 0, b"", encode_record(job_on_a_part), {})])
    take(model, *rounds(USUAL, NOON_NS))
    assert overview(model, ()).jobs[0].gpus == 0
    like = rounds([0.4], NOON_NS)[-2]
    info = [series_key("gpu_info", {"device": "node1", "gpu": f"GPU-1-{n}", "index": str(n)}) for n in range(2)]
    take(model, replace(like, table=SeriesTable(like.table.target, "node1", tuple(info))))
    assert overview(model, ()).jobs[0].gpus == 1


def test_what_analytics_finds_of_a_job_counts_however_long_it_lasts(model):
    take(model, *rounds([0.2] * 30, NOON_NS))  # the fault is all that the API knows
    slowed = finding("f1", job("4711"), 3.0, NOON_NS, FindingKind.JOB_SLOWED)
    model.findings["f1"] = replace(slowed, evidence=(Evidence("mean", 0.2, 0.4, "ratio"),))
    (found,) = overview(model, ()).jobs
    assert (found.state, found.usual) == (JobState.SLOWED, 0.4)
    assert found.work == pytest.approx(0.2)
    model.findings["f2"] = finding("f2", job("4711"), 3.0, NOON_NS, FindingKind.JOB_STALLED)
    assert overview(model, ()).jobs[0].state is JobState.STALLED


def test_traffic_is_used_of_rated_by_tier(model):
    take(model, *rounds(USUAL, NOON_NS))
    found = overview(model, ()).traffic
    assert [(one.tier, one.links, one.measured, one.rated_bits_per_second) for one in found] == [
        ("leaves – hosts", 4, 4, 4 * 800e9),
        ("spines – leaves", 2, 2, 2 * 800e9),
    ]
    assert [one.used_bits_per_second for one in found] == pytest.approx([4 * 200e9, 2 * 200e9])


def test_links_that_are_not_measured_count_neither_as_used_nor_as_rated(model):
    take(model, *(leaf_round(1, number, NOON_NS + number * EVERY_S * NS) for number in range(3)))
    hosts, spines = overview(model, ()).traffic
    assert (hosts.links, hosts.measured, hosts.rated_bits_per_second) == (4, 2, 2 * 800e9)
    assert (spines.links, spines.measured) == (2, 1)


def test_a_target_is_silent_since_its_last_answer(model):
    answers, later = leaf_round(1, 0, NOON_NS), NOON_NS + 50 * NS
    take(model, answers)
    take(model, *(silent_round("gnmi/leaf1", "leaf1", n, NOON_NS + n * EVERY_S * NS) for n in (1, 2, 3)))
    take(model, silent_round("gnmi/leaf2", "leaf2", 0, later))
    found = overview(model, silent(list(model.targets.values()), later))
    assert [(one.target, one.reason, one.since) for one in found.silent] == [
        ("gnmi/leaf1", "timeout", rfc3339(NOON_NS)),
        ("gnmi/leaf2", "timeout", rfc3339(later)),  # it has never answered
    ]
    take(model, leaf_round(1, 9, later))
    assert [one.target for one in overview(model, silent(list(model.targets.values()), later)).silent] == ["gnmi/leaf2"]


def losses(at_ns: int, *gpus: tuple[int, float, float]) -> HostLosses:
    """gpus: since when, watched, lost."""
    rows = (
        GpuLoss(f"GPU-{n}", "4711", since, watched, {"fabric": lost}) for n, (since, watched, lost) in enumerate(gpus)
    )
    return HostLosses("node1", at_ns, tuple(rows))


def test_gpu_time_is_that_of_the_day():
    midnight_ns = NOON_NS - NOON_NS % DAY_NS
    today = GpuTimeToday()
    today.add(losses(midnight_ns - 10 * NS, (0, 1000.0, 100.0)))
    today.add(losses(midnight_ns + 10 * NS, (0, 1020.0, 105.0), (midnight_ns, 10.0, 1.0)))
    found = today.today(midnight_ns + 20 * NS)
    assert (found.since_ns, found.watched_s, found.lost_s) == (midnight_ns, 30.0, {"fabric": 6.0})
    assert today.today(midnight_ns + DAY_NS + NS).watched_s == 0.0  # nothing of the next day is known


def test_gpu_time_from_before_the_api_began_to_listen_is_not_taken_for_todays():
    today = GpuTimeToday()
    today.add(losses(NOON_NS, (0, 1000.0, 100.0), (NOON_NS - 60 * NS, 60.0, 0.0)))
    today.add(losses(NOON_NS + 10 * NS, (0, 1010.0, 101.0), (NOON_NS - 60 * NS, 70.0, 0.0)))
    found = today.today(NOON_NS + 20 * NS)
    assert (found.since_ns, found.watched_s, found.lost_s) == (NOON_NS, 80.0, {"fabric": 1.0})


def test_the_newest_sample_of_each_series_survives_a_change_of_the_table():
    samples = NewestSamples(["x_total"])
    one, other = 'x_total{device="a"}', 'y_total{device="a"}'

    def batch(keys: tuple[str, ...], second: int, *values: float) -> SampleBatch:
        like = leaf_round(1, second, second * NS)
        rows = np.arange(len(keys), dtype=np.uint32)
        times = np.full(len(keys), second * NS)
        return SampleBatch(SeriesTable("t", "a", keys), like.collection, times, rows, np.array(values))

    samples.add(batch((one,), 10, 5.0))
    samples.add(batch((other, one), 20, 7.0, 25.0))
    samples.add(batch((other, one), 15, 9.0, 0.0))  # it comes late
    (found,) = samples.all()
    assert (found.metric, found.labels, found.time_ns, found.value) == ("x_total", {"device": "a"}, 20 * NS, 25.0)
    assert found.rate == pytest.approx(2.0)
    samples.add(batch((other, one), 30, 9.0, 1.0))
    assert np.isnan(next(samples.all()).rate)  # a reset has no rate


def test_targets_that_are_gone_for_an_hour_are_forgotten():
    """Each with a name of its own, as a scheduler gives its pods."""
    samples = NewestSamples(["x_total"])
    for number in range(10):
        second = 10 + 1000 * number
        like = leaf_round(1, second, second * NS)
        table = SeriesTable(f"t{number}", "a", (f'x_total{{device="a",pod="{number}"}}',))
        row = np.zeros(1, np.uint32)
        samples.add(SampleBatch(table, like.collection, np.array([second * NS]), row, np.ones(1)))
    assert [found.labels["pod"] for found in samples.all()] == ["6", "7", "8", "9"]
