"""All series that MinIO's list of its metrics of version 3 (docs/metrics/v3.md of its source) names."""

import pytest

from ingest.collectors.exposition.decode.mapping import Mapper
from telemetry.catalogue import origins_of, source

AT = {"server": "m1:9000", "pool_index": "0"}
DRIVE = {**AT, "drive": "/d1", "set_index": "0", "drive_index": "0", "api": "storage.ReadAll"}
API = {**AT, "type": "s3", "name": "PutObject", "bucket": "b", "le": "0.05"}
SET = {"pool_id": "0", "set_id": "3"}
# What begins the names, their labels, how they go on, and how many of them are mapped.
GROUPS = [
    (
        "minio_api_requests_",
        API,
        "rejected_auth_total rejected_header_total rejected_timestamp_total rejected_invalid_total waiting_total "
        "incoming_total inflight_total total errors_total 5xx_errors_total 4xx_errors_total canceled_total "
        "ttfb_seconds_distribution traffic_sent_bytes traffic_received_bytes",
        12,
    ),
    (
        "minio_bucket_api_",
        API,
        "traffic_received_bytes traffic_sent_bytes inflight_total total canceled_total 4xx_errors_total "
        "5xx_errors_total ttfb_seconds_distribution",
        0,
    ),
    (
        "minio_bucket_replication_",
        API,
        "last_hour_failed_bytes last_hour_failed_count latency_ms proxied_get_requests_total sent_bytes sent_count "
        "total_failed_bytes total_failed_count",
        0,
    ),
    ("minio_audit_", AT, "failed_messages target_queue_length total_messages", 0),
    (
        "minio_system_drive_",
        DRIVE,
        "used_bytes free_bytes total_bytes used_inodes free_inodes total_inodes timeout_errors_total io_errors_total "
        "availability_errors_total waiting_io api_latency_micros offline_count online_count count health healing "
        "online reads_per_sec reads_kb_per_sec reads_await writes_per_sec writes_kb_per_sec writes_await perc_util",
        19,
    ),
    ("minio_system_memory_", AT, "used used_perc free total buffers cache shared available", 0),
    ("minio_system_cpu_", AT, "avg_idle avg_iowait load load_perc nice steal system user", 0),
    (
        "minio_system_network_internode_",
        AT,
        "errors_total dial_errors_total dial_avg_time_nanos sent_bytes_total recv_bytes_total",
        4,
    ),
    (
        "minio_system_process_",
        AT,
        "locks_read_total cpu_total_seconds go_routine_total io_read_bytes start_time_seconds uptime_seconds "
        "file_descriptor_open_total syscall_read_total resident_memory_bytes",
        0,
    ),
    (
        "minio_cluster_health_",
        {},
        "drives_offline_count drives_online_count drives_count nodes_offline_count nodes_online_count "
        "capacity_raw_total_bytes capacity_raw_free_bytes capacity_usable_total_bytes capacity_usable_free_bytes",
        7,
    ),
    ("minio_cluster_scanner_", {}, "bucket_scans_finished directories_scanned last_activity_nano_seconds", 0),
    ("minio_cluster_config_", {}, "rrs_parity standard_parity", 0),
    (
        "minio_cluster_usage_objects_",
        {"range": "LESS_THAN_1024_B"},
        "since_last_update_seconds total_bytes count versions_count delete_markers_count buckets_count "
        "size_distribution version_count_distribution",
        2,
    ),
    ("minio_cluster_usage_buckets_", {"bucket": "b"}, "total_bytes objects_count quota_total_bytes", 0),
    (
        "minio_cluster_erasure_set_",
        SET,
        "overall_write_quorum overall_health read_quorum write_quorum online_drives_count healing_drives_count health "
        "read_tolerance write_tolerance read_health write_health",
        2,
    ),
    ("minio_cluster_iam_", {}, "last_sync_duration_millis sync_failures sync_successes", 0),
    ("minio_logger_webhook_", AT, "failed_messages queue_length total_message", 0),
    ("minio_replication_", AT, "average_active_workers current_data_transfer_rate max_queued_bytes", 0),
    ("minio_notification_", AT, "current_send_in_progress events_errors_total events_sent_total", 0),
]


@pytest.mark.parametrize(("prefix", "labels", "names", "mapped"), GROUPS, ids=[group[0] for group in GROUPS])
def test_every_series_of_the_list_is_mapped_or_left_out_for_a_reason(
    prefix: str, labels: dict[str, str], names: str, mapped: int
) -> None:
    mapper = Mapper(source("minio"), {"device": "node1"}, origins_of("minio"))
    found = [mapper.map(prefix + name, labels) for name in names.split()]
    assert (sum(map(bool, found)), mapper.unmapped) == (mapped, set())
