"""Alerts about Fabricscope itself, which Prometheus evaluates on Fabricscope's own metrics."""

from dataclasses import dataclass

from dashboards.queries import OWN

WATCHDOG = "FabricscopeWatchdog"
_DROPS = (
    *("ingest_samples", "ingest_records", "analytics_samples", "alerts_records"),
    *("export_samples", "export_records", "api_records"),
)
_DISKS = (
    "fabricscope_alerts_commit_retries_total[5m]",
    "fabricscope_ingest_spool_failures_total[5m]",
    'fabricscope_analytics_snapshots_total{outcome="failed"}[30m]',
    "fabricscope_bus_retention_failures_total[5m]",
)
_WEEK_S = 7 * 86_400


@dataclass(frozen=True, slots=True)
class Alert:
    """lasts: how long the expression must hold, '' for at once. summary, description: with Prometheus' templates."""

    name: str
    expr: str
    summary: str
    description: str
    lasts: str = ""
    severity: str = "warning"


ALERTS = (
    Alert(
        WATCHDOG,
        "vector(1)",
        "Prometheus evaluates rules, and its alerts arrive",
        "It fires always. Route it to a service that pages when it does not come any more.",
        severity="none",
    ),
    Alert(
        "FabricscopeStageDown",
        f"up{{{OWN}}} == 0",
        "{{ $labels.instance }} does not answer",
        "Look at the log of this stage. While alerts is down, nobody is paged.",
        "2m",
        "critical",
    ),
    Alert(
        "FabricscopeNotScraped",
        f"absent(up{{{OWN}}})",
        "Prometheus scrapes no stage of Fabricscope",
        "The job is called fabricscope in deploy/prometheus/prometheus.yml.",
        "2m",
        "critical",
    ),
    Alert(
        "FabricscopeAlertsAbsent",
        "absent(fabricscope_alerts_records_received_total)",
        "No alerts stage is scraped, so nobody may be paged",
        "The stage is dead, or is not a target any more.",
        "2m",
        "critical",
    ),
    Alert(
        "FabricscopeNoSamples",
        "sum(rate(fabricscope_ingest_samples_received_total[5m])) == 0",
        "Ingest receives no samples at all",
        "No target answers, or no target is left: look at the network of the collectors and at their settings.",
        "5m",
        "critical",
    ),
    Alert(
        "FabricscopeCollectionsFail",
        'sum by (instance, outcome) (rate(fabricscope_ingest_collections_total{outcome!="up"}[5m])) '
        "> on (instance) group_left () 0.2 * sum by (instance) (rate(fabricscope_ingest_collections_total[5m]))",
        "{{ $labels.instance }}: more than a fifth of all collections fail: {{ $labels.outcome }}",
        "The pipeline board lists the silent targets.",
        "10m",
    ),
    Alert(
        "FabricscopeCollectionsLeftOut",
        "sum by (instance, reason) "
        '(rate(fabricscope_ingest_collections_skipped_total{reason=~"cpu|memory|descriptors"}[5m])) '
        "> on (instance) group_left () 0.1 * sum by (instance) (rate(fabricscope_ingest_collections_total[5m]))",
        "{{ $labels.instance }} leaves out collections, as it has too little: {{ $labels.reason }}",
        "Each target is seen less often, so faults are found late. Give ingest more of it, or fewer targets.",
        "10m",
    ),
    Alert(
        "FabricscopeTargetsSilent",
        'avg by (cluster) (up{target!=""}) < 0.9',
        "{{ $value | humanizePercentage }} of the targets of {{ $labels.cluster }} answer",
        "The pipeline board lists the silent ones. What they watch is not watched.",
        "10m",
    ),
    Alert(
        "FabricscopeWatermarkStandsStill",
        "time() - max(fabricscope_analytics_watermark_timestamp_seconds) > 180",
        "Analytics has seen nothing newer than {{ $value | humanizeDuration }} ago",
        "Nothing is detected meanwhile. Collection, the bus or analytics stands still.",
        "1m",
        "critical",
    ),
    Alert(
        "FabricscopeStageBehind",
        "max by (stage) (fabricscope_bus_catch_up_seconds) > 300",
        "{{ $labels.stage }} is behind, and needs {{ $value | humanizeDuration }} to catch up",
        "It is too slow for what arrives: give it more CPU, or look at what it waits for.",
        "10m",
    ),
    Alert(
        "FabricscopeExportLate",
        "fabricscope_export_lag_seconds > 180",
        "{{ $labels.instance }}: Prometheus gets samples {{ $value | humanizeDuration }} late",
        "Boards show the past. The receiver of remote write is slow or refuses; the log of the stage says which.",
        "5m",
    ),
    Alert(
        "FabricscopeDrops",  # one by one: a rate has no name, by which two counts of an instance differ
        "sum by (instance, reason) ("
        + " or ".join(f"rate(fabricscope_{dropped}_dropped_total[5m])" for dropped in _DROPS)
        + ") > 0",
        "{{ $labels.instance }} drops all the time: {{ $labels.reason }}",
        "What is dropped, and why, is in docs/own-metrics.md.",
        "10m",
    ),
    Alert(
        "FabricscopeSpoolFilling",
        "fabricscope_ingest_spooled_seconds > 300",
        "{{ $labels.instance }}: samples of {{ $value | humanizeDuration }} wait on the disk for the bus",
        "The bus is away or slow. When the spool is full, the oldest samples go.",
        "5m",
    ),
    Alert(
        "FabricscopeSpoolNotWritable",
        "fabricscope_ingest_spool_problems > 0",
        "{{ $labels.instance }}: what the bus does not take is in memory alone",
        "The disk of the spool cannot be written.",
        "1m",
    ),
    Alert(
        "FabricscopeNotificationsUndelivered",
        "fabricscope_alerts_notifications_queued > 0 "
        "and increase(fabricscope_alerts_notification_retries_total[10m]) > 0",
        "{{ $labels.receiver }} accepts nothing; {{ $value }} notifications wait",
        "The log of the alerts stage says what the receiver answers.",
        "5m",
        "critical",
    ),
    Alert(
        "FabricscopeNotificationsDropped",
        'increase(fabricscope_alerts_notifications_dropped_total{reason!="never_notified"}[10m]) > 0',
        "Notifications reached nobody: {{ $labels.reason }}",
        "The log of the alerts stage names each of them.",
        severity="critical",
    ),
    Alert(
        "FabricscopeHeartbeatsFail",
        'increase(fabricscope_alerts_heartbeats_total{outcome="failed"}[10m]) > 0',
        "{{ $labels.instance }}: the heartbeat does not arrive",
        "The service that it goes to will page soon, although pages may work.",
        "10m",
    ),
    Alert(
        "FabricscopeDetectorFails",
        "increase(fabricscope_analytics_detector_failures_total[15m]) > 0",
        "The detector {{ $labels.detector }} fails, and finds nothing meanwhile",
        "The log of analytics has the error. The other detectors go on.",
    ),
    Alert(
        "FabricscopePublishFails",
        "sum by (instance, reason) (increase(fabricscope_bus_publish_failures_total[5m])) > 0",
        "{{ $labels.instance }}: the bus does not take what is published",
        "The broker is away, or refuses this stage by its password or rights. The log of the stage says which.",
        "5m",
    ),
    Alert(
        "FabricscopeDiskFails",
        " or ".join(f"increase({disk}) > 0" for disk in _DISKS),
        "{{ $labels.instance }}: a disk fails, is full or is read-only",
        "The log of the stage names the file. Pages wait while the outbox of alerts cannot be written.",
        "1m",
    ),
    Alert(
        "FabricscopeSettingsRefused",
        "fabricscope_config_last_reload_successful == 0",
        "{{ $labels.instance }}: the settings file was refused, and the old settings are in use",
        "`fabricscope check config FILE` says what is wrong, and where.",
        "5m",
    ),
    Alert(
        "FabricscopeCertificateExpires",
        f"fabricscope_api_certificate_expiry_timestamp_seconds > 0 < time() + {_WEEK_S} "
        f"or fabricscope_ingest_certificate_expiry_timestamp_seconds < time() + {_WEEK_S}",
        "{{ $labels.instance }}: a certificate expires on {{ $value | humanizeTimestamp }}",
        "Of the API, or of the target that the label names.",
        "1h",
    ),
)
