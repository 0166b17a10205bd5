"""Capacity: how full links, storage, memory and GPUs are, and which way it goes."""

from dashboards.boards.storage import FULL
from dashboards.common import PLACE_VARIABLES, device_variable, first_row
from dashboards.model import Board, DrillDown, Level, Query
from dashboards.panels import lines, rising, stat, table
from dashboards.queries import CLUSTER, DEVICES, JOB_NODES, LINES_MAX, TARGETS, lowest, rate, worst
from dashboards.scopes import NODES, OPENS_NODE, OPENS_PORT, PORTS, STORAGE_TARGETS
from telemetry.kinds import Domain

UID = "fabricscope-capacity"
_GPU_NODES = f"count by (cluster, device) (gpu_utilization_ratio{{{DEVICES}}})"
_BUSY_NODES = _GPU_NODES + ' and on (cluster, device) fabricscope_job_node{cluster=~"$cluster",replay=~"$replay"}'
_SENT = f"8 * max by (cluster, device, port) ({rate('fabric_port_transmit_bytes_total', DEVICES)})"
_SPEED = f"(max by (cluster, device, port) (fabric_port_speed_bits_per_second{{{DEVICES}}}) > 0)"
DAYS_MAX = 365  # of an axis: what shrinks by a byte a second would be full in a million years
_SOURCE = f'label_replace(up{{{TARGETS}}}, "source", "$1", "target", "([^/]+)/.*")'

_PANELS = (
    stat(
        10,
        "GPUs in jobs (%, of those that report, now)",
        "percentunit",
        "GPUs of nodes that run a job. Normal: as the schedule plans. Low with a long queue: nodes are drained or "
        "broken.",
        Query(f"sum({_BUSY_NODES}) / sum({_GPU_NODES})", "in jobs"),
        width=6,
        decimals=0,
        drill_down=DrillDown("fabricscope-jobs"),
    ),
    stat(
        11,
        "Nodes that take no job (count, now)",
        "none",
        "Nodes that are drained, in maintenance, rebooting or powered down. Normal: what was announced.",
        Query(f"count(fabricscope_node_intent{{{CLUSTER}}}) or vector(0)", "nodes"),
        width=6,
        decimals=0,
        drill_down=DrillDown("fabricscope-incidents"),
    ),
    table(
        12,
        "Nodes that take no job (10 at most, now)",
        "none",
        "What the scheduler keeps from jobs, and why. Normal: what was announced.",
        f"topk({LINES_MAX}, fabricscope_node_intent{{{CLUSTER}}})",
        columns={"device": "Node", "intent": "Intent"},
        drill_down=OPENS_NODE,
    ),
    lines(
        13,
        "Nodes in jobs (count, 10 largest jobs)",
        "none",
        "Nodes of each job. Normal: constant from start to end.",
        Query(worst(f"count by (cluster, job_id) ({JOB_NODES.replace('$job', '.*')})"), "{{job_id}}"),
        decimals=0,
        drill_down=DrillDown("fabricscope-job", ("job",)),
    ),
    lines(
        14,
        "Link utilisation (%, mean of the time range, 10 busiest ports)",
        "percentunit",
        "Bits that leave a port, of its speed, smoothed over an hour. Normal: below 70 %, above it bursts collide.",
        Query(worst(f"avg_over_time(({_SENT} / {_SPEED})[1h:1m])"), PORTS.legend),
        maximum=1.0,
        steps=rising(warn=0.7, bad=0.9),
        drill_down=OPENS_PORT,
    ),
    lines(
        15,
        "Space used (%, 10 fullest targets)",
        "percentunit",
        "Of storage targets. Above 90 % Lustre slows down.",
        Query(worst(FULL), STORAGE_TARGETS.legend),
        maximum=1.0,
        steps=rising(warn=0.8, bad=0.9),
        drill_down=OPENS_NODE,
    ),
    lines(
        16,
        "Memory available (% of the host's, 10 lowest nodes)",
        "percentunit",
        "Normal: above 10 %. Below, the host kills processes.",
        Query(
            lowest(
                f"max by (cluster, device) (node_memory_available_bytes{{{DEVICES}}} "
                f"/ (node_memory_total_bytes{{{DEVICES}}} > 0))"
            ),
            NODES.legend,
        ),
        maximum=1.0,
        drill_down=OPENS_NODE,
    ),
    lines(
        17,
        "Space on storage (days until full, at the pace of the last day, 10 soonest targets)",
        "d",
        "What is available, by how fast it shrinks. Normal: weeks; 365 stands for a year or more. The findings below rest on longer history "
        "and proved trends.",
        Query(
            lowest(
                f"max by ({STORAGE_TARGETS.grouping}) (clamp_max(storage_available_bytes{{{STORAGE_TARGETS.labels}}} "
                f"/ clamp_min(-deriv(storage_available_bytes{{{STORAGE_TARGETS.labels}}}[1d]), 1) / 86400, {DAYS_MAX}))"
            ),
            STORAGE_TARGETS.legend,
        ),
        drill_down=OPENS_NODE,
    ),
    table(
        18,
        "What will be full or worn out soon (findings, 10 at most, now)",
        "none",
        "Forecasts by proved trends. Normal: empty. The incident names the day.",
        f'topk({LINES_MAX}, fabricscope_finding_active{{{CLUSTER},kind=~"capacity|wear"}})',
        columns={"kind": "What", "object": "Object", "detector": "Found by"},
        drill_down=DrillDown("fabricscope-incidents"),
    ),
    lines(
        19,
        "Load of hosts (processes, 1 minute, 10 highest nodes)",
        "none",
        "Processes that run or wait. Normal: below the number of cores.",
        Query(worst(f"max by (cluster, device) (node_load_1m{{{DEVICES}}})"), NODES.legend),
        drill_down=OPENS_NODE,
    ),
    lines(
        20,
        "Targets (count, by source)",
        "none",
        "Targets that are collected. Normal: constant; a step is a change of the settings or of service discovery.",
        Query(f"count by (source) ({_SOURCE})", "{{source}}"),
        decimals=0,
        drill_down=DrillDown("fabricscope-pipeline"),
    ),
)

BOARD = Board(
    uid=UID,
    title="Fabricscope · Capacity",
    description="How much of what there is is used, and what runs out.",
    level=Level.DOMAIN,
    tags=("capacity",),
    variables=(*PLACE_VARIABLES, device_variable("up", "Device")),
    panels=(*first_row(UID, Domain.CAPACITY), *_PANELS),
    since="now-24h",
)
