"""Stragglers and jobs: which job runs, which works less than it did, and which GPU the others wait for."""

from dashboards.common import JOB_VARIABLE, PLACE_VARIABLES, device_variable, first_row
from dashboards.model import INFO, Board, DrillDown, Level, Query, Step
from dashboards.panels import constant, lines, stat, table
from dashboards.queries import (
    CLUSTER,
    DEVICES,
    JOB_NODES,
    LINES_MAX,
    gpu_of_object,
    lowest,
    of_jobs,
    rate,
    with_index,
    worst,
)
from dashboards.scopes import OPENS_JOB, OPENS_NODE
from telemetry.kinds import Domain
from telemetry.limits import STRAGGLER_CLOCK_SHARE

UID = "fabricscope-jobs"
_STRAGGLERS = "straggler|gpu_hung|gpu_throttled|gpu_lost|gpu_xid|tcp_fallback"
_FOUND_STRAGGLERS = f'fabricscope_finding_active{{{CLUSTER},kind=~"{_STRAGGLERS}"}}'
_OF_JOBS = "job_slowed|job_stalled|job_idle|checkpoint_late|checkpoint_overdue|checkpoint_colliding"
_JOB = "{{job_id}}"
_NODE = "{{job_id}} {{device}}"


def _mean(metric: str) -> str:
    """Of the GPUs of each job."""
    return f"avg by (cluster, job_id) ({of_jobs(f'avg by (cluster, device) ({metric}{{{DEVICES}}})')})"


def _by_node(metric: str) -> str:
    """Of each node of each job."""
    return of_jobs(f"avg by (cluster, device) ({metric}{{{DEVICES}}})")


_CLOCK = of_jobs(f"min by (cluster, device) (gpu_sm_clock_hertz{{{DEVICES}}} > 0)")
_MEDIAN_CLOCK = f"quantile by (cluster, job_id) (0.5, {_CLOCK})"

_PANELS = (
    stat(
        10,
        "Jobs that run (count, now)",
        "none",
        "Jobs that the scheduler reports, on the chosen nodes. Normal: as planned.",
        Query(f"count(count by (cluster, job_id) ({JOB_NODES})) or vector(0)", "jobs"),
        width=4,
        steps=(Step(None, INFO),),
        decimals=0,
        drill_down=DrillDown("fabricscope-job"),
    ),
    table(
        11,
        "Jobs that run (nodes, 10 largest, now)",
        "none",
        "Who runs what on how many nodes. The link opens the job.",
        f"topk({LINES_MAX}, count by (cluster, job_id, name, user) ({JOB_NODES}))",
        width=10,
        columns={"job_id": "Job", "name": "Name", "user": "User", "Value": "Nodes"},
        decimals=0,
        drill_down=OPENS_JOB,
    ),
    table(
        12,
        "What is wrong with jobs (findings, 10 at most, now)",
        "none",
        "Jobs that work less than they did, stand still, or are late with a checkpoint. Normal: empty.",
        f'topk({LINES_MAX}, label_replace(fabricscope_finding_active{{{CLUSTER},kind=~"{_OF_JOBS}"}}, '
        '"job_id", "$1", "object", "job:(.+)"))',
        width=10,
        columns={"kind": "What", "job_id": "Job", "detector": "Found by"},
        drill_down=OPENS_JOB,
    ),
    lines(
        13,
        "Tensor activity (%, mean of a job, 10 lowest jobs)",
        "percentunit",
        "Share of cycles in which tensor cores work. Normal: steady for each job. A step down without a checkpoint is "
        "a job that waits.",
        Query(lowest(_mean("gpu_tensor_active_ratio")), _JOB),
        maximum=1.0,
        drill_down=OPENS_JOB,
    ),
    lines(
        14,
        "Utilisation (%, mean of a job, 10 lowest jobs)",
        "percentunit",
        "Share of time with a kernel. Normal: near 100 %. Low utilisation: input or checkpoints; high with low tensor "
        "activity: the network or a straggler.",
        Query(lowest(_mean("gpu_utilization_ratio")), _JOB),
        maximum=1.0,
        drill_down=OPENS_JOB,
    ),
    lines(
        15,
        "Tensor activity of nodes (%, 10 highest nodes of jobs)",
        "percentunit",
        "Where all wait for one, that one works longest. Normal: the nodes of a job together.",
        Query(worst(_by_node("gpu_tensor_active_ratio")), _NODE),
        maximum=1.0,
        drill_down=OPENS_NODE,
    ),
    lines(
        16,
        "Power of nodes (W, mean of a GPU, 10 lowest nodes of jobs)",
        "watt",
        "Normal: the nodes of a job together. One far below waits or hangs.",
        Query(lowest(_by_node("gpu_power_watts")), _NODE),
        drill_down=OPENS_NODE,
    ),
    lines(
        17,
        "SM clock (% of the median of the job, slowest GPU of a node, 10 lowest nodes of jobs)",
        "percentunit",
        "Clock of the slowest GPU of each node, of the median of these in its job. Normal: above the dashed limit of "
        "the straggler detector. One below it sets the pace of its job.",
        Query(lowest(f"{_CLOCK} / on (cluster, job_id) group_left () {_MEDIAN_CLOCK}"), _NODE),
        limit=constant(STRAGGLER_CLOCK_SHARE, "straggler"),
        drill_down=OPENS_NODE,
    ),
    table(
        18,
        "What makes jobs wait (findings about GPUs and nodes, 10 at most, now)",
        "none",
        "Stragglers, hung, throttled and lost GPUs, and nodes without RDMA. Normal: empty. Drain the node.",
        f"topk({LINES_MAX}, {with_index(gpu_of_object(_FOUND_STRAGGLERS))})",
        columns={"kind": "What", "device": "Node", "index": "GPU", "object": "Object", "detector": "Found by"},
        drill_down=OPENS_NODE,
    ),
    lines(
        19,
        "Traffic of nodes (B/s, sent by RDMA, 10 lowest nodes of jobs)",
        "Bps",
        "Normal: the nodes of a job together. One near 0 beside busy ones uses sockets, or has left the collective.",
        Query(
            lowest(of_jobs(f"sum by (cluster, device) ({rate('ib_port_transmit_bytes_total', DEVICES)})")),
            _NODE,
        ),
        drill_down=OPENS_NODE,
    ),
)

BOARD = Board(
    uid=UID,
    title="Fabricscope · Stragglers & jobs",
    description="Jobs, how much they work, and what they wait for.",
    level=Level.DOMAIN,
    tags=("gpu", "job"),
    variables=(*PLACE_VARIABLES, device_variable("gpu_utilization_ratio", "Node"), JOB_VARIABLE),
    panels=(*first_row(UID, Domain.GPU, Domain.STORAGE), *_PANELS),
)
