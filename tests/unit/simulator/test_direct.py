"""Direct samples: canonical names, one batch a target, down when the device does not answer."""

import numpy as np

from simulator.cluster import SimulatedCluster
from simulator.config import SimulatorConfig
from simulator.direct import CampaignTick, DirectCollector, campaign
from simulator.faults.schedule import parse_fault
from telemetry import catalogue
from telemetry.samples import SampleBatch
from telemetry.series import parse_series_key

NS = 1_000_000_000
CONFIG = SimulatorConfig(hosts=4, interval_s=2.0)


def run(fault: str, lasts_s: float) -> list[CampaignTick]:
    return list(campaign(CONFIG, [parse_fault(fault)], lasts_s))


def of(tick: CampaignTick, target: str) -> SampleBatch:
    return next(b for b in tick.batches if b.table.target == target)


def test_every_series_is_in_the_catalogue_with_its_labels() -> None:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    cluster.advance(NS)
    known = catalogue.metrics()
    for batch in DirectCollector(cluster).collect():
        assert len(set(batch.table.keys)) == len(batch.table.keys)
        for key in batch.table.keys:
            metric, labels = parse_series_key(key)
            assert labels.keys() == set(known[metric].labels), key
            assert labels["device"] == batch.table.device


def test_values_belong_to_their_series() -> None:
    cluster = SimulatedCluster(CONFIG, start_ns=0)
    cluster.advance(20 * NS)
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
    assert [t.now_ns - ticks[0].now_ns for t in ticks] == [0, 2 * NS, 4 * NS]
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
