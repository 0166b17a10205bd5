"""GPU health: what works, what waits, what is throttled, what broke."""

from functools import partial

from dashboards.common import CLUSTER_VARIABLE, first_row
from dashboards.model import Board, Query, Variable
from dashboards.panels import lines, rising, table
from dashboards.queries import GPUS, lowest, rate, worst

DETAIL = "{{device}} {{gpu}}"

_lines = partial(lines, drill_down=("fabricscope-gpu", ("host",)))
_PANELS = (
    _lines(
        10,
        "Tensor activity (%, mean by host)",
        "percentunit",
        "Share of time in which tensor cores work. Normal: the hosts of one job alike. One host above the others "
        "that wait for it is the straggler.",
        Query(f"avg by (device) (gpu_tensor_active_ratio{{{GPUS}}})", "{{device}}"),
        maximum=1.0,
    ),
    _lines(
        11,
        "Board power (W, mean by host)",
        "watt",
        "Power of the GPUs. Normal: near the limit in compute, lower in communication. Full utilisation at low power "
        "is a hang.",
        Query(f"avg by (device) (gpu_power_watts{{{GPUS}}})", "{{device}}"),
        limit=Query(f"max(gpu_power_limit_watts{{{GPUS}}})", "power limit"),
    ),
    _lines(
        12,
        "Temperature (°C, 10 hottest GPUs)",
        "celsius",
        "GPU temperature. Normal: below 80 °C. Above, the GPU is about to throttle.",
        Query(worst(f"gpu_temperature_celsius{{{GPUS}}}"), DETAIL),
        steps=rising(warn=80, bad=87),
    ),
    _lines(
        13,
        "Throttled (% of time by reason, 10 worst GPUs)",
        "percentunit",
        "Share of time in which clocks are throttled. Normal: some power capping. Thermal: look at cooling.",
        Query(worst(rate("gpu_throttle_seconds_total", GPUS)), DETAIL + " {{reason}}"),
        steps=rising(warn=0.05, bad=0.2),
    ),
    _lines(
        14,
        "SM clock (Hz, 10 slowest GPUs)",
        "hertz",
        "Clock of the streaming multiprocessors. Normal: all alike. The slowest sets the pace of its job.",
        Query(lowest(f"gpu_sm_clock_hertz{{{GPUS}}}"), DETAIL),
    ),
    table(
        15,
        "Last XID that is not 0 (code, in this time range)",
        "none",
        "The last error that the driver reported, by GPU, also of one that is gone since. Normal: empty. 79 is a GPU "
        "that fell off the bus, 48 and 63 memory errors, 31 and 43 usually the program's own.",
        f"topk(10, last_over_time(gpu_xid_last{{{GPUS}}}[$__range]) > 0)",
        columns={"device": "Host", "gpu": "GPU", "Value": "XID"},
    ),
    _lines(
        16,
        "ECC errors (errors/s, 10 worst GPUs)",
        "short",
        "Memory errors. Normal: single-bit errors are rare and corrected, double-bit errors 0.",
        Query(worst(rate("gpu_ecc_errors_total", GPUS)), DETAIL + " {{severity}}"),
        steps=rising(bad=0.001),
    ),
    _lines(
        17,
        "GPUs that report (count by host)",
        "none",
        "GPUs whose telemetry is there. Normal: all of them. A host with one less has lost a GPU.",
        Query(f"count by (device) (gpu_utilization_ratio{{{GPUS}}})", "{{device}}"),
        decimals=0,
    ),
)

BOARD = Board(
    uid="fabricscope-gpu",
    title="Fabricscope · GPU health",
    description="Work, waiting, throttling and faults of the GPUs.",
    tags=("fabricscope", "gpu"),
    variables=(
        CLUSTER_VARIABLE,
        Variable("host", "Host", 'label_values(gpu_utilization_ratio{cluster=~"$cluster"}, device)'),
    ),
    panels=(*first_row(), *_PANELS),
)
