"""Incidents: what fires and what it costs, and what was found, by kind and over time."""

from dataclasses import replace

from dashboards.common import CLUSTER_VARIABLES, RANKS, WALL, by_severity, costliest, first_row
from dashboards.model import SEVERITIES, Board, DrillDown, Level, Query
from dashboards.panels import lines, rising, stat, states, table
from dashboards.queries import CLUSTER, LINES_MAX, worst
from dashboards.scopes import OPENS_DEVICE

UID = "fabricscope-incidents"
_FIRING = f'fabricscope_incident{{{CLUSTER},state="firing"}}'
_COST = f'fabricscope_incident_gpu_seconds_total{{{CLUSTER},state="firing"}}'
_FINDINGS = f"fabricscope_finding_active{{{CLUSTER}}}"
_SEVERITIES = f"max by (cluster, kind, where) ({by_severity(_FIRING)})"

_PANELS = (
    replace(costliest(UID), width=24, height=12),
    states(
        11,
        "Incidents (severity over time, 10 worst)",
        "When each fired, and how severe it was. Normal: empty.",
        Query(worst(_SEVERITIES), "{{kind}} {{where}}"),
        width=24,
        states={RANKS[str(severity)]: shown for severity, shown in SEVERITIES.items()},
        drill_down=DrillDown(WALL),
    ),
    lines(
        12,
        "Incidents that fire (count, by severity)",
        "none",
        "Normal: 0 of critical ones.",
        Query(f"count by (severity) ({_FIRING} == 1)", "{{severity}}"),
        decimals=0,
        colours={str(severity): colour for severity, (_, colour) in SEVERITIES.items()},
        drill_down=DrillDown(WALL),
    ),
    lines(
        13,
        "GPU time that open incidents cost (GPUs)",
        "none",
        "GPU-seconds lost a second: how many GPUs stand still for the incidents that fire. Normal: 0.",
        Query(f"sum(rate({_COST}[$__rate_interval])) or vector(0)", "GPUs"),
        drill_down=DrillDown("fabricscope-jobs"),
    ),
    stat(
        14,
        "GPU-hours lost to open incidents (h, now)",
        "h",
        "What the incidents that fire have cost since they began.",
        Query(f"sum({_COST}) / 3600 or vector(0)", "lost"),
        width=6,
        steps=rising(bad=1),
        decimals=1,
        drill_down=DrillDown("fabricscope-jobs"),
    ),
    lines(
        15,
        "Findings that are active (count, 10 most frequent kinds)",
        "none",
        "Symptoms that detectors publish. Normal: few. Many of one kind with one incident: its blast radius.",
        Query(worst(f"count by (kind) ({_FINDINGS})"), "{{kind}}"),
        width=18,
        decimals=0,
        drill_down=DrillDown(WALL),
    ),
    table(
        16,
        "Devices with most findings (count, 10 worst, now)",
        "none",
        "Where symptoms are. Normal: empty. A switch with many ports on the list is a place to begin.",
        f'topk({LINES_MAX}, count by (cluster, device) (fabricscope_finding_active{{{CLUSTER},device!=""}}))',
        columns={"device": "Device", "Value": "Findings"},
        decimals=0,
        drill_down=OPENS_DEVICE,
    ),
    table(
        17,
        "Changes and drains in effect (10 at most, now)",
        "none",
        "Planned work, which nobody is paged for. Normal: what was announced.",
        f"topk({LINES_MAX}, fabricscope_change{{{CLUSTER}}} or label_replace(label_replace("
        f'fabricscope_node_intent{{{CLUSTER}}}, "kind", "$1", "intent", "(.*)"), "object", "device:$1", "device", "(.*)"))',
        columns={"kind": "What", "object": "Object", "author": "By"},
        drill_down=DrillDown("fabricscope-capacity"),
    ),
)

BOARD = Board(
    uid=UID,
    title="Fabricscope · Incidents",
    description="What fires, what it costs, and the findings behind it.",
    level=Level.DOMAIN,
    tags=("incidents",),
    variables=CLUSTER_VARIABLES,
    panels=(*first_row(UID), *_PANELS),
    since="now-6h",
)
