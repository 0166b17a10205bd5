"""GPU health: what works, what waits, what is throttled, what broke, what it draws and moves."""

from dashboards.common import PLACE_VARIABLES, device_variable, first_row
from dashboards.model import Board, DrillDown, Level, Query, Variable
from dashboards.panels import constant, highest, lines, lowest_of, rising, stat, table
from dashboards.queries import CLUSTER, DEVICES, LINES_MAX, lowest, rate, with_index, worst
from dashboards.scopes import GPUS, NODES, OPENS_GPU, OPENS_NODE
from telemetry.kinds import Domain
from telemetry.limits import (
    GPU_NVLINK_CRC_PER_SECOND_MAX,
    GPU_PCIE_REPLAYS_PER_SECOND_MAX,
    GPU_SLOWDOWN_CELSIUS,
    GPU_THROTTLED_SHARE_MAX,
)

UID = "fabricscope-gpu"
ALL = DEVICES + ',gpu=~"$gpu"'
_NEAR_KELVIN = 7  # an H100 runs to 80 C under load
_HOT = rising(warn=GPU_SLOWDOWN_CELSIUS - _NEAR_KELVIN, bad=GPU_SLOWDOWN_CELSIUS)
_EACH = GPUS.of(ALL)

_PANELS = (
    stat(
        20,
        "GPUs that report (count, now)",
        "none",
        "GPUs whose telemetry is there. Normal: all that were installed; the node with one less has lost a GPU.",
        Query(f"count(gpu_utilization_ratio{{{ALL}}})", "GPUs"),
        width=4,
        height=4,
        decimals=0,
        drill_down=DrillDown("fabricscope-capacity"),
    ),
    stat(
        21,
        "Power of all GPUs (W, sum, now)",
        "watt",
        "What the GPUs draw now, not over the range. Normal: steady while jobs train.",
        Query(f"sum(gpu_power_watts{{{ALL}}})", "power"),
        width=5,
        height=4,
        decimals=1,
        drill_down=DrillDown("fabricscope-power"),
    ),
    stat(
        22,
        "Utilisation (%, mean of GPUs, now)",
        "percentunit",
        "Mean share of time in which a kernel ran. Normal: near 100 % in jobs. A hung kernel shows 100 % too: compare "
        "tensor activity.",
        Query(f"avg(gpu_utilization_ratio{{{ALL}}})", "mean"),
        width=5,
        height=4,
        decimals=0,
        drill_down=DrillDown("fabricscope-jobs"),
    ),
    stat(
        23,
        "Framebuffer used (%, all GPUs, now)",
        "percentunit",
        "Memory in use, of all that there is. Normal: as the jobs need; it changes when they start and end.",
        Query(
            f"sum(gpu_memory_used_bytes{{{ALL}}}) / (sum(gpu_memory_used_bytes{{{ALL}}}) "
            f"+ sum(gpu_memory_free_bytes{{{ALL}}}))",
            "used",
        ),
        width=5,
        height=4,
        decimals=0,
        drill_down=DrillDown("fabricscope-jobs"),
    ),
    stat(
        24,
        "Hottest GPU (°C, now)",
        "celsius",
        "Temperature of the hottest GPU. Normal: below 80 °C under load.",
        Query(with_index(f"topk(1, gpu_temperature_celsius{{{ALL}}})"), GPUS.legend),
        width=5,
        height=4,
        steps=_HOT,
        decimals=0,
        with_name=True,
        drill_down=OPENS_GPU,
    ),
    lines(
        10,
        "Tensor activity (%, mean of a node, 10 lowest nodes)",
        "percentunit",
        "Share of cycles in which tensor cores work. Normal: the nodes of one job alike. One node above the others "
        "that wait for it is the straggler.",
        Query(lowest(f"avg by (cluster, device) (gpu_tensor_active_ratio{{{ALL}}})"), NODES.legend),
        maximum=1.0,
        drill_down=OPENS_NODE,
    ),
    lowest_of(
        25,
        "Utilisation",
        _EACH,
        "gpu_utilization_ratio",
        "Normal: near 100 % in jobs. One that is idle beside busy ones has lost its process.",
        maximum=1.0,
    ),
    highest(
        11,
        "Board power",
        _EACH,
        "gpu_power_watts",
        "Normal: near the dashed limit in compute, lower in communication. Full utilisation at low power is a hang.",
        limit=Query(f"max(gpu_power_limit_watts{{{ALL}}})", "power limit"),
    ),
    highest(
        12,
        "Temperature",
        _EACH,
        "gpu_temperature_celsius",
        "Normal: below 80 °C. From the upper line on clocks are lowered: look at the cooling of the node.",
        steps=_HOT,
        limit=constant(GPU_SLOWDOWN_CELSIUS, "slowdown"),
    ),
    highest(
        26,
        "Memory temperature",
        _EACH,
        "gpu_memory_temperature_celsius",
        "Normal: below 95 °C. Alike on one node: its air; one alone: the board.",
        steps=rising(warn=90, bad=95),
    ),
    highest(
        13,
        "Throttled",
        _EACH,
        "gpu_throttle_seconds_total",
        "Normal: some power capping. Thermal from the limit of the detector on: look at cooling.",
        by=("reason",),
        steps=rising(bad=GPU_THROTTLED_SHARE_MAX),
    ),
    lowest_of(
        14,
        "SM clock",
        _EACH,
        "gpu_sm_clock_hertz",
        "Normal: all alike. The slowest sets the pace of its job.",
    ),
    lowest_of(
        27,
        "Memory clock",
        _EACH,
        "gpu_memory_clock_hertz",
        "Normal: all alike, and constant.",
    ),
    highest(
        28,
        "Framebuffer used",
        _EACH,
        "gpu_memory_used_bytes",
        "Normal: the GPUs of one job alike. One near its size is about to run out of memory.",
        limit=Query(
            f"max(gpu_memory_used_bytes{{{ALL}}} + on (cluster, device, gpu) gpu_memory_free_bytes{{{ALL}}})",
            "framebuffer",
        ),
    ),
    lowest_of(
        29,
        "Framebuffer free",
        _EACH,
        "gpu_memory_free_bytes",
        "Normal: some GB of reserve.",
    ),
    highest(
        30,
        "SM activity",
        _EACH,
        "gpu_sm_active_ratio",
        "Normal: alike in one job. High utilisation with low SM activity is a kernel that waits.",
        maximum=1.0,
    ),
    highest(
        31,
        "SM occupancy",
        _EACH,
        "gpu_sm_occupancy_ratio",
        "Normal: depends on the program, and is alike in one job.",
        maximum=1.0,
    ),
    highest(
        32,
        "Memory bandwidth used",
        _EACH,
        "gpu_memory_bandwidth_active_ratio",
        "Normal: high in attention and optimizer steps.",
        maximum=1.0,
    ),
    highest(
        33,
        "NVLink throughput",
        _EACH,
        "gpu_nvlink_bytes_per_second",
        "Normal: follows the collectives within a node. One GPU below its peers of a node has a bad link.",
        by=("direction",),
    ),
    highest(
        34,
        "NVLink errors",
        _EACH,
        "gpu_nvlink_errors_total",
        "Normal: 0. Check sequence errors matter from the dashed limit on, replays and recoveries at once.",
        by=("kind",),
        limit=constant(GPU_NVLINK_CRC_PER_SECOND_MAX, "limit of check sequence errors"),
    ),
    highest(
        35,
        "PCIe throughput",
        _EACH,
        "gpu_pcie_bytes_per_second",
        "Normal: follows input and checkpoints, and network traffic without GPUDirect.",
        by=("direction",),
    ),
    highest(
        36,
        "PCIe replays",
        _EACH,
        "gpu_pcie_replays_total",
        "Normal: 0. From the limit of the detector on, reseat the board.",
        steps=rising(bad=GPU_PCIE_REPLAYS_PER_SECOND_MAX),
    ),
    lowest_of(
        37,
        "PCIe lanes",
        _EACH,
        "gpu_pcie_lanes",
        "Normal: 16. Fewer than before is a fault of slot or board.",
        decimals=0,
    ),
    table(
        15,
        "Last XID that is not 0 (code, 10 GPUs at most, in this time range)",
        "none",
        "The last error that the driver reported, also of a GPU that is gone since. Normal: empty. 79 is a GPU that "
        "fell off the bus, 48 and 63 memory errors, 31 and 43 usually the program's own.",
        with_index(f"topk({LINES_MAX}, last_over_time(gpu_xid_last{{{ALL}}}[$__range]) > 0)"),
        columns={"device": "Node", "index": "GPU", "Value": "XID", "gpu": "UUID"},
        drill_down=OPENS_GPU,
    ),
    highest(
        16,
        "ECC errors",
        _EACH,
        "gpu_ecc_errors_total",
        "Normal: single-bit errors are rare and corrected, double-bit errors 0.",
        by=("severity",),
        only={"persistence": "volatile"},
        steps=rising(bad=0.001),
    ),
    table(
        38,
        "Memory rows that could not be remapped, or wait for a reset (10 GPUs at most, now)",
        "none",
        "1 where a row failed to be remapped or waits for it. Normal: empty. Drain the node and reset the GPU; after a "
        "failure, exchange it.",
        with_index(
            f"topk({LINES_MAX}, max by (cluster, device, gpu) (gpu_row_remap_failed{{{ALL}}} == 1 "
            f"or gpu_row_remap_pending{{{ALL}}} == 1))"
        ),
        columns={"device": "Node", "index": "GPU", "gpu": "UUID"},
        drill_down=OPENS_GPU,
    ),
    lines(
        17,
        "GPUs that report (count, 10 lowest nodes)",
        "none",
        "GPUs whose telemetry is there. Normal: all of them. A node with one less has lost a GPU.",
        Query(lowest(f"count by (cluster, device) (gpu_utilization_ratio{{{ALL}}})"), NODES.legend),
        decimals=0,
        drill_down=OPENS_NODE,
    ),
    lines(
        39,
        "Energy (W, from the energy counter, 10 highest nodes)",
        "watt",
        "Mean power of all GPUs of a node, by their energy counters: it sees peaks between two readings. Normal: near "
        "the sum of their power.",
        Query(worst(f"sum by (cluster, device) ({rate('gpu_energy_joules_total', ALL)})"), NODES.legend),
        drill_down=OPENS_NODE,
    ),
)

BOARD = Board(
    uid=UID,
    title="Fabricscope · GPU health",
    description="Work, waiting, throttling, memory, links, power and faults of the GPUs.",
    level=Level.DOMAIN,
    tags=("gpu",),
    variables=(
        *PLACE_VARIABLES,
        device_variable("gpu_utilization_ratio", "Node"),
        Variable(
            "gpu",
            "GPU",
            f'query_result(gpu_info{{{CLUSTER},device=~"$device"}})',
            pattern='/gpu="(?<value>[^"]+)".*index="(?<text>[^"]+)"/',
        ),
    ),
    panels=(*first_row(UID, Domain.GPU), *_PANELS),
)
