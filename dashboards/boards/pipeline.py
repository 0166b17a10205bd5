"""The pipeline itself: what was collected, what was dropped and why, how late each stage is, who watches it."""

from dashboards.common import CLUSTER_VARIABLES, STALE_S, WALL, first_row
from dashboards.model import BAD, GOOD, Board, DrillDown, Level, Query
from dashboards.panels import falling, lines, rising, stat, states, table
from dashboards.queries import CLUSTER, LINES_MAX, OWN, TARGETS, age_of_targets, lowest, own_rate, worst
from dashboards.scopes import OPENS_DEVICE
from telemetry.kinds import Domain

UID = "fabricscope-pipeline"
LAG_S = 30.0  # three collections: what a stage may be behind before pages are late
_FLOW = DrillDown("fabricscope-incidents")
_WATERMARK = f"fabricscope_analytics_watermark_timestamp_seconds{{{OWN}}}"

_PANELS = (
    table(
        10,
        "Silent targets (10 at most, now)",
        "none",
        "Targets whose last collection failed. Normal: empty. Their series are stale, not healthy: check the exporter "
        "or agent, and the way to it.",
        f"topk({LINES_MAX}, up{{{TARGETS}}} == 0)",
        columns={"device": "Device", "target": "Target", "rack": "Rack"},
        drill_down=OPENS_DEVICE,
    ),
    lines(
        11,
        "Age of the newest sample (s, 10 oldest kinds of target)",
        "s",
        "By the kind of target. Normal: below two collection intervals, as a saw tooth.",
        Query(worst(age_of_targets()), "{{source}}"),
        steps=rising(warn=STALE_S / 2, bad=STALE_S),
        drill_down=_FLOW,
    ),
    lines(
        12,
        "Duration of collections (s, 10 slowest targets)",
        "s",
        "How long targets take to answer. Normal: tenths of a second. Seconds: the exporter is overloaded.",
        Query(worst(f"max by (cluster, target) (scrape_duration_seconds{{{CLUSTER}}})"), "{{target}}"),
        drill_down=_FLOW,
    ),
    lines(
        13,
        "Collections (collections/s, by outcome)",
        "cps",
        "Normal: up alone. Other outcomes say why collections fail.",
        Query(own_rate("fabricscope_ingest_collections_total", "outcome"), "{{outcome}}"),
        drill_down=_FLOW,
    ),
    lines(
        14,
        "Samples through the stages (samples/s)",
        "cps",
        "What each stage received. Normal: the same number everywhere, and steady.",
        Query(own_rate("fabricscope_ingest_samples_received_total"), "ingest"),
        Query(own_rate("fabricscope_analytics_samples_received_total"), "analytics"),
        Query(own_rate("fabricscope_export_samples_received_total"), "export"),
        drill_down=_FLOW,
    ),
    lines(
        15,
        "Samples dropped (samples/s, by stage and reason)",
        "cps",
        "Every drop has a reason. Normal: empty. docs/own-metrics.md says what each means.",
        Query(
            f"{own_rate('fabricscope_ingest_samples_dropped_total', 'reason')} > 0 or vector(0)", "ingest {{reason}}"
        ),
        Query(
            f"{own_rate('fabricscope_analytics_samples_dropped_total', 'reason')} > 0 or vector(0)",
            "analytics {{reason}}",
        ),
        Query(
            f"{own_rate('fabricscope_export_samples_dropped_total', 'reason')} > 0 or vector(0)", "export {{reason}}"
        ),
        drill_down=_FLOW,
    ),
    lines(
        29,
        "Samples dropped (samples/s, 10 targets with most)",
        "cps",
        "Which targets lose samples, and why; those beyond the first 1,000 of a process have no name here. Normal: "
        "empty. `fabricscope ledger --lossy` lists all.",
        Query(
            worst(f"{own_rate('fabricscope_ingest_target_samples_dropped_total', 'target, reason')} > 0"),
            "{{target}} {{reason}}",
        ),
        drill_down=_FLOW,
    ),
    stat(
        30,
        "Unaccounted (count, now)",
        "none",
        "What the targets sent less what was delivered, held and dropped. Normal: 0. Anything else is a fault of "
        "Fabricscope: /api/v1/ledger/targets?balanced=false says of which target.",
        Query(f"sum(fabricscope_ingest_unaccounted_samples{{{OWN}}}) or vector(0)", "samples"),
        width=4,
        steps=rising(bad=1),
        decimals=0,
        drill_down=_FLOW,
    ),
    lines(
        28,
        "Samples that nothing maps (samples/s)",
        "cps",
        "Of series outside the catalogue: they are collected and left out. Normal: steady. A step up: an exporter has "
        "new names, and maybe lost old ones. /api/v1/targets counts them by target.",
        Query(own_rate("fabricscope_ingest_samples_unmapped_total"), "not mapped"),
        drill_down=_FLOW,
    ),
    lines(
        16,
        "Lag of stages (records on the bus, 10 highest)",
        "none",
        "Records that a stage has still to read. Normal: a few. A number that grows: the stage is too slow.",
        Query(worst(f"max by (stage) (fabricscope_bus_lag_records{{{OWN}}})"), "{{stage}}"),
        drill_down=_FLOW,
    ),
    lines(
        17,
        "Delay of detection and export (s)",
        "s",
        "Age of the newest collection that analytics has seen, and of the newest that the receiver of remote write has "
        "accepted. Normal: a few seconds.",
        Query(f"time() - max({_WATERMARK} > 0)", "analytics"),
        Query(f"max(fabricscope_export_lag_seconds{{{OWN}}})", "export"),
        steps=rising(warn=LAG_S, bad=2 * STALE_S),
        drill_down=_FLOW,
    ),
    stat(
        18,
        "Stages that answer (%, now)",
        "percentunit",
        "Processes of Fabricscope that Prometheus reaches. Normal: 100 %.",
        Query(f"avg(up{{{OWN}}})", "up"),
        width=4,
        steps=falling(bad=0.999, warn=1.0),
        decimals=0,
        drill_down=DrillDown(WALL),
    ),
    stat(
        19,
        "Notifications that wait (count, now)",
        "none",
        "Pages in the outbox of the alerts stage. Normal: 0 after a few seconds. A receiver does not accept them.",
        Query(f"sum(fabricscope_alerts_notifications_queued{{{OWN}}}) or vector(0)", "waiting"),
        width=4,
        steps=rising(bad=1),
        decimals=0,
        drill_down=_FLOW,
    ),
    stat(
        20,
        "Settings (state, now)",
        "none",
        "Whether all stages could use the settings file when they read it last. Normal: valid.",
        Query(f"min(fabricscope_config_last_reload_successful{{{OWN}}})", "settings"),
        width=4,
        states={0: ("▼ refused", BAD), 1: ("● valid", GOOD)},
        drill_down=DrillDown(WALL),
    ),
    states(
        21,
        "Stages (state, 10 lowest)",
        "Whether each process answers Prometheus. Normal: up.",
        Query(lowest(f"min by (instance) (up{{{OWN}}})"), "{{instance}}"),
        states={0: ("▼ down", BAD), 1: ("● up", GOOD)},
        drill_down=DrillDown(WALL),
    ),
    lines(
        22,
        "Memory of stages (B, resident, 10 largest)",
        "bytes",
        "Normal: flat after an hour. What grows for days has too many series, or a fault.",
        Query(worst(f"max by (instance) (process_resident_memory_bytes{{{OWN}}})"), "{{instance}}"),
        drill_down=DrillDown("fabricscope-capacity"),
    ),
    lines(
        23,
        "CPU of stages (cores, 10 busiest)",
        "none",
        "CPU seconds a second. Normal: below 1 for each process.",
        Query(worst(own_rate("process_cpu_seconds_total", "instance")), "{{instance}}"),
        drill_down=DrillDown("fabricscope-capacity"),
    ),
    lines(
        24,
        "Series by quality (count)",
        "none",
        "Series that analytics holds, by the quality of their newest value. Normal: nearly all good. Stale and frozen "
        "ones are not judged.",
        Query(f"sum by (quality) (fabricscope_analytics_series{{{OWN}}})", "{{quality}}"),
        drill_down=_FLOW,
    ),
    lines(
        25,
        "Samples spooled on disk (s, age of the oldest)",
        "s",
        "How far back the spool of ingest reaches. Normal: 0. It grows while the bus does not accept samples.",
        Query(f"max(fabricscope_ingest_spooled_seconds{{{OWN}}}) or vector(0)", "spool"),
        drill_down=_FLOW,
    ),
    lines(
        26,
        "Requests of remote write (requests/s, by outcome)",
        "reqps",
        "Normal: accepted alone.",
        Query(own_rate("fabricscope_export_requests_total", "outcome"), "{{outcome}}"),
        drill_down=_FLOW,
    ),
    lines(
        27,
        "Failures inside (events/s)",
        "cps",
        "Publishes, detectors and spools that fail. Normal: 0; the log of the stage says why.",
        Query(f"{own_rate('fabricscope_bus_publish_failures_total')} or vector(0)", "publish"),
        Query(f"{own_rate('fabricscope_analytics_detector_failures_total')} or vector(0)", "detector"),
        Query(f"{own_rate('fabricscope_ingest_spool_failures_total')} or vector(0)", "spool"),
        steps=rising(bad=0.001),
        drill_down=_FLOW,
    ),
)

BOARD = Board(
    uid=UID,
    title="Fabricscope · Pipeline",
    description="Fabricscope itself: collection, bus, detection, export and pages.",
    level=Level.DOMAIN,
    tags=("telemetry",),
    variables=CLUSTER_VARIABLES,
    panels=(*first_row(UID, Domain.TELEMETRY), *_PANELS),
)
