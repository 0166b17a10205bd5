"""From the sources' names to canonical series: the catalogue's quirks, one by one."""

import pytest

from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.ledger import DropReason
from telemetry.catalogue import Kind, Metric, Origin, Source
from tests.samples import SAMPLES
from tests.unit.ingest.exposition.mapped import NOW_NS, canonical, reader_of


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
        (
            "dcgm",
            '# TYPE DCGM_FI_PROF_PCIE_TX_BYTES counter\nDCGM_FI_PROF_PCIE_TX_BYTES{UUID="G"} 7',
            'gpu_pcie_bytes_per_second{device="node1",direction="tx",gpu="G"}',
            7.0,
        ),
        # millijoules
        (
            "dcgm",
            'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{UUID="G"} 2500',
            'gpu_energy_joules_total{device="node1",gpu="G"}',
            2.5,
        ),
        # the host's label in either spelling
        ("dcgm", 'DCGM_FI_DEV_FB_FREE{UUID="G",Hostname="x"} 0', 'gpu_memory_free_bytes{device="node1",gpu="G"}', 0.0),
        ("dcgm", 'DCGM_FI_DEV_FB_FREE{UUID="G",hostname="x"} 0', 'gpu_memory_free_bytes{device="node1",gpu="G"}', 0.0),
        # counts in a window, which says how long it is
        (
            "dcgm",
            'DCGM_EXP_XID_ERRORS_COUNT{UUID="G",window_size_in_ms="300000",xid="48"} 2',
            'gpu_xid_events{device="node1",gpu="G",window="300000",xid="48"}',
            2.0,
        ),
        (
            "dcgm",
            'DCGM_EXP_CLOCK_EVENTS_COUNT{UUID="G",window_size_in_ms="300000",clock_event="hw_thermal"} 3',
            'gpu_clock_events{device="node1",gpu="G",reason="hw_thermal",window="300000"}',
            3.0,
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
            'DCGM_FI_DEV_NVLINK_COUNT_TX_BYTES{gpu="0",gpu_uuid="G",model_name="H100",hostname="x",nvlink="3"} 9',
            'gpu_nvlink_bytes_total{device="node1",direction="tx",gpu="G",link="3"}',
            9.0,
        ),
        # the exporter's own idea of the device does not count
        ("dcgm", 'DCGM_FI_DEV_FB_FREE{UUID="G",device="x"} 0', 'gpu_memory_free_bytes{device="node1",gpu="G"}', 0.0),
        # AMD: microjoules, MB of 2^20 bytes, percent
        (
            "amd",
            '# TYPE gpu_energy_consumed gauge\ngpu_energy_consumed{gpu_uuid="A"} 3e6',
            'gpu_energy_joules_total{device="node1",gpu="A"}',
            3.0,
        ),
        ("amd", 'gpu_used_vram{gpu_uuid="A"} 3', 'gpu_memory_used_bytes{device="node1",gpu="A"}', 3 * 2**20),
        ("amd", 'gpu_total_vram{gpu_uuid="A"} 3', 'gpu_memory_total_bytes{device="node1",gpu="A"}', 3 * 2**20),
        ("amd", 'gpu_gfx_activity{gpu_uuid="A"} 50', 'gpu_utilization_ratio{device="node1",gpu="A"}', 0.5),
        ("amd", 'gpu_package_power{serial_number="S",gpu_id="0"} 5', 'gpu_power_watts{device="node1",gpu="S"}', 5.0),
        ("amd", 'gpu_junction_temperature{gpu_id="0"} 60', 'gpu_temperature_celsius{device="node1",gpu="0"}', 60.0),
        ("amd", 'gpu_memory_temperature{gpu_id="0"} 5', 'gpu_memory_temperature_celsius{device="node1",gpu="0"}', 5.0),
        (
            "amd",
            'gpu_ecc_uncorrect_total{gpu_id="0"} 4',
            'gpu_ecc_errors_total{device="node1",gpu="0",persistence="volatile",severity="uncorrectable"}',
            4.0,
        ),
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
        # versions: of the kernel its release and not the build, of NICs with the type that has them
        (
            "node_exporter",
            'node_uname_info{domainname="(none)",machine="x86_64",nodename="n1",release="6.8.0-85-generic",'
            'sysname="Linux",version="#85-Ubuntu SMP PREEMPT_DYNAMIC Thu Sep 18 15:26:59 UTC 2025"} 1',
            'device_software_info{component="kernel",device="node1",version="6.8.0-85-generic"}',
            1.0,
        ),
        (
            "node_exporter",
            'node_os_info{build_id="",id="ubuntu",id_like="debian",image_id="",image_version="",name="Ubuntu",'
            'pretty_name="Ubuntu 24.04.4 LTS",variant="",variant_id="",version="24.04.4 LTS (Noble Numbat)",'
            'version_codename="noble",version_id="24.04"} 1',
            'device_software_info{component="os",device="node1",version="Ubuntu 24.04.4 LTS"}',
            1.0,
        ),
        (
            "node_exporter",
            'node_ethtool_info{bus_info="0000:00:1f.6",device="eth0",driver="e1000e",expansion_rom_version="",'
            'firmware_version="0.5-4",version="5.11.0-22-generic"} 1',
            'device_software_info{component="nic_driver",device="node1",version="e1000e 5.11.0-22-generic"}',
            1.0,
        ),
        (
            "node_exporter",
            'node_infiniband_info{board_id="SM_1141000001000",device="mlx4_0",firmware_version="2.31.5050",'
            'hca_type="MT4099"} 1',
            'device_software_info{component="nic_firmware",device="node1",version="MT4099 2.31.5050"}',
            1.0,
        ),
        (
            "dcgm",
            'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="G",pci_bus_id="00000000:0D:00.0",device="nvidia0",'
            'modelName="NVIDIA L40S",Hostname="ubuntu-sv16",DCGM_FI_DRIVER_VERSION="580.126.09"} 30',
            'device_software_info{component="gpu_driver",device="node1",version="580.126.09"}',
            1.0,
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


def test_the_gpu_is_described_once_however_many_series_it_has() -> None:
    labels = 'gpu="0",UUID="G",pci_bus_id="00000000:19:00.0",modelName="H100",DCGM_FI_DRIVER_VERSION="580"'
    body = f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} 30\nDCGM_FI_DEV_GPU_UTIL{{{labels}}} NaN\n"
    key = 'gpu_info{device="node1",driver="580",gpu="G",index="0",model="H100",pci_bus_id="00000000:19:00.0"}'
    assert canonical("dcgm", body)[key] == 1.0


@pytest.mark.parametrize("name", ["DCGM_FI_DEV_SERIAL", "DCGM_FI_DEV_BOARD_SERIAL"])
def test_the_serial_of_a_gpu_is_taken_where_the_exporter_is_set_to_state_it(name: str) -> None:
    """A row of its settings that both of its default files have as a comment: ``DCGM_FI_DEV_SERIAL, label, …``."""
    body = f'DCGM_FI_DEV_GPU_TEMP{{gpu="0",UUID="G",{name}="1650321004242"}} 30\n'
    assert canonical("dcgm", body)['gpu_info{device="node1",gpu="G",index="0",serial="1650321004242"}'] == 1.0


def test_the_driver_of_all_gpus_is_one_series_of_their_host_and_none_where_the_exporter_does_not_say_it() -> None:
    body = (SAMPLES / "dcgm" / "exposition" / "h100_8gpu_k8s_driver580.prom").read_bytes()
    software = [key for key in reader_of("dcgm").read(body, NOW_NS).table.keys if key.startswith("device_software")]
    assert software == ['device_software_info{component="gpu_driver",device="node1",version="580.105.08"}']
    assert not [key for key in canonical("dcgm", 'DCGM_FI_DEV_GPU_TEMP{UUID="G"} 30\n') if "software" in key]


def test_the_times_of_an_nfs_client_are_those_of_its_export_over_all_transports() -> None:
    """node_exporter's own end-to-end output: the same mount over TCP and over UDP."""
    body = (SAMPLES / "node_exporter" / "e2e_selected_families.prom").read_text()
    found = canonical("node_exporter", body)
    mount = 'device="node1",fs="192.168.1.1:/srv/test"'
    read = f'{{{mount},op="read",side="client",system="nfs"}}'
    assert found[f"storage_operation_duration_seconds_sum{read}"] == pytest.approx(2 * 79.407)
    assert found[f"storage_operation_duration_seconds_count{read}"] == 2 * 1298
    assert found[f"storage_queue_seconds_total{read}"] == pytest.approx(2 * 0.006)
    assert found[f'storage_errors_total{{{mount},kind="read_timeout",side="client",system="nfs"}}'] == 0


@pytest.mark.parametrize("compiled", [True, False])
def test_the_buckets_of_an_io_time_histogram_add_up(compiled: bool) -> None:
    line = 'lustre_io_time_milliseconds_total{{component="ost",operation="read",target="s-OST0001",size="{}"}} {}\n'
    body = "".join(line.format(size, count) for size, count in ((1, 10), (2, 20), (1024, 5)))
    found = canonical("lustre", body, compiled)
    labels = '{device="node1",fs="s",op="read",side="server",system="lustre",target="OST0001"}'
    assert found["storage_operation_duration_seconds_count" + labels] == 35
    assert found["storage_operation_duration_seconds_sum" + labels] == pytest.approx(0.75e-3 * (10 + 40 + 5120))


def test_the_words_of_an_xid_do_not_split_its_series() -> None:
    reader, keys = reader_of("dcgm"), set[tuple[str, ...]]()
    for code, words in (("0", "No Error"), ("48", "Double Bit ECC Error"), ("79", "fallen off the bus")):
        line = f'DCGM_FI_DEV_XID_ERRORS{{UUID="G",err_code="{code}",err_msg="{words}"}} {code}\n'
        found = reader.read(line.encode(), NOW_NS)
        keys.add(found.table.keys)
        assert found.values.tolist() == [float(code)]
    assert keys == {('gpu_xid_last{device="node1",gpu="G"}',)}


@pytest.mark.parametrize(
    "line",
    [
        'DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT{nvswitch="nvswitch0"} 40',
        'DCGM_FI_DEV_GPU_TEMP{nvswitch="nvswitch0",hostname="x"} 40',
        'DCGM_FI_DEV_CPU_TEMP_CURRENT{cpu="0"} 40',
        'DCGM_FI_DEV_POWER_USAGE{cpu="0",cpucore="3"} 40',
    ],
)
def test_switches_and_processors_in_a_gpu_body_are_no_gpus(line: str) -> None:
    assert not [key for key in canonical("dcgm", line + "\n") if key.startswith("gpu_") or "gpu=" in key]


def test_a_series_without_its_gpu_or_unknown_is_left_out() -> None:
    assert canonical("dcgm", 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 30\nsomething_else{UUID="G"} 1\n') == {}


def test_a_job_maps_any_exporter_by_itself_and_adds_its_own_labels() -> None:
    metric = Metric("room_watts", Kind.GAUGE, "watts", ("device", "sensor"), "")
    origin = Origin("mine", "rack_power_{sensor}", scale=1000.0, where={"unit": "kW|kw"})
    mapper = Mapper(Source("mine", ""), {"device": "pdu1", "row": "7"}, [(metric, origin)])
    found = mapper.map("rack_power_12", {"unit": "kW", "device": "impostor"})
    assert found is not None
    (entry,) = found
    assert (entry.key, entry.scale) == ('room_watts{device="pdu1",row="7",sensor="12"}', 1000.0)
    assert mapper.map("rack_power_12", {"unit": "W"}) == []
    assert mapper.map("rack_power_x", {"unit": "kW"}) == []


NFS = 'node_mountstats_nfs_total_read_bytes_total{{export="s:/a",mountaddr="{mount}",protocol="tcp"}} {bytes}\n'


@pytest.mark.parametrize(
    ("again", "expected", "dropped"),
    [
        (NFS.format(mount="10.0.0.2", bytes=7), 12.0, {}),  # another mount of the export: both count
        (NFS.format(mount="10.0.0.1", bytes=7), 5.0, {DropReason.DUPLICATE: 1}),
        # the same series, written in another order
        (
            'node_mountstats_nfs_total_read_bytes_total{protocol="tcp",mountaddr="10.0.0.1",export="s:/a"} 7\n',
            5.0,
            {DropReason.DUPLICATE: 1},
        ),
    ],
)
def test_a_line_that_stands_twice_is_added_once(again: str, expected: float, dropped: dict[DropReason, int]) -> None:
    body = (NFS.format(mount="10.0.0.1", bytes=5) + again).encode()
    reader = reader_of("node_exporter")
    for found in (reader.read(body, NOW_NS), reader.read_known(body, NOW_NS)):
        assert found is not None
        assert (found.values.tolist(), found.dropped) == ([expected], dropped)


def test_series_that_nothing_maps_are_counted() -> None:
    reader = reader_of("dcgm")
    body = b'DCGM_FI_DEV_GPU_TEMP{UUID="G"} 40\na 1\nb{x="1"} 1\nb{x="1"} 1\n# HELP c\n\n'
    for found in (reader.read(body, NOW_NS), reader.read_known(body, NOW_NS)):
        assert found is not None
        assert (found.values.size, found.unmapped) == (2, 3)  # gpu_info is one of the samples


def test_a_real_body_with_leaked_blanks_and_instances() -> None:
    body = (SAMPLES / "dcgm" / "exposition" / "instances_and_blanks.prom").read_bytes()
    found = reader_of("dcgm").read(body, NOW_NS)
    assert found.dropped == {DropReason.NO_VALUE: 1}
    assert sum("instance_id" in key for key in found.table.keys) == 3
