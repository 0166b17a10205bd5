"""Direct samples: canonical names, one batch a target, down when the device does not answer."""

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.collection.config import CollectionConfig
from simulator.config import SimulatorConfig
from simulator.direct import CampaignTick, DirectCollector, campaign
from simulator.faults.schedule import parse_fault
from simulator.layout import Exporter, peer_address
from telemetry import catalogue
from telemetry.samples import DownReason, SampleBatch
from telemetry.series import parse_series_key, series_key

CONFIG = SimulatorConfig(hosts=4, interval_s=2.0)


def run(fault: str, lasts_s: float) -> list[CampaignTick]:
    return list(campaign(CONFIG, [parse_fault(fault)], lasts_s))


def of(tick: CampaignTick, target: str) -> SampleBatch:
    return next(b for b in tick.batches if b.table.target == target)


def test_every_series_is_in_the_catalogue_with_its_labels() -> None:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    cluster.advance(NS_PER_S)
    known = catalogue.metrics()
    for batch in DirectCollector(cluster).collect():
        assert len(set(batch.table.keys)) == len(batch.table.keys)
        for key in batch.table.keys:
            metric, labels = parse_series_key(key)
            assert labels.keys() == set(known[metric].labels), key
            assert labels["device"] == batch.table.device


def test_sessions_are_those_between_switches_and_idle_where_a_daemon_is_down() -> None:
    fault, sessions = parse_fault("routing-daemon-down@4s+60s:spine2"), CollectionConfig(sessions=True)
    tick = list(campaign(CONFIG, [fault], 10.0, collection=sessions))[-1]
    up = {
        (labels["device"], labels["peer"]): value
        for batch in tick.batches
        for key, value in zip(batch.table.keys, batch.values.tolist(), strict=True)
        for metric, labels in [parse_series_key(key)]
        if metric == "fabric_bgp_session_up"
    }
    layout = tick.cluster.layout
    between = [(port, at) for at, port in enumerate(layout.ports) if port.nic < 0]
    assert up == {
        (port.device, peer_address(layout, at)): float("spine2" not in (port.device, port.peer_device))
        for port, at in between
    }


def test_values_belong_to_their_series() -> None:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    cluster.advance(20 * NS_PER_S)
    samples = {
        b.table.keys[row]: value
        for b in DirectCollector(cluster).collect()
        for row, value in zip(b.series.tolist(), b.values.tolist(), strict=True)
    }
    layout, r = cluster.layout, cluster.readings
    port = layout.port_index["spine2", "Ethernet3/1"]
    nic = layout.nic_index["node2", "mlx5_5"]
    gpu = layout.host_gpus["node3"][4]
    expected = {
        'fabric_port_receive_bytes_total{device="spine2",port="Ethernet3/1"}': np.floor(r.ports.bytes[port, 0]),
        'ib_port_transmit_bytes_total{device="node2",port="mlx5_5"}': np.floor(r.nics.bytes[nic, 1]),
        f'gpu_power_watts{{device="node3",gpu="{layout.gpus[gpu].uuid}"}}': r.gpus.power_watts[gpu],
        'storage_written_bytes_total{device="oss2",fs="scratch",side="server",system="lustre",target="OST0003"}': (
            np.floor(r.storage.written_bytes[3])
        ),
    }
    for key, value in expected.items():
        assert samples[key] == value


def test_a_campaign_numbers_its_collections() -> None:
    ticks = run("incast@60s", 6.0)
    assert [t.now_ns - ticks[0].now_ns for t in ticks] == [0, 2 * NS_PER_S, 4 * NS_PER_S]
    assert [of(t, "dcgm/127.1.0.1:9400").collection.seq for t in ticks] == [0, 1, 2]
    assert len(ticks[0].facts) > 50
    assert ticks[2].facts == []
    assert [c.id for t in ticks for c in t.changes] == ["job_start/4711"]


def test_a_lost_gpu_has_no_series_any_more() -> None:
    ticks = run("xid@3s:node2/5", 6.0)
    before, after = of(ticks[0], "dcgm/127.1.0.2:9400"), of(ticks[-1], "dcgm/127.1.0.2:9400")
    uuid = ticks[0].cluster.layout.gpus[ticks[0].cluster.layout.host_gpus["node2"][5]].uuid
    assert any(uuid in key for key in before.table.keys)
    assert not any(uuid in key for key in after.table.keys)
    assert len(after) * 8 == len(before) * 7


def test_a_dead_device_is_down_not_zero() -> None:
    last = run("spine-down@1s:spine1", 4.0)[-1]
    down = [b for b in last.batches if not b.collection.up]
    assert [b.table.device for b in down] == ["spine1"]
    assert len(down[0]) == 0


def test_a_frozen_exporter_repeats_itself() -> None:
    ticks = run("exporter-frozen@3s:dcgm/node2", 10.0)
    frozen = [of(t, "dcgm/127.1.0.2:9400").values for t in ticks]
    others = [of(t, "dcgm/127.1.0.3:9400").values for t in ticks]
    assert (frozen[-1] == frozen[-2]).all()
    assert (others[-1] != others[-2]).any()


@pytest.mark.parametrize("parts", [1, 3, 4])
def test_each_target_is_read_once_an_interval(parts: int) -> None:
    ticks = list(campaign(CONFIG, [], 4.0, parts=parts))
    assert [tick.now_ns - ticks[0].cluster.start_ns for tick in ticks] == [
        pytest.approx((k + 1) * 2e9 / parts, abs=CONFIG.step_ms * 1e6) for k in range(2 * parts)
    ]
    first = [batch for tick in ticks[:parts] for batch in tick.batches]
    targets = [batch.table.target for batch in first]
    assert len(set(targets)) == len(targets)
    assert len(targets) == sum(one.exporter is not Exporter.SLURM for one in ticks[0].cluster.layout.endpoints)
    assert {batch.collection.seq for batch in first} == {0}
    assert {batch.collection.seq for tick in ticks[parts:] for batch in tick.batches} == {1}


def test_every_sample_has_the_time_of_its_readings() -> None:
    for tick in campaign(CONFIG, [], 4.0):
        for batch in tick.batches:
            assert batch.collection.collected_ns == tick.now_ns
            assert set(batch.times_ns.tolist()) <= {tick.now_ns}


def test_counters_of_things_are_whole_and_those_of_seconds_and_joules_are_not() -> None:
    tick = list(campaign(CONFIG, [parse_fault("slow-receiver@2s:node3/mlx5_2")], 10.0))[-1]
    whole: dict[str, bool] = {}
    for batch in tick.batches:
        for key, value in zip(batch.table.keys, batch.values.tolist(), strict=True):
            metric, _ = parse_series_key(key)
            whole[metric] = whole.get(metric, True) and value == int(value)
    for metric in ("fabric_port_receive_bytes_total", "ib_port_transmit_bytes_total", "storage_read_bytes_total"):
        assert whole[metric]
    for metric in ("gpu_energy_joules_total", "nic_pfc_pause_seconds_total", "gpu_power_watts"):
        assert not whole[metric]


def test_a_host_without_gpus_answers_without_samples() -> None:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    for gpu in cluster.layout.host_gpus["node2"]:
        cluster.machine.gpus.present[gpu] = False
    cluster.advance(NS_PER_S)
    batches = {batch.table.target: batch for batch in DirectCollector(cluster).collect()}
    empty = batches["dcgm/127.1.0.2:9400"]
    assert (len(empty), empty.collection.down) == (0, DownReason.NOT_EXPOSITION)
    assert batches["node/127.1.0.2:9100"].collection.up


def test_the_same_table_is_used_until_the_units_change() -> None:
    ticks = run("xid@5s:node2/5", 8.0)
    tables = [of(tick, "dcgm/127.1.0.2:9400").table for tick in ticks]
    assert tables[0] is tables[1]
    assert tables[2] is tables[3] is not tables[0]


def test_facts_and_changes_come_once() -> None:
    ticks = list(campaign(CONFIG, [parse_fault("xid@5s:node1/5")], 12.0))
    facts = [(fact.entity.key, fact.gone) for tick in ticks for fact in tick.facts]
    assert len(set(facts)) == len(facts)
    assert [key for key, gone in facts if gone] == ["job/4711"]
    changes = [change.id for tick in ticks for change in tick.changes]
    assert len(set(changes)) == len(changes)
    assert changes[:2] == ["job_start/4711", "job_end/4711"]


def test_keys_are_spelled_as_everywhere_else() -> None:
    config = SimulatorConfig(hosts=2, gpus_per_host=1, step_ms=50, filesystem='100% "new"')
    (tick,) = campaign(config, [], lasts_s=10)
    for key in (key for batch in tick.batches for key in batch.table.keys):
        assert series_key(*parse_series_key(key)) == key
    (server, *_) = (batch for batch in tick.batches if batch.table.device == "oss1")
    assert {parse_series_key(key)[1]["fs"] for key in server.table.keys} == {'100% "new"'}
