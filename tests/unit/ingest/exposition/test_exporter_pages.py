"""Real pages of exporters: how much of each is read, and what some of their series become, computed by hand."""

import pytest

from common.units import NS_PER_S
from ingest.collectors.exposition.decode.body import BodyReader
from ingest.collectors.exposition.decode.line import parse_line
from ingest.collectors.exposition.decode.mapping import Mapper
from telemetry.catalogue import origins_of, source
from telemetry.series import series_key
from tests.samples import SAMPLES

NOW_NS = 1_760_000_000 * NS_PER_S
# Page of a system -> series that are mapped, and series that the catalogue leaves out on purpose. No others.
PAGES = {
    ("infiniband_exporter", "infiniband/infiniband_exporter_hca.prom"): (64, 2),
    ("infiniband_exporter", "infiniband/infiniband_exporter_ibswinfo.prom"): (43, 0),
    ("infiniband_exporter", "infiniband/infiniband_exporter_switch.prom"): (96, 4),
    ("node_exporter", "node_exporter/e2e_selected_families.prom"): (541, 452),
    ("node_exporter", "nccl/inspector_metrics.prom"): (4, 0),
    ("nccl_inspector", "nccl/inspector_metrics.prom"): (4, 0),
    ("lustre", "storage/lustrefs_exporter_client.prom"): (53, 13),
    ("lustre", "storage/lustrefs_exporter_jobstats.prom"): (264, 24),
    ("lustre", "storage/lustrefs_exporter_lnet.prom"): (312, 15),
    ("gpfs", "storage/gpfs_mmdf.prom"): (11, 5),
    ("gpfs", "storage/gpfs_mmgetstate.prom"): (1, 0),
    ("gpfs", "storage/gpfs_mmhealth.prom"): (101, 0),
    ("gpfs", "storage/gpfs_mmlsdisk.prom"): (16, 88),
    ("gpfs", "storage/gpfs_mmlspool.prom"): (6, 3),
    ("gpfs", "storage/gpfs_mmlsqos.prom"): (20, 5),
    ("gpfs", "storage/gpfs_mmpmon.prom"): (16, 2),
    ("gpfs", "storage/gpfs_mount.prom"): (3, 0),
    ("gpfs", "storage/gpfs_verbs.prom"): (1, 0),
    ("gpfs", "storage/gpfs_waiter.prom"): (4, 7),
    ("dcgm", "dcgm/exposition/h100_8gpu_k8s_driver580.prom"): (30, 0),
    ("dcgm", "dcgm/exposition/l40s_viettel_driver580.prom"): (2, 0),
    ("dcgm", "dcgm/exposition/l4_kops_driver580.prom"): (44, 2),
    ("dcgm", "dcgm/exposition/t4_rafay_driver580.prom"): (17, 0),
    ("kube_state_metrics", "kubernetes/kube_state_metrics_pod_node_job.prom"): (191, 131),
    ("ipmi", "power_thermal/ipmi_exporter_examples.prom"): (22, 10),
}


@pytest.mark.parametrize(("system", "page"), PAGES)
def test_all_series_of_a_page_are_mapped_or_left_out_for_a_reason(system: str, page: str) -> None:
    mapper = Mapper(source(system), {"device": "node1"}, origins_of(system))
    mapped = left_out = 0
    for number, line in enumerate((SAMPLES / page).read_bytes().split(b"\n"), 1):
        found = parse_line(line, number, openmetrics=False)
        if found is not None:
            entries = mapper.map(found.name, found.labels)
            mapped, left_out = mapped + bool(entries), left_out + (entries is None)
    assert mapper.unmapped == set()
    assert (mapped, left_out) == PAGES[system, page]


def canonical(system: str, page: str) -> dict[str, float]:
    """The samples of a page, of the device node1."""
    found = source(system)
    mapper = Mapper(found, {"device": "node1"}, origins_of(system))
    reader = BodyReader("job/a:1", "node1", mapper, sentinels=found.sentinels)
    body = (SAMPLES / page).read_bytes()
    read = reader.read(body if body.endswith(b"\n") else body + b"\n", NOW_NS)
    return {read.table.keys[row]: value for row, value in zip(read.series, read.values.tolist(), strict=True)}


def key(metric: str, device: str = "node1", **labels: str) -> str:
    return series_key(metric, {"device": device, **labels})


SWITCH = "0x7cfe9003009ce5b0"
OST = {"fs": "ai400x2", "side": "server", "system": "lustre", "target": "OST0000"}
FIO = {"job_id": "fio:0:es-2-virt3-cosp", "op": "metadata", "side": "server", "system": "lustre", "target": "MDT0000"}
NFS = {"fs": "192.168.1.1:/srv/test", "side": "client", "system": "nfs"}
DISK = {"side": "server", "system": "block"}
NCCL = {"communicator": "DP Group 0", "index": "GPU0", "job_id": "unknown", "nodes": "1", "ranks": "4"}
VALUES: dict[tuple[str, str], dict[str, float]] = {
    ("infiniband_exporter", "infiniband/infiniband_exporter_switch.prom"): {
        # the exporter has multiplied words by four
        key("ib_port_receive_bytes_total", SWITCH, port="1"): 49116115103004,
        key("ib_port_transmit_wait_ticks_total", SWITCH, port="1"): 22730501,
        key("ib_port_rate_bits_per_second", SWITCH, port="1"): 8 * 12.5e9,
        key("ib_port_cast_packets_total", SWITCH, port="1", direction="rx", cast="multicast"): 5584846741,
        key("ib_device_info", "0x506b4b03005c2740", lid="2052", name="ib-i4l1s01"): 1,
        key(
            "ib_link_info",
            "0x506b4b03005c2740",
            port="35",
            peer="0x506b4b0300cc02a6",
            peer_port="1",
            peer_name="p0001 HCA-1",
        ): 1,
        key("exporter_errors", kind="timeouts", part="switch"): 0,
    },
    ("infiniband_exporter", "infiniband/infiniband_exporter_hca.prom"): {
        key("ib_port_transmit_bytes_total", "0x7cfe9003003b4b96", port="1"): 148434707415420,
        key("ib_device_rate_bits_per_second", "0x7cfe9003003b4b96"): 100e9,
    },
    ("infiniband_exporter", "infiniband/infiniband_exporter_ibswinfo.prom"): {
        key("fabric_device_psu_watts", SWITCH, sensor="psu0"): 72,
        key("fabric_device_fan_rpm", SWITCH, sensor="fan1"): 8493,
        key("fabric_device_uptime_seconds", SWITCH): 13862333,
        # status="ERROR" and status="OK", both with the value 1
        key("fabric_device_part_ok", SWITCH, kind="fan", sensor="fans"): 0,
        key("fabric_device_part_ok", SWITCH, kind="psu_dc", sensor="psu1"): 1,
        key(
            "device_part_info",
            SWITCH,
            part="switch",
            kind="switch",
            model="MSB7790-ES2F",
            serial="MT1943X00498",
            version="11.2008.2102",
        ): 1,
    },
    ("node_exporter", "node_exporter/e2e_selected_families.prom"): {
        key("node_cpu_seconds_total", mode="user"): (
            444.9 + 478.69 + 465.04 + 470.54 + 284.13 + 292.71 + 291.52 + 290.98
        ),
        key("ib_port_receive_bytes_total", port="mlx4_0"): 18527668,
        key("ib_port_cast_packets_total", port="mlx4_0", direction="tx", cast="unicast"): 61239,
        key("nic_mtu_bytes", port="eth0"): 1500,
        key("nic_drops_total", port="lo", direction="rx"): 0,
        key("nfs_requests_total", side="server", op="readdir"): 99 + 27 + 1272 + 216,
        key("nfs_requests_total", side="client", op="getattr"): 57 + 1061909262 + 88,
        key("nfs_server_bytes_total", op="read"): 157286400,
        key("node_temperature_limit_celsius", kind="critical", sensor="hwmon4/temp1"): 100,
        key("node_sensor_hertz", sensor="hwmon4/mclk"): 300e6,
        key("node_memory_module_errors_total", channel="0", controller="0", row="0", severity="uncorrectable"): 2,
        key("node_pressure_seconds_total", kind="stalled", resource="irq"): 0.008494,
        key("storage_drive_used_bytes", drive="nvme0n1"): 2e12,
        key(
            "device_part_info",
            part="nvme0",
            kind="nvme",
            model="Samsung SSD 970 PRO 512GB",
            serial="S680HF8N190894I",
            version="1B2QEXP7",
        ): 1,
        key("storage_discarded_bytes_total", target="sdb", **DISK): 512 * 1925173784,
        key("storage_in_flight_seconds_total", target="sda", **DISK): 82621.804,
        # the mount is there twice, over TCP and over UDP
        key("storage_response_seconds_total", op="read", **NFS): 2 * 79.386,
        key("storage_transport_waits_total", kind="pending", **NFS): 2 * 5726,
        key("storage_program_bytes_total", kind="buffered", op="read", **NFS): 2 * 1207640230,
    },
    ("nccl_inspector", "nccl/inspector_metrics.prom"): {
        key(
            "nccl_bus_bandwidth_bytes_per_second",
            "nvl72004-T01",
            algorithm="Ring_ll",
            op="AllReduce",
            size="4-5GB",
            **NCCL,
        ): 678.263e9,
        key("nccl_p2p_duration_seconds", "nvl72004-T01", op="Send", size="512-513MB", **NCCL): 0.00115487,
    },
    ("node_exporter", "nccl/inspector_metrics.prom"): {
        key("nccl_p2p_bandwidth_bytes_per_second", op="Send", size="512-513MB", **NCCL): 464.9e9,
    },
    ("lustre", "storage/lustrefs_exporter_lnet.prom"): {
        # bytes and requests by the upper ends of the buckets
        key("storage_io_size_bytes_sum", op="write", **OST): (65536 + 3 * 262144 + 16 * 524288 + 7603189 * 1048576),
        key("storage_io_size_bytes_count", op="write", **OST): 1 + 3 + 16 + 7603189,
        key("storage_rpc_pages_sum", op="write", **OST): 16 + 3 * 64 + 16 * 128 + 7603189 * 256,
        key("storage_free_bytes", **OST): 2395312779264 * 1024,
        key("storage_client_cache_bytes", kind="granted", **OST): 161728,
        key("storage_network_bytes_total", direction="tx", system="lustre"): 109811678162896,
        key("storage_network_messages_total", direction="rx", nid="192.168.5.244@tcp", system="lustre"): 269560217,
        key("storage_memory_bytes", kind="peak", system="lustre"): 5683347385,
        key("storage_recovery_state", **OST): 0,
    },
    ("lustre", "storage/lustrefs_exporter_client.prom"): {
        key("storage_operations_total", fs="exafs", op="truncate", side="client", system="lustre"): 202,
        key("storage_lock_callbacks_total", kind="blocking", side="client", system="lustre"): 238503,
    },
    ("lustre", "storage/lustrefs_exporter_jobstats.prom"): {
        # open, close, mknod, getattr, setattr, getxattr, sync
        key("storage_job_operations_total", fs="es01a", **FIO): 123 + 122 + 1 + 120 + 1 + 1 + 1,
        key("storage_job_operations_total", fs="es02a", **FIO): 51 + 50 + 1 + 50 + 1 + 1 + 1,
    },
    ("gpfs", "storage/gpfs_mmpmon.prom"): {
        key("storage_written_bytes_total", fs="scratch", side="client", system="gpfs"): 74839282351,
        key("storage_operations_total", fs="project", op="open", side="client", system="gpfs"): 513,
    },
    ("gpfs", "storage/gpfs_mmdf.prom"): {
        key("storage_capacity_bytes", fs="project", side="server", system="gpfs"): 3749557989015552,
        key("storage_pool_available_bytes", fs="project", kind="data", pool_name="system", system="gpfs"): (
            389698396618752
        ),
    },
    ("gpfs", "storage/gpfs_mmlspool.prom"): {
        key("storage_pool_available_bytes", fs="scratch", kind="data", pool_name="system", system="gpfs"): (
            146513464393728
        ),
        key("storage_pool_capacity_bytes", fs="scratch", kind="metadata", pool_name="system", system="gpfs"): (
            802107691106304
        ),
    },
    ("gpfs", "storage/gpfs_mmhealth.prom"): {
        # one series for each state: HEALTHY is 1 of the one, DEGRADED of the other
        key("storage_component_severity", component="NETWORK/ib0", kind="NIC", system="gpfs"): 0,
        key("storage_component_severity", component="NETWORK/mlx5_0/1", kind="IB_RDMA", system="gpfs"): 1,
    },
    ("gpfs", "storage/gpfs_mmlsdisk.prom"): {
        key("storage_drive_up", drive="RG001VS003", fs="ess", system="gpfs"): 1,
        key("storage_drive_ready", drive="RG001VS003", fs="ess", system="gpfs"): 1,
    },
    ("gpfs", "storage/gpfs_mount.prom"): {
        key("storage_mounted", mountpoint="/fs/ess", system="gpfs"): 0,
        key("storage_mounted", mountpoint="/fs/project", system="gpfs"): 1,
    },
    ("gpfs", "storage/gpfs_waiter.prom"): {
        key("storage_waiters", system="gpfs"): 25,
        key("storage_waiters_by_kind", kind="NSDThread", system="gpfs"): 3,
    },
    ("dcgm", "dcgm/exposition/l4_kops_driver580.prom"): {
        key("gpu_decoder_utilization_ratio", gpu="GPU-c2f76b33-7953-256e-8f33-1343419b1a1c"): 0,
    },
    ("kube_state_metrics", "kubernetes/kube_state_metrics_pod_node_job.prom"): {
        key("k8s_pod_info", "node2", namespace="ns2", pod="pod2"): 1,
        key("k8s_node_unschedulable", "127.0.0.1"): 0,
        key(
            "k8s_container_reason",
            namespace="ns2",
            pod="pod2",
            container="container2",
            reason="OOMKilled",
            state="terminated",
        ): 1,
        key("k8s_container_gpus", namespace="ns1", pod="pod1", container="pod1_con1", kind="request"): 1,
        key("k8s_job_ended", namespace="ns1", job_name="FailedJob1", outcome="failed"): 1,
    },
    ("ipmi", "power_thermal/ipmi_exporter_examples.prom"): {
        key("node_sensor_volts", sensor="12V"): 12,
        key("node_fan_ratio", sensor="Fan 1 DutyCycle"): 0.2195,
        key("node_sel_events", kind="Warning"): 5,
        key("device_part_info", part="bmc", kind="bmc", model="Dell Inc. (674)", version="1.66"): 1,
    },
}


@pytest.mark.parametrize(("system", "page"), VALUES)
def test_series_of_a_page_by_hand(system: str, page: str) -> None:
    found = canonical(system, page)
    expected = VALUES[system, page]
    assert {key: found.get(key) for key in expected} == pytest.approx(expected)
