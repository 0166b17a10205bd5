"""One job: where it runs, how much it works, and what its nodes wait for."""

from dataclasses import replace

from dashboards.common import CLUSTER_VARIABLES, JOB_VARIABLE, first_row
from dashboards.model import BAD, INFO, Board, DrillDown, Level, Query, Step
from dashboards.panels import constant, lines, stat, states, table
from dashboards.queries import (
    CLUSTER,
    JOB_NODES,
    LINES_MAX,
    gpu_of_object,
    lowest,
    of_jobs,
    rate,
    with_index,
    worst,
)
from dashboards.scopes import GPUS, JOB_BOARD, OPENS_GPU, OPENS_NODE
from telemetry.kinds import Domain
from telemetry.limits import GPU_SLOWDOWN_CELSIUS, PAUSE_RATIO_MAX

_NODE = "{{device}}"
_STORAGE = DrillDown("fabricscope-storage")


def _by_node(metric: str, how: str = "avg") -> str:
    return of_jobs(f"{how} by (cluster, device) ({metric}{{{CLUSTER}}})")


def _rate_by_node(metric: str, **only: str) -> str:
    return of_jobs(f"sum by (cluster, device) ({rate(metric, CLUSTER, **only)})")


def _in_job(expr: str) -> str:
    """Series of devices that the job has."""
    return f"{expr} and on (cluster, device) {JOB_NODES}"


_CLOCK = _in_job(f"min by (cluster, device, gpu) (gpu_sm_clock_hertz{{{CLUSTER}}})")

_PANELS = (
    table(
        10,
        "Nodes of the job (10 at most, now)",
        "none",
        "Where it runs. The link opens the node.",
        f"topk({LINES_MAX}, {JOB_NODES})",
        columns={"device": "Node", "job_id": "Job", "name": "Name", "user": "User"},
        drill_down=OPENS_NODE,
    ),
    stat(
        11,
        "Nodes (count, now)",
        "none",
        "Nodes that the scheduler gave to the job. Normal: constant from start to end.",
        Query(f"count({JOB_NODES}) or vector(0)", "nodes"),
        width=4,
        steps=(Step(None, INFO),),
        decimals=0,
        drill_down=DrillDown("fabricscope-jobs"),
    ),
    states(
        12,
        "Findings about the job (over time)",
        "Less work than before, standstill, late checkpoints. Normal: empty.",
        Query(f'max by (kind) (fabricscope_finding_active{{{CLUSTER},object=~"job:($job)"}})', "{{kind}}"),
        width=8,
        states={1: ("active", BAD)},
        drill_down=DrillDown("fabricscope-incidents"),
    ),
    table(
        13,
        "Findings on its nodes (10 at most, now)",
        "none",
        "What detectors say about its nodes and their parts. Normal: empty.",
        f"topk({LINES_MAX}, {with_index(gpu_of_object(_in_job(f'fabricscope_finding_active{{{CLUSTER}}}')))})",
        columns={"kind": "What", "device": "Node", "index": "GPU", "object": "Object"},
        drill_down=OPENS_NODE,
    ),
    lines(
        14,
        "Tensor activity (%, mean of all GPUs)",
        "percentunit",
        "Share of cycles with tensor work. Normal: steady, with a gap at each checkpoint.",
        Query(f"avg({_by_node('gpu_tensor_active_ratio')})", "mean"),
        maximum=1.0,
        drill_down=DrillDown("fabricscope-jobs"),
    ),
    lines(
        15,
        "Tensor activity of nodes (%, 10 highest nodes)",
        "percentunit",
        "Where all wait for one, that one works longest. Normal: together.",
        Query(worst(_by_node("gpu_tensor_active_ratio")), _NODE),
        maximum=1.0,
        drill_down=OPENS_NODE,
    ),
    lines(
        16,
        "Power of nodes (W, mean of a GPU, 10 lowest nodes)",
        "watt",
        "Normal: together. One far below waits or hangs.",
        Query(lowest(_by_node("gpu_power_watts")), _NODE),
        drill_down=OPENS_NODE,
    ),
    lines(
        17,
        "SM clock (Hz, 10 lowest GPUs)",
        "hertz",
        "Normal: all alike. The slowest sets the pace.",
        Query(with_index(lowest(_CLOCK)), GPUS.legend),
        drill_down=OPENS_GPU,
    ),
    lines(
        18,
        "Temperature of nodes (°C, hottest GPU, 10 hottest nodes)",
        "celsius",
        "Normal: below 80 °C.",
        Query(worst(_by_node("gpu_temperature_celsius", "max")), _NODE),
        limit=constant(GPU_SLOWDOWN_CELSIUS, "slowdown"),
        drill_down=OPENS_NODE,
    ),
    lines(
        19,
        "Sent by RDMA (B/s, 10 lowest nodes)",
        "Bps",
        "Normal: together, in bursts. One near 0 has left the collective.",
        Query(lowest(_rate_by_node("ib_port_transmit_bytes_total")), _NODE),
        drill_down=OPENS_NODE,
    ),
    lines(
        20,
        "Pause of NICs (% of time, received and sent, 10 worst nodes)",
        "percentunit",
        "The most paused priority of a node's NICs. Normal: below the dashed limit.",
        Query(
            worst(of_jobs(f"max by (cluster, device) ({rate('nic_pfc_pause_seconds_total', CLUSTER)})")),
            _NODE,
        ),
        limit=constant(PAUSE_RATIO_MAX, "detection limit"),
        drill_down=OPENS_NODE,
    ),
    lines(
        21,
        "Written by nodes (B/s, 10 highest nodes)",
        "Bps",
        "Checkpoints. Normal: all nodes alike, in regular bursts.",
        Query(worst(_rate_by_node("storage_written_bytes_total", side="client")), _NODE),
        drill_down=_STORAGE,
    ),
    lines(
        22,
        "Read by nodes (B/s, 10 highest nodes)",
        "Bps",
        "Input. Normal: steady, and alike.",
        Query(worst(_rate_by_node("storage_read_bytes_total", side="client")), _NODE),
        drill_down=_STORAGE,
    ),
)

BOARD = Board(
    uid=JOB_BOARD,
    title="Fabricscope · Job",
    description="One job: nodes, work, traffic, checkpoints and what it waits for.",
    level=Level.OBJECT,
    tags=("gpu", "job"),
    variables=(*CLUSTER_VARIABLES, replace(JOB_VARIABLE, single=True)),
    panels=(*first_row(JOB_BOARD, Domain.GPU, Domain.STORAGE), *_PANELS),
)
