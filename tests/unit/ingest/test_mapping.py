"""From the sources' names to canonical series: the catalogue's quirks, one by one."""

import pytest

from ingest.collectors.exposition.mapping import Mapper
from ingest.collectors.exposition.page import COMPILED, PageReader
from ingest.ledger import DropReason
from telemetry.catalogue import Kind, Metric, Origin, Source, origins_of, sources
from tests.samples import SAMPLES

NOW_NS = 1_760_000_000 * 10**9


def canonical(source: str, page: str | bytes, compiled: bool = COMPILED) -> dict[str, float]:
    found = sources()[source]
    mapper = Mapper(found, {"device": "node1"}, origins_of(source))
    reader = PageReader("job/a:1", "node1", mapper, sentinels=found.sentinels, compiled=compiled)
    reading = reader.read(page.encode() if isinstance(page, str) else page, NOW_NS)
    return {reading.table.keys[row]: value for row, value in zip(reading.series, reading.values.tolist(), strict=True)}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("source", "line", "key", "value"),
    [
        # units
        ("dcgm", 'DCGM_FI_DEV_FB_USED{UUID="G"} 3', 'gpu_memory_used_bytes{device="node1",gpu="G"}', 3 * 2**20),
        ("dcgm", 'DCGM_FI_DEV_SM_CLOCK{UUID="G"} 1980', 'gpu_sm_clock_hertz{device="node1",gpu="G"}', 1.98e9),
        (
            "dcgm",
            'DCGM_FI_DEV_THERMAL_VIOLATION{UUID="G"} 5e9',
            'gpu_throttle_seconds_total{device="node1",gpu="G",reason="thermal"}',
            5.0,
        ),
        # names of 4.6 and of 1.x, and the other spellings of the UUID; percent under a name that says ratio
        ("dcgm", 'DCGM_FI_DEV_GPU_UTIL_RATIO{UUID="G"} 50', 'gpu_utilization_ratio{device="node1",gpu="G"}', 0.5),
        ("dcgm", 'dcgm_gpu_utilization{uuid="G"} 50', 'gpu_utilization_ratio{device="node1",gpu="G"}', 0.5),
        ("dcgm", 'DCGM_FI_DEV_POWER_USAGE{gpu_uuid="G"} 5', 'gpu_power_watts{device="node1",gpu="G"}', 5.0),
        # a rate that is declared a counter
        (
            "dcgm",
            '# TYPE DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL counter\nDCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{UUID="G"} 7',
            'gpu_nvlink_combined_bytes_per_second{device="node1",gpu="G"}',
            7e6,
        ),
        # MIG, and a link of NVLink
        (
            "dcgm",
            'DCGM_FI_DEV_FB_FREE{UUID="G",GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"} 1',
            'gpu_memory_free_bytes{device="node1",gpu="G",instance_id="7",instance_profile="1g.10gb"}',
            2**20,
        ),
        (
            "dcgm",
            'DCGM_FI_DEV_NVLINK_COUNT_TX_BYTES{gpu_uuid="G",nvlink="3"} 9',
            'gpu_nvlink_bytes_total{device="node1",direction="tx",gpu="G",link="3"}',
            9.0,
        ),
        # the exporter's own idea of the device does not count
        ("dcgm", 'DCGM_FI_DEV_FB_FREE{UUID="G",device="x"} 0', 'gpu_memory_free_bytes{device="node1",gpu="G"}', 0.0),
        # digits inside a name
        (
            "node_exporter",
            'node_ethtool_received_prio3_pause{device="mlx5_0"} 8',
            'nic_pfc_pause_frames_total{device="node1",direction="rx",port="mlx5_0",priority="3"}',
            8.0,
        ),
        (
            "node_exporter",
            'node_ethtool_tx_prio7_pause_duration{device="eth0"} 2000000',
            'nic_pfc_pause_seconds_total{device="node1",direction="tx",port="eth0",priority="7"}',
            2.0,
        ),
        # the first port of a NIC has the NIC's name
        (
            "node_exporter",
            'node_infiniband_np_cnp_packets_sent_total{device="mlx5_0",port="1"} 4',
            'rdma_cnp_sent_total{device="node1",port="mlx5_0"}',
            4.0,
        ),
        (
            "node_exporter",
            'node_infiniband_state_id{device="mlx4_0",port="2"} 4',
            'ib_port_state{device="node1",port="mlx4_0/2"}',
            4.0,
        ),
        (
            "node_exporter",
            'node_network_speed_bytes{device="eth0"} 125',
            'nic_speed_bits_per_second{device="node1",port="eth0"}',
            1000.0,
        ),
        # 4-byte words where the exporter does not multiply
        (
            "rdma_exporter",
            'rdma_port_rcv_data_total{device="mlx5_0",port="1"} 5',
            'ib_port_receive_bytes_total{device="node1",port="mlx5_0"}',
            20.0,
        ),
        # file system and target out of one label
        (
            "lustre",
            'lustre_read_bytes_total{component="ost",operation="read",target="scratch-OST0003"} 1',
            'storage_read_bytes_total{device="node1",fs="scratch",side="server",system="lustre",target="OST0003"}',
            1.0,
        ),
        (
            "lustre",
            'lustre_client_stats{operation="read",target="exafs-ffff9239aa0c4800"} 2',
            'storage_operations_total{device="node1",fs="exafs",op="read",side="client",system="lustre"}',
            2.0,
        ),
    ],
)  # fmt: skip
def test_quirks(source: str, line: str, key: str, value: float, compiled: bool) -> None:
    assert canonical(source, line + "\n", compiled)[key] == pytest.approx(value)


def test_a_bit_mask_becomes_one_state_a_reason() -> None:
    found = canonical("dcgm", 'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{UUID="G"} 68\n')
    active = {key for key, value in found.items() if value == 1.0}
    assert len(found) == 9
    assert active == {
        'gpu_throttle_active{device="node1",gpu="G",reason="sw_power_cap"}',
        'gpu_throttle_active{device="node1",gpu="G",reason="hw_thermal"}',
    }


def test_the_gpu_is_described_once_however_many_series_tell() -> None:
    labels = 'gpu="0",UUID="G",pci_bus_id="00000000:19:00.0",modelName="H100",DCGM_FI_DRIVER_VERSION="580"'
    page = f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} 30\nDCGM_FI_DEV_GPU_UTIL{{{labels}}} NaN\n"
    key = 'gpu_info{device="node1",driver="580",gpu="G",index="0",model="H100",pci_bus_id="00000000:19:00.0"}'
    assert canonical("dcgm", page)[key] == 1.0


@pytest.mark.parametrize("compiled", [True, False])
def test_the_buckets_of_an_io_time_histogram_add_up(compiled: bool) -> None:
    line = 'lustre_io_time_milliseconds_total{{component="ost",operation="read",target="s-OST0001",size="{}"}} {}\n'
    page = "".join(line.format(size, count) for size, count in ((1, 10), (2, 20), (1024, 5)))
    found = canonical("lustre", page, compiled)
    labels = '{device="node1",fs="s",op="read",side="server",system="lustre",target="OST0001"}'
    assert found["storage_operation_duration_seconds_count" + labels] == 35
    assert found["storage_operation_duration_seconds_sum" + labels] == pytest.approx(0.75e-3 * (10 + 40 + 5120))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("value", ["9223372036854775794", "2147483633", "140737488355330", "NaN", "82505", "-21"])
def test_sentinels_and_impossible_temperatures_are_no_sample(value: str, compiled: bool) -> None:
    assert canonical("dcgm", f'DCGM_FI_DEV_GPU_TEMP{{UUID="G"}} {value}\n', compiled) == {
        'gpu_info{device="node1",gpu="G"}': 1.0
    }


def test_a_series_without_its_gpu_or_unknown_is_left_out() -> None:
    assert canonical("dcgm", 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 30\nsomething_else{UUID="G"} 1\n') == {}


def test_a_job_maps_any_exporter_by_itself_and_adds_its_own_labels() -> None:
    metric = Metric("room_watts", Kind.GAUGE, "watts", ("device", "sensor"), "")
    origin = Origin("mine", "rack_power_{sensor}", scale=1000.0, where={"unit": "kW|kw"})
    mapper = Mapper(Source("mine", ""), {"device": "pdu1", "row": "7"}, [(metric, origin)])
    (entry,) = mapper.map("rack_power_12", {"unit": "kW", "device": "impostor"})
    assert (entry.key, entry.scale) == ('room_watts{device="pdu1",row="7",sensor="12"}', 1000.0)
    assert mapper.map("rack_power_12", {"unit": "W"}) == []
    assert mapper.map("rack_power_x", {"unit": "kW"}) == []


def test_a_real_page_with_leaked_blanks_and_instances() -> None:
    page = (SAMPLES / "dcgm" / "exposition" / "instances_and_blanks.prom").read_bytes()
    found = sources()["dcgm"]
    reader = PageReader(
        "j/a", "node1", Mapper(found, {"device": "node1"}, origins_of("dcgm")), sentinels=found.sentinels
    )
    reading = reader.read(page, NOW_NS)
    assert reading.dropped == {DropReason.NO_VALUE: 1}
    assert sum("instance_id" in key for key in reading.table.keys) == 3
