"""One GPU: all that it reports."""

from dashboards.common import CLUSTER_VARIABLES, first_row
from dashboards.model import BAD, GOOD, Board, Level, Query, Variable
from dashboards.panels import constant, every, lines, rising, stat, states, table
from dashboards.queries import CLUSTER
from dashboards.scopes import GPU_BOARD, ONE_GPU, OPENS_NODE
from telemetry.limits import GPU_NVLINK_CRC_PER_SECOND_MAX, GPU_SLOWDOWN_CELSIUS, GPU_THROTTLED_SHARE_MAX

GPU = ONE_GPU.labels
_ACTIVITY = {
    "tensor": "gpu_tensor_active_ratio",
    "SM": "gpu_sm_active_ratio",
    "occupancy": "gpu_sm_occupancy_ratio",
    "memory bandwidth": "gpu_memory_bandwidth_active_ratio",
    "kernel": "gpu_utilization_ratio",
}

_PANELS = (
    table(
        10,
        "The GPU (now)",
        "none",
        "What it is, and in which node. The link opens the node.",
        f"gpu_info{{{GPU}}}",
        width=24,
        height=4,
        columns={"device": "Node", "index": "GPU", "model": "Model", "driver": "Driver", "gpu": "UUID"},
        drill_down=OPENS_NODE,
    ),
    states(
        11,
        "Findings (over time)",
        "What detectors say about the GPU. Normal: empty.",
        Query(
            f'max by (cluster, device, kind) (fabricscope_finding_active{{{CLUSTER},device=~"$device",object=~"gpu:($device)/($gpu)"}})',
            "{{kind}}",
        ),
        width=24,
        height=4,
        states={1: ("active", BAD)},
        drill_down=OPENS_NODE,
    ),
    lines(
        12,
        "Activity (%, over time)",
        "percentunit",
        "Shares of time or cycles: kernel present, SMs busy, tensor cores at work, memory moved. Normal: as on the other "
        "GPUs of its job. A kernel without tensor work is a wait.",
        *(Query(f"{metric}{{{GPU}}}", name) for name, metric in _ACTIVITY.items()),
        maximum=1.0,
        drill_down=OPENS_NODE,
    ),
    every(
        13,
        "Power",
        ONE_GPU,
        "gpu_power_watts",
        "Normal: near the dashed limit in compute.",
        limit=Query(f"max(gpu_power_limit_watts{{{GPU}}})", "power limit"),
    ),
    lines(
        14,
        "Temperature (°C, over time)",
        "celsius",
        "Die and memory. Normal: below 80 °C. From the dashed line on the die slows down.",
        Query(f"gpu_temperature_celsius{{{GPU}}}", "die"),
        Query(f"gpu_memory_temperature_celsius{{{GPU}}} > 0", "memory"),
        limit=constant(GPU_SLOWDOWN_CELSIUS, "slowdown"),
        drill_down=OPENS_NODE,
    ),
    lines(
        15,
        "Clocks (Hz, over time)",
        "hertz",
        "SMs and memory. Normal: constant under load.",
        Query(f"gpu_sm_clock_hertz{{{GPU}}}", "SM"),
        Query(f"gpu_memory_clock_hertz{{{GPU}}}", "memory"),
        drill_down=OPENS_NODE,
    ),
    every(
        16,
        "Throttled",
        ONE_GPU,
        "gpu_throttle_seconds_total",
        "Normal: power capping alone.",
        by=("reason",),
        steps=rising(bad=GPU_THROTTLED_SHARE_MAX),
    ),
    lines(
        17,
        "Framebuffer (B, over time)",
        "bytes",
        "Memory in use, free, and reserved by the driver. Normal: constant in a job.",
        Query(f"gpu_memory_used_bytes{{{GPU}}}", "used"),
        Query(f"gpu_memory_free_bytes{{{GPU}}}", "free"),
        Query(f"gpu_memory_reserved_bytes{{{GPU}}}", "reserved"),
        drill_down=OPENS_NODE,
    ),
    every(
        18,
        "NVLink throughput",
        ONE_GPU,
        "gpu_nvlink_bytes_per_second",
        "Normal: as on the other GPUs of the node.",
        by=("direction",),
    ),
    every(
        19,
        "NVLink errors",
        ONE_GPU,
        "gpu_nvlink_errors_total",
        "Normal: 0. Check sequence errors matter from the dashed limit on, others at once.",
        by=("kind",),
        limit=constant(GPU_NVLINK_CRC_PER_SECOND_MAX, "limit of check sequence errors"),
    ),
    every(
        20,
        "PCIe throughput",
        ONE_GPU,
        "gpu_pcie_bytes_per_second",
        "Normal: follows input and checkpoints.",
        by=("direction",),
    ),
    every(
        21,
        "PCIe replays",
        ONE_GPU,
        "gpu_pcie_replays_total",
        "Normal: 0.",
    ),
    every(
        22,
        "ECC errors",
        ONE_GPU,
        "gpu_ecc_errors_total",
        "Normal: corrected ones are rare, others 0.",
        by=("severity", "persistence"),
        steps=rising(bad=0.001),
    ),
    stat(
        23,
        "Last XID (code, in this time range)",
        "none",
        "The last error that the driver reported. Normal: 0. NVIDIA's XID catalogue says what a code means.",
        Query(f"topk(1, max by (cluster, device) (last_over_time(gpu_xid_last{{{GPU}}}[$__range])))", "XID"),
        width=6,
        steps=rising(bad=1),
        decimals=0,
        drill_down=OPENS_NODE,
    ),
    states(
        24,
        "Row remapping (state)",
        "Whether a row of its memory could not be remapped. Normal: works.",
        Query(f"max by (cluster, device, gpu) (gpu_row_remap_failed{{{GPU}}})", "remapping"),
        width=6,
        states={0: ("● works", GOOD), 1: ("■ failed", BAD)},
        drill_down=OPENS_NODE,
    ),
)

BOARD = Board(
    uid=GPU_BOARD,
    title="Fabricscope · GPU",
    description="One GPU: work, power, heat, memory, links and errors.",
    level=Level.OBJECT,
    tags=("gpu",),
    variables=(
        *CLUSTER_VARIABLES,
        Variable("device", "Node", f"label_values(gpu_info{{{CLUSTER}}}, device)", single=True),
        Variable(
            "gpu",
            "GPU",
            f'query_result(gpu_info{{{CLUSTER},device=~"$device"}})',
            single=True,
            pattern='/gpu="(?<value>[^"]+)".*index="(?<text>[^"]+)"/',
        ),
    ),
    panels=(*first_row(GPU_BOARD, of_device=True), *_PANELS),
)
