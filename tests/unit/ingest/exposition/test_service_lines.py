"""Series of services, as storage, schedulers and inference, of which no page is at hand that may be kept here."""

import pytest

from tests.unit.ingest.exposition.mapped import canonical, key

OSD = {"fs": "ceph", "side": "server", "system": "ceph", "target": "osd.3"}
MINIO = {"fs": "minio", "side": "server", "system": "minio"}
# Version 3: a drive by its server and place, an erasure set by its numbers; kilobytes of 1024 bytes, milliseconds
MINIO_AT = 'server="m1:9000",pool_index="0"'
MINIO_DRIVE = f'drive="/d1",set_index="0",drive_index="0",{MINIO_AT}'
WEKA = {"fs": "w1", "side": "server", "system": "weka", "target": "weka-3/NodeId<61>"}
WEKA_LABELS = 'cluster="w1",host_name="weka-3",host_role="server",node_id="NodeId<61>",node_role="FRONTEND"'
VLLM, LLM = 'engine="0",model_name="m"', {"engine": "0", "model": "m"}
LINES = [
    # storage
    ("ceph", 'ceph_osd_op_r_out_bytes{ceph_daemon="osd.3"} 5', key("storage_read_bytes_total", **OSD), 5.0),
    (
        "ceph",
        'ceph_osd_op_w_latency_sum{ceph_daemon="osd.3"} 5',
        key("storage_operation_duration_seconds_sum", op="write", **OSD),
        5.0,
    ),
    (
        "ceph",
        'ceph_osd_commit_latency_ms{ceph_daemon="osd.3"} 5',
        key("storage_drive_seconds", drive="osd.3", op="commit"),
        0.005,
    ),
    (
        "ceph",
        'ceph_pool_rd_bytes{pool_id="2"} 5',
        key("storage_pool_bytes_total", fs="ceph", system="ceph", pool_name="2", op="read"),
        5.0,
    ),
    ("ceph", "ceph_health_status 1.0", key("storage_severity", system="ceph"), 1.0),
    (
        "minio",
        'minio_s3_traffic_sent_bytes{server="m1:9000",type="s3"} 5',
        key("storage_read_bytes_total", target="m1:9000", **MINIO),
        5.0,
    ),
    (
        "minio",
        'minio_s3_requests_total{server="m1:9000",api="putobject",type="s3"} 5',
        key("storage_operations_total", target="m1:9000", op="putobject", **MINIO),
        5.0,
    ),
    (
        "minio",
        'minio_node_drive_latency_us{server="m1:9000",drive="/d1",api="storage.ReadAll"} 250',
        key("storage_drive_seconds", drive="m1:9000/d1", op="storage.ReadAll"),
        250e-6,
    ),
    (
        "minio",
        'minio_cluster_drive_offline_total{server="m1:9000"} 2',
        key("storage_drives", system="minio", kind="offline"),
        2.0,
    ),
    (
        "minio",
        f'minio_api_requests_traffic_received_bytes{{type="s3",{MINIO_AT}}} 5',
        key("storage_written_bytes_total", target="m1:9000", **MINIO),
        5.0,
    ),
    (
        "minio",
        f'minio_api_requests_total{{name="PutObject",type="s3",{MINIO_AT}}} 5',
        key("storage_operations_total", target="m1:9000", op="PutObject", **MINIO),
        5.0,
    ),
    (
        "minio",
        f'minio_api_requests_5xx_errors_total{{name="PutObject",type="s3",{MINIO_AT}}} 5\n'
        f'minio_api_requests_5xx_errors_total{{name="GetObject",type="s3",{MINIO_AT}}} 2',
        key("storage_errors_total", target="m1:9000", kind="5xx", **MINIO),
        7.0,
    ),
    (
        "minio",
        f"minio_system_drive_health{{{MINIO_DRIVE}}} 2",
        key("storage_drive_ready", fs="minio", system="minio", drive="m1:9000/d1"),
        0.0,
    ),
    (
        "minio",
        f"minio_system_drive_healing{{{MINIO_DRIVE}}} 1",
        key("storage_component_severity", system="minio", component="m1:9000/d1", kind="drive"),
        1.0,
    ),
    (
        "minio",
        f"minio_system_drive_reads_await{{{MINIO_DRIVE}}} 5",
        key("storage_drive_seconds", drive="m1:9000/d1", op="read"),
        0.005,
    ),
    (
        "minio",
        f"minio_system_drive_writes_kb_per_sec{{{MINIO_DRIVE}}} 5",
        key("storage_written_bytes_per_second", target="m1:9000/d1", **MINIO),
        5 * 1024.0,
    ),
    ("minio", "minio_cluster_erasure_set_overall_health 1", key("storage_up", **MINIO), 1.0),
    (
        "minio",
        'minio_cluster_erasure_set_health{pool_id="0",set_id="3"} 0',
        key("storage_up", target="pool0/set3", **MINIO),
        0.0,
    ),
    (
        "minio",
        f"minio_system_network_internode_recv_bytes_total{{{MINIO_AT}}} 5",
        key("storage_network_bytes_total", system="minio", direction="rx"),
        5.0,
    ),
    (
        "weka",
        f'weka_stats{{category="ops",stat="READ_LATENCY",unit="microsecs",{WEKA_LABELS}}} 250',
        key("storage_latency_seconds", op="read", **WEKA),
        250e-6,
    ),
    (
        "weka",
        f'weka_stats{{category="cpu",stat="CPU_UTILIZATION",unit="percent",{WEKA_LABELS}}} 8',
        key("storage_cpu_ratio", side="server", system="weka", target="weka-3/NodeId<61>"),
        0.08,
    ),
    (
        "weka",
        'weka_overview_activity_read_bytespersec{cluster="w1"} 5',
        key("storage_read_bytes_per_second", fs="w1", side="server", system="weka"),
        5.0,
    ),
    (
        "vast",
        'vast_cluster_physical_space_in_use{cluster="v1"} 5',
        key("storage_used_bytes", fs="v1", side="server", system="vast"),
        5.0,
    ),
    (
        "vast",
        'vast_view_read_iops{cluster="v1",path="/a",name="a",guid="g"} 5',
        key("storage_operations_per_second", fs="/a", side="server", system="vast", op="read"),
        5.0,
    ),
    (
        "beegfs",
        'beegfs_target_disk_space_free_bytes{node_id="1",target_id="101"} 5',
        key("storage_available_bytes", fs="beegfs", side="server", system="beegfs", target="101"),
        5.0,
    ),
    (
        "beegfs",
        'beegfs_storage_disk_read_bytes_total{node_id="1",hostname="s1"} 5',
        key("storage_read_bytes_per_second", fs="beegfs", side="server", system="beegfs", target="s1"),
        5.0,
    ),
    ("gpfs", 'gpfs_state{state="active"} 1', key("storage_up", side="client", system="gpfs"), 1.0),
    # Slurm: memory in MiB of the older exporters, in bytes of Slurm itself; microseconds
    (
        "slurm_exporter",
        'slurm_node_mem_alloc{node="a048",status="mixed"} 2',
        key("slurm_node_memory_bytes", "a048", kind="allocated"),
        2 * 2**20,
    ),
    (
        "slurm_exporter",
        'slurm_node_memory_alloc_bytes{node="a048"} 2',
        key("slurm_node_memory_bytes", "a048", kind="allocated"),
        2.0,
    ),
    ("slurm_exporter", "slurm_gpus_alloc 6", key("slurm_gpus", kind="allocated"), 6.0),
    ("slurm_exporter", "slurm_scheduler_mean_cycle 1500", key("slurm_scheduler_cycle_seconds", kind="mean"), 0.0015),
    # serving
    ("vllm", f"vllm:num_requests_waiting{{{VLLM}}} 3.0", key("serving_requests_waiting", **LLM), 3.0),
    ("vllm", f"vllm:kv_cache_usage_perc{{{VLLM}}} 0.25", key("serving_cache_used_ratio", **LLM), 0.25),
    ("vllm", f"vllm:time_to_first_token_seconds_sum{{{VLLM}}} 1.5", key("serving_first_token_seconds_sum", **LLM), 1.5),
    (
        "vllm",
        f'vllm:request_success_total{{{VLLM},finished_reason="stop"}} 3.0',
        key("serving_requests_total", reason="stop", **LLM),
        3.0,
    ),
]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("system", "line", "series", "value"), LINES)
def test_what_a_series_of_a_service_becomes(system: str, line: str, series: str, value: float, compiled: bool) -> None:
    assert canonical(system, line + "\n", compiled) == {series: pytest.approx(value)}


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        ({"Pending": 1}, 1.0),
        ({"Running": 1}, 2.0),
        ({"Succeeded": 1}, 3.0),
        ({"Failed": 1}, 4.0),
        ({"Unknown": 1}, 5.0),
    ],
)
def test_a_series_for_each_phase_of_a_pod_is_one_state(phases: dict[str, int], expected: float) -> None:
    labels = 'namespace="n",pod="p",uid="u"'
    words = ("Failed", "Pending", "Running", "Succeeded", "Unknown")
    body = "".join(f'kube_pod_status_phase{{{labels},phase="{word}"}} {phases.get(word, 0)}\n' for word in words)
    assert canonical("kube_state_metrics", body) == {key("k8s_pod_phase", namespace="n", pod="p"): expected}


def test_buckets_and_what_is_no_number_of_a_model_are_left_out() -> None:
    body = f'vllm:time_to_first_token_seconds_bucket{{le="0.1",{VLLM}}} 4\nvllm:prompt_tokens_created{{{VLLM}}} 1.7e9\n'
    assert canonical("vllm", body) == {}
