"""The NOC wall: nine panels, no scroll, no variable to choose, readable from across the room."""

from dataclasses import replace

from dashboards.common import CLUSTER_VARIABLES, WALL, costliest, first_row
from dashboards.model import INFO, Board, DrillDown, Level, Query, Step
from dashboards.panels import constant, falling, lines, stat, table
from dashboards.queries import CLUSTER, cabled, down, pause_ratio, rate, worst
from dashboards.scopes import OPENS_PORT
from telemetry.limits import PAUSE_RATIO_MAX

_FRESHNESS, _COMPLETENESS, _OPEN, _ = first_row(WALL)
_PANELS = (
    replace(_OPEN, width=6, height=5),
    replace(_FRESHNESS, width=6, height=5),
    replace(_COMPLETENESS, width=6, height=5),
    stat(
        12,
        "Tensor activity (%, mean of all GPUs, now)",
        "percentunit",
        "Mean share of cycles in which tensor cores work. Normal: steady while jobs train. A fall without an incident "
        "means that jobs ended.",
        Query(f"avg(gpu_tensor_active_ratio{{{CLUSTER}}})", "mean"),
        width=6,
        height=5,
        steps=(Step(None, INFO),),
        decimals=0,
        drill_down=DrillDown("fabricscope-gpu"),
    ),
    replace(costliest(WALL), width=16, height=12),
    lines(
        11,
        "Ports paused most (% of time, 10 worst)",
        "percentunit",
        "Share of time in which a port must not send because its peer is congested. Normal: below a fifth of the "
        "dashed limit of the detector. Above it the senders behind the port wait.",
        Query(worst(pause_ratio("rx", CLUSTER)), "{{device}} {{port}}"),
        width=8,
        height=12,
        limit=constant(PAUSE_RATIO_MAX, "detection limit"),
        drill_down=OPENS_PORT,
    ),
    stat(
        16,
        "Ports up (%, now)",
        "percentunit",
        "Switch ports that are up, of those that were up within the last day: spare ports do not count. Normal: "
        "100 %. The list beside it names the others.",
        Query(f"avg({cabled('fabric_port_up', CLUSTER)})", "up"),
        width=4,
        height=7,
        steps=falling(bad=0.99, warn=0.9999),
        decimals=1,
        drill_down=DrillDown("fabricscope-links"),
    ),
    table(
        13,
        "Links down (ports with a cable, 10 at most, now)",
        "none",
        "Ports that are down and were up within the last day: ports without a cable do not count. Normal: empty.",
        f"topk(10, {down('fabric_port_up', CLUSTER)})",
        width=8,
        height=7,
        columns={"device": "Switch", "port": "Port"},
        drill_down=OPENS_PORT,
    ),
    lines(
        14,
        "Storage throughput (B/s, all servers)",
        "Bps",
        "Bytes per second that the storage servers read and write. Normal: peaks at checkpoints. Flat and low while "
        "GPUs wait: a storage target is slow.",
        Query(f"sum({rate('storage_read_bytes_total', CLUSTER, side='server')})", "read"),
        Query(f"sum({rate('storage_written_bytes_total', CLUSTER, side='server')})", "written"),
        width=12,
        height=7,
        drill_down=DrillDown("fabricscope-storage"),
    ),
)

BOARD = Board(
    uid=WALL,
    title="Fabricscope · NOC wall",
    description="The state of the cluster at one glance.",
    level=Level.WALL,
    tags=("noc",),
    variables=CLUSTER_VARIABLES,
    panels=_PANELS,
    refresh="5s",
    since="now-30m",
)
