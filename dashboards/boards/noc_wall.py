"""The NOC wall: nine panels, no scroll, no variable to choose, readable from across the room."""

from dashboards.common import CLUSTER_VARIABLE, first_row
from dashboards.model import BAD, GOOD, WARN, Board, Panel, Query, Show, Step
from dashboards.queries import CLUSTER, pause_ratio, worst

_PORT_UP = f"fabric_port_up{{{CLUSTER}}}"
_INCIDENTS = Panel(
    id=10,
    title="Incidents that fire, worst first (GPU-hours lost, now)",
    description="One line a cause. Normal: empty. The incident's page, by its id, has evidence and action; the link opens "
    "the lossless fabric at this time range.",
    show=Show.TABLE,
    queries=(Query(f'topk(10, fabricscope_incident_gpu_seconds_total{{{CLUSTER},state="firing"}} / 3600)'),),
    unit="h",
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
)
_PAUSED = Panel(
    id=11,
    title="Ports paused most (% of time, 10 worst)",
    description="Share of time in which a port must not send because its peer is congested. Normal: below 1 %. "
    "Above 5 % the senders behind it wait: see the lossless fabric.",
    show=Show.LINES,
    queries=(Query(worst(pause_ratio("rx", CLUSTER)), "{{device}} {{port}}"),),
    unit="percentunit",
    width=8,
    height=10,
    steps=(Step(None, GOOD), Step(0.01, WARN), Step(0.05, BAD)),
    drill_down=("fabricscope-fabric", ("device",)),
)
_TENSOR = Panel(
    id=12,
    title="Tensor activity of the cluster (%, mean of GPUs)",
    description="Mean share of time in which tensor cores work. Normal: steady while jobs train. A fall without an incident "
    "means that jobs ended.",
    show=Show.LINES,
    queries=(Query(f"avg(gpu_tensor_active_ratio{{{CLUSTER}}})", "mean"),),
    unit="percentunit",
    width=8,
    height=8,
    maximum=1.0,
    drill_down=("fabricscope-gpu", ()),
)
_DOWN = Panel(
    id=13,
    title="Links down (ports, now)",
    description="Ports that are down and were up within the last day: ports without a cable do not count. Normal: none.",
    show=Show.TABLE,
    queries=(Query(f"topk(10, {_PORT_UP} == 0 and max_over_time({_PORT_UP}[1d]) == 1)"),),
    unit="none",
    width=8,
    height=8,
    columns={"device": "Switch", "port": "Port", "Value": "Up"},
    drill_down=("fabricscope-fabric", ("device",)),
)
_STORAGE = Panel(
    id=14,
    title="Storage throughput (B/s, all servers)",
    description="Bytes per second that the storage servers read and write. Normal: peaks at checkpoints. Flat and low while "
    "GPUs wait: a storage target is slow.",
    show=Show.LINES,
    queries=(
        Query(f'sum(rate(storage_read_bytes_total{{{CLUSTER},side="server"}}[$__rate_interval]))', "read"),
        Query(f'sum(rate(storage_written_bytes_total{{{CLUSTER},side="server"}}[$__rate_interval]))', "written"),
    ),
    unit="Bps",
    width=8,
    height=8,
)
_SILENT = Panel(
    id=15,
    title="Silent targets (now)",
    description="Targets whose last collection failed. Normal: none. Their series are stale, not healthy.",
    show=Show.TABLE,
    queries=(Query(f"topk(10, up{{{CLUSTER}}} == 0)"),),
    unit="none",
    width=8,
    height=4,
    columns={"device": "Device", "target": "Target", "Value": "Up"},
)

BOARD = Board(
    uid="fabricscope-noc",
    title="Fabricscope · NOC wall",
    description="The state of the cluster at one glance.",
    tags=("fabricscope", "noc"),
    variables=(CLUSTER_VARIABLE,),
    panels=(*first_row(), _SILENT, _INCIDENTS, _PAUSED, _TENSOR, _DOWN, _STORAGE),
    refresh="5s",
    since="now-30m",
)
