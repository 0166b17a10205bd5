"""Series that Fabricscope writes beside the catalogue's: from remote write, and from its own ``/metrics``."""

EXPORTED = frozenset(
    {
        *("up", "scrape_duration_seconds"),
        *("fabricscope_finding_active", "fabricscope_incident", "fabricscope_incident_gpu_seconds_total"),
        *("fabricscope_job_node", "fabricscope_node_intent", "fabricscope_change"),
    }
)
"""docs/remote-write.md."""

SCRAPED = frozenset(
    {
        *("process_start_time_seconds", "process_resident_memory_bytes", "process_cpu_seconds_total"),
        "fabricscope_alerts_commit_retries_total",
        "fabricscope_alerts_heartbeats_total",
        "fabricscope_alerts_notification_retries_total",
        "fabricscope_alerts_notifications_dropped_total",
        "fabricscope_alerts_notifications_queued",
        "fabricscope_alerts_records_dropped_total",
        "fabricscope_alerts_records_received_total",
        "fabricscope_analytics_detector_failures_total",
        "fabricscope_analytics_samples_dropped_total",
        "fabricscope_analytics_samples_received_total",
        "fabricscope_analytics_series",
        "fabricscope_analytics_snapshots_total",
        "fabricscope_analytics_watermark_timestamp_seconds",
        "fabricscope_api_certificate_expiry_timestamp_seconds",
        "fabricscope_api_records_dropped_total",
        "fabricscope_bus_catch_up_seconds",
        "fabricscope_bus_lag_records",
        "fabricscope_bus_publish_failures_total",
        "fabricscope_bus_retention_failures_total",
        "fabricscope_config_last_reload_successful",
        "fabricscope_export_lag_seconds",
        "fabricscope_export_records_dropped_total",
        "fabricscope_export_requests_total",
        "fabricscope_export_samples_dropped_total",
        "fabricscope_export_samples_received_total",
        "fabricscope_ingest_certificate_expiry_timestamp_seconds",
        "fabricscope_ingest_collections_total",
        "fabricscope_ingest_records_dropped_total",
        "fabricscope_ingest_samples_dropped_total",
        "fabricscope_ingest_samples_received_total",
        "fabricscope_ingest_samples_unmapped_total",
        "fabricscope_ingest_spool_failures_total",
        "fabricscope_ingest_spool_problems",
        "fabricscope_ingest_spooled_seconds",
        "fabricscope_ingest_target_samples_dropped_total",
        "fabricscope_ingest_unaccounted_samples",
    }
)
"""docs/own-metrics.md; of these boards and rules ask."""

OWN_SERIES = EXPORTED | SCRAPED
