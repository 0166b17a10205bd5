"""The NOC wall: nine panels, no scroll, no variable to choose, readable from across the room."""

from dashboards.boards.lossless_fabric import DETAIL, PAUSE_RECEIVED
from dashboards.common import CLUSTER_VARIABLE, first_row
from dashboards.model import Board, Query
from dashboards.panels import lines, table
from dashboards.queries import CLUSTER, pause_ratio, rate, worst

_PORT_UP = f"fabric_port_up{{{CLUSTER}}}"
_PANELS = (
    table(
        15,
        "Silent targets (now)",
        "none",
        "Targets whose last collection failed. Normal: none. Their series are stale, not healthy.",
        f"topk(10, up{{{CLUSTER}}} == 0)",
        width=8,
        height=4,
        columns={"device": "Device", "target": "Target", "Value": "Up"},
    ),
    table(
        10,
        "Incidents that fire, worst first (GPU-hours lost, now)",
        "h",
        "One line a cause. Normal: empty. The incident's page, by its id, has evidence and action; the link opens "
        "the lossless fabric at this time range.",
        f'topk(10, fabricscope_incident_gpu_seconds_total{{{CLUSTER},state="firing"}} / 3600)',
        width=16,
        height=10,
        columns={
            "severity": "Severity",
            "kind": "What",
            "root": "Where",
            "incident_id": "Incident",
            "Value": "GPU-hours lost",
        },
        decimals=2,
        drill_down=("fabricscope-fabric", ()),
    ),
    lines(
        11,
        "Ports paused most (% of time, 10 worst)",
        "percentunit",
        "Share of time in which a port must not send because its peer is congested. Normal: below 1 %. "
        "Above 5 % the senders behind it wait: see the lossless fabric.",
        Query(worst(pause_ratio("rx", CLUSTER)), DETAIL),
        width=8,
        height=10,
        steps=PAUSE_RECEIVED,
        drill_down=("fabricscope-fabric", ("device",)),
    ),
    lines(
        12,
        "Tensor activity of the cluster (%, mean of GPUs)",
        "percentunit",
        "Mean share of time in which tensor cores work. Normal: steady while jobs train. A fall without an incident "
        "means that jobs ended.",
        Query(f"avg(gpu_tensor_active_ratio{{{CLUSTER}}})", "mean"),
        width=8,
        maximum=1.0,
        drill_down=("fabricscope-gpu", ()),
    ),
    table(
        13,
        "Links down (ports, now)",
        "none",
        "Ports that are down and were up within the last day: ports without a cable do not count. Normal: none.",
        f"topk(10, {_PORT_UP} == 0 and max_over_time({_PORT_UP}[1d]) == 1)",
        width=8,
        columns={"device": "Switch", "port": "Port"},
        drill_down=("fabricscope-fabric", ("device",)),
    ),
    lines(
        14,
        "Storage throughput (B/s, all servers)",
        "Bps",
        "Bytes per second that the storage servers read and write. Normal: peaks at checkpoints. Flat and low while "
        "GPUs wait: a storage target is slow.",
        Query(f"sum({rate('storage_read_bytes_total', CLUSTER, side='server')})", "read"),
        Query(f"sum({rate('storage_written_bytes_total', CLUSTER, side='server')})", "written"),
        width=8,
    ),
)

BOARD = Board(
    uid="fabricscope-noc",
    title="Fabricscope · NOC wall",
    description="The state of the cluster at one glance.",
    tags=("fabricscope", "noc"),
    variables=(CLUSTER_VARIABLE,),
    panels=(*first_row(), *_PANELS),
    refresh="5s",
    since="now-30m",
)
