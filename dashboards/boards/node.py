"""One node: its GPUs, NICs, memory, disks, heat and jobs."""

from dashboards.boards.fabric_links import UP
from dashboards.common import CLUSTER_VARIABLES, first_row
from dashboards.model import BAD, Board, DrillDown, Level, Query, Variable
from dashboards.panels import constant, every, highest, lines, rising, states, table
from dashboards.queries import CLUSTER, LINES_MAX, cabled, lowest, rate
from dashboards.scopes import GPUS_OF_ONE, NICS_OF_ONE, NODE_BOARD, ONE_NODE, OPENS_JOB
from telemetry.limits import GPU_SLOWDOWN_CELSIUS, INLET_ALLOWED_CELSIUS, INLET_RECOMMENDED_CELSIUS, PAUSE_RATIO_MAX

NODE = ONE_NODE.labels
_FABRIC = DrillDown("fabricscope-fabric")
_POWER = DrillDown("fabricscope-power")
_STORAGE = DrillDown("fabricscope-storage")

_PANELS = (
    states(
        10,
        "Telemetry (over time)",
        "Whether each exporter of the node answered. Normal: up. While one is down, its panels show nothing.",
        Query(f'max by (cluster, target) (up{{{NODE},target!=""}})', "{{target}}"),
        height=7,
        states=UP,
        drill_down=DrillDown("fabricscope-pipeline"),
    ),
    states(
        11,
        "Findings (over time)",
        "What detectors say about the node and its parts. Normal: empty.",
        Query(f"count by (kind) (fabricscope_finding_active{{{NODE}}}) > bool 0", "{{kind}}"),
        height=7,
        states={1: ("active", BAD)},
        drill_down=DrillDown("fabricscope-incidents"),
    ),
    table(
        12,
        "Jobs of the node (10 at most, now)",
        "none",
        "What the scheduler runs on it. Normal: one job.",
        f"topk({LINES_MAX}, fabricscope_job_node{{{NODE}}})",
        height=7,
        columns={"job_id": "Job", "name": "Name", "user": "User"},
        drill_down=OPENS_JOB,
    ),
    states(
        13,
        "NICs (over time, 10 lowest with a cable)",
        "Carrier of each interface. Normal: up.",
        Query(lowest(f"min by (cluster, device, port) ({cabled('nic_up', NODE)})"), "{{port}}"),
        height=7,
        states=UP,
        drill_down=_FABRIC,
    ),
    every(
        14,
        "Tensor activity",
        GPUS_OF_ONE,
        "gpu_tensor_active_ratio",
        "Normal: all GPUs alike.",
        maximum=1.0,
    ),
    every(
        15,
        "Power of GPUs",
        GPUS_OF_ONE,
        "gpu_power_watts",
        "Normal: all alike, near the dashed limit in compute.",
        limit=Query(f"max(gpu_power_limit_watts{{{NODE}}})", "power limit"),
    ),
    every(
        16,
        "Temperature of GPUs",
        GPUS_OF_ONE,
        "gpu_temperature_celsius",
        "Normal: alike, and below 80 °C.",
        limit=constant(GPU_SLOWDOWN_CELSIUS, "slowdown"),
    ),
    every(
        17,
        "SM clock",
        GPUS_OF_ONE,
        "gpu_sm_clock_hertz",
        "Normal: all alike.",
    ),
    highest(
        18,
        "Received by RDMA",
        NICS_OF_ONE,
        "ib_port_receive_bytes_total",
        "Normal: the NICs of all rails alike.",
        drill_down=_FABRIC,
    ),
    highest(
        19,
        "Sent by RDMA",
        NICS_OF_ONE,
        "ib_port_transmit_bytes_total",
        "Normal: the NICs of all rails alike.",
        drill_down=_FABRIC,
    ),
    highest(
        20,
        "Pause of NICs",
        NICS_OF_ONE,
        "nic_pfc_pause_seconds_total",
        "tx: the host cannot take what arrives. rx: the switch pauses it. Normal: below the dashed limit.",
        by=("direction",),
        how="max",
        limit=constant(PAUSE_RATIO_MAX, "detection limit"),
        drill_down=_FABRIC,
    ),
    highest(
        21,
        "PCIe stalls of NICs",
        NICS_OF_ONE,
        "nic_pcie_stalled_ratio",
        "Normal: below 10 %.",
        by=("op",),
        drill_down=_FABRIC,
    ),
    lines(
        22,
        "Memory available (B)",
        "bytes",
        "Memory of the host that programs can use. Normal: above a tenth of the dashed size.",
        Query(f"node_memory_available_bytes{{{NODE}}}", "available"),
        limit=Query(f"max(node_memory_total_bytes{{{NODE}}})", "size"),
        drill_down=DrillDown("fabricscope-capacity"),
    ),
    lines(
        23,
        "Load (processes, 1 minute)",
        "none",
        "Processes that run or wait. Normal: below the number of cores.",
        Query(f"node_load_1m{{{NODE}}}", "load"),
        drill_down=DrillDown("fabricscope-capacity"),
    ),
    every(
        24,
        "Waiting for resources",
        ONE_NODE,
        "node_pressure_seconds_total",
        "Normal: below a few per cent. stalled: no task could run.",
        by=("resource", "kind"),
    ),
    lines(
        25,
        "Storage traffic of the node (B/s)",
        "Bps",
        "What it reads and writes, disks and file systems. Normal: bursts at checkpoints and at the start of a job.",
        Query(f"sum({rate('storage_read_bytes_total', NODE)})", "read"),
        Query(f"sum({rate('storage_written_bytes_total', NODE)})", "written"),
        drill_down=_STORAGE,
    ),
    every(
        26,
        "Power of the node",
        ONE_NODE,
        "node_power_watts",
        "Normal: follows its GPUs.",
        drill_down=_POWER,
    ),
    highest(
        27,
        "Temperature of sensors",
        ONE_NODE,
        "node_temperature_celsius",
        "Normal: steady. Inlet air above the dashed limit is not allowed.",
        by=("sensor",),
        limit=constant(INLET_ALLOWED_CELSIUS, "inlet, allowed"),
        steps=rising(warn=INLET_RECOMMENDED_CELSIUS, bad=INLET_ALLOWED_CELSIUS),
        drill_down=_POWER,
    ),
    table(
        28,
        "Software (versions, now)",
        "none",
        "Versions of kernel, drivers and firmware. Normal: as on the nodes beside it.",
        f"device_software_info{{{NODE}}}",
        columns={"component": "Component", "version": "Version"},
        drill_down=DrillDown("fabricscope-incidents"),
    ),
)

BOARD = Board(
    uid=NODE_BOARD,
    title="Fabricscope · Node",
    description="One node: GPUs, NICs, memory, disks, heat and jobs.",
    level=Level.OBJECT,
    tags=("gpu", "device"),
    variables=(
        *CLUSTER_VARIABLES,
        Variable("device", "Node", f"label_values(node_memory_total_bytes{{{CLUSTER}}}, device)", single=True),
    ),
    panels=(*first_row(NODE_BOARD, of_device=True), *_PANELS),
)
