"""GPU health: what works, what waits, what is held back, what broke."""

from dashboards.common import CLUSTER_VARIABLE, first_row
from dashboards.model import BAD, GOOD, WARN, Board, Panel, Query, Show, Step, Variable
from dashboards.queries import GPUS, rate, worst

DETAIL = "{{device}} {{gpu}}"

_PANELS = (
    Panel(
        id=10,
        title="Tensor activity (%, mean by host)",
        description="Share of time in which tensor cores work. Normal: the hosts of one job alike. One host above the others "
        "that wait for it is the straggler.",
        show=Show.LINES,
        queries=(Query(f"avg by (device) (gpu_tensor_active_ratio{{{GPUS}}})", "{{device}}"),),
        unit="percentunit",
        maximum=1.0,
        drill_down=("fabricscope-gpu", ("host",)),
    ),
    Panel(
        id=11,
        title="Board power (W, mean by host)",
        description="Power of the GPUs. Normal: near the limit in compute, lower in communication. Full utilisation at low power "
        "is a hang.",
        show=Show.LINES,
        queries=(Query(f"avg by (device) (gpu_power_watts{{{GPUS}}})", "{{device}}"),),
        unit="watt",
        limit=Query(f"max(gpu_power_limit_watts{{{GPUS}}})", "power limit"),
        drill_down=("fabricscope-gpu", ("host",)),
    ),
    Panel(
        id=12,
        title="Temperature (°C, 10 hottest GPUs)",
        description="GPU temperature. Normal: below 80 °C. Above, clocks are about to be held down.",
        show=Show.LINES,
        queries=(Query(f"topk(10, gpu_temperature_celsius{{{GPUS}}})", DETAIL),),
        unit="celsius",
        steps=(Step(None, GOOD), Step(80, WARN), Step(87, BAD)),
        drill_down=("fabricscope-gpu", ("host",)),
    ),
    Panel(
        id=13,
        title="Throttled (% of time by reason, 10 worst GPUs)",
        description="Share of time in which clocks are held down. Normal: some power capping. Thermal: look at cooling.",
        show=Show.LINES,
        queries=(Query(worst(rate("gpu_throttle_seconds_total", GPUS)), DETAIL + " {{reason}}"),),
        unit="percentunit",
        steps=(Step(None, GOOD), Step(0.05, WARN), Step(0.2, BAD)),
        drill_down=("fabricscope-gpu", ("host",)),
    ),
    Panel(
        id=14,
        title="SM clock (Hz, 10 slowest GPUs)",
        description="Clock of the streaming multiprocessors. Normal: all alike. The slowest sets the pace of its job.",
        show=Show.LINES,
        queries=(Query(f"bottomk(10, gpu_sm_clock_hertz{{{GPUS}}})", DETAIL),),
        unit="hertz",
        drill_down=("fabricscope-gpu", ("host",)),
    ),
    Panel(
        id=15,
        title="Last XID that is not 0 (code, now)",
        description="The last error that the driver reported, by GPU. Normal: empty. 79 is a GPU that fell off the bus, 48 and 63 "
        "memory errors, 31 and 43 usually the program's own.",
        show=Show.TABLE,
        queries=(Query(f"topk(10, gpu_xid_last{{{GPUS}}} > 0)"),),
        unit="none",
        columns={"device": "Host", "gpu": "GPU", "Value": "XID"},
        drill_down=("fabricscope-gpu", ()),
    ),
    Panel(
        id=16,
        title="ECC errors (errors/s, 10 worst GPUs)",
        description="Memory errors. Normal: single-bit errors are rare and corrected, double-bit errors 0.",
        show=Show.LINES,
        queries=(Query(worst(rate("gpu_ecc_errors_total", GPUS)), DETAIL + " {{severity}}"),),
        unit="short",
        steps=(Step(None, GOOD), Step(0.001, BAD)),
        drill_down=("fabricscope-gpu", ("host",)),
    ),
    Panel(
        id=17,
        title="GPUs that report (count by host)",
        description="GPUs whose telemetry is there. Normal: all of them. A host with one less has lost a GPU.",
        show=Show.LINES,
        queries=(Query(f"count by (device) (gpu_utilization_ratio{{{GPUS}}})", "{{device}}"),),
        unit="none",
        decimals=0,
        drill_down=("fabricscope-gpu", ("host",)),
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
