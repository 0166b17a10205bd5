"""Power and cooling: what racks and nodes draw, how warm the air is, what failed."""

from dashboards.common import PLACE_VARIABLES, device_variable, first_row
from dashboards.model import BAD, GOOD, WARN, Board, DrillDown, Level, Query
from dashboards.panels import constant, highest, lines, lowest_of, rising, stat, states, table
from dashboards.queries import DEVICES, LINES_MAX, lowest, worst
from dashboards.scopes import GPUS, NODES, OPENS_DEVICE, OPENS_NODE, SWITCHES
from telemetry.kinds import Domain
from telemetry.limits import (
    GPU_POWER_LIMIT_SHARE_MIN,
    GPU_SLOWDOWN_CELSIUS,
    INLET_ALLOWED_CELSIUS,
    INLET_RECOMMENDED_CELSIUS,
)

UID = "fabricscope-power"
_INLET = "~(?i).*(inlet|intake|ambient).*"
_HOT_AIR = rising(warn=INLET_RECOMMENDED_CELSIUS, bad=INLET_ALLOWED_CELSIUS)
_LIMIT = f"gpu_power_limit_watts{{{DEVICES}}}"

_PANELS = (
    stat(
        10,
        "Power of all GPUs (W, sum, now)",
        "watt",
        "What the GPUs draw now, not over the range. Normal: below what the feeds give.",
        Query(f"sum(gpu_power_watts{{{DEVICES}}})", "GPUs"),
        width=4,
        decimals=1,
        drill_down=DrillDown("fabricscope-gpu"),
    ),
    lines(
        11,
        "Power of racks (W, sum of GPUs, 10 highest racks)",
        "watt",
        "What the GPUs of a rack draw. Normal: racks of one job alike. A rack that falls to 0 at once lost its feed.",
        Query(worst(f'sum by (cluster, rack) (gpu_power_watts{{{DEVICES},rack!=""}})'), "{{rack}}"),
        width=10,
        drill_down=DrillDown("fabricscope-gpu", ("rack",)),
    ),
    highest(
        12,
        "Power of nodes",
        NODES,
        "node_power_watts",
        "Normal: nodes of one kind and job alike.",
        width=10,
    ),
    highest(
        13,
        "Inlet air of nodes",
        NODES,
        "node_temperature_celsius",
        "Normal: below the recommended 27 °C. From 35 °C on nothing is allowed to run: look at the cooling of the row.",
        only={"sensor": _INLET},
        steps=_HOT_AIR,
        limit=constant(INLET_ALLOWED_CELSIUS, "allowed"),
    ),
    highest(
        14,
        "Temperature of switches",
        SWITCHES,
        "fabric_device_temperature_celsius",
        "Normal: steady. All of a rack together: its air.",
        by=("sensor",),
    ),
    lines(
        15,
        "Temperature of racks (°C, mean of GPUs, 10 hottest racks)",
        "celsius",
        "Mean of the GPUs of a rack. Normal: racks of one job alike. One that gets warmer at the same power lacks air.",
        Query(worst(f'avg by (cluster, rack) (gpu_temperature_celsius{{{DEVICES},rack!=""}})'), "{{rack}}"),
        limit=constant(GPU_SLOWDOWN_CELSIUS, "slowdown"),
        drill_down=DrillDown("fabricscope-gpu", ("rack",)),
    ),
    lowest_of(
        16,
        "Power limit",
        GPUS,
        "gpu_power_limit_watts",
        "Normal: all alike. A lower one costs clocks: somebody or the host set it.",
    ),
    stat(
        17,
        "GPUs capped (count, now)",
        "none",
        "GPUs whose limit is lower than it was within the last day. Normal: 0, unless somebody caps the power.",
        Query(
            f"count({_LIMIT} < {GPU_POWER_LIMIT_SHARE_MIN:g} * max_over_time({_LIMIT}[1d])) or vector(0)",
            "lowered",
        ),
        width=4,
        steps=rising(bad=1),
        decimals=0,
        drill_down=DrillDown("fabricscope-gpu"),
    ),
    lowest_of(
        18,
        "Fans of nodes",
        NODES,
        "node_fan_rpm",
        "Normal: all of a node alike. One at 0 has failed.",
        by=("sensor",),
        width=10,
    ),
    lowest_of(
        19,
        "Fans of switches",
        SWITCHES,
        "fabric_device_fan_rpm",
        "Normal: all of a switch alike. One at 0 has failed.",
        by=("sensor",),
        width=10,
    ),
    highest(
        20,
        "Power supplies of switches",
        SWITCHES,
        "fabric_device_psu_watts",
        "Normal: both share the load. One at 0 lost its feed.",
        by=("sensor",),
    ),
    states(
        21,
        "Power supplies and fans of switches (10 lowest switches)",
        "1 while all parts of a switch work. Normal: all work.",
        Query(lowest(f"min by (cluster, device) (fabric_device_part_ok{{{DEVICES}}})"), SWITCHES.legend),
        states={0: ("▼ failed", BAD), 1: ("● all work", GOOD)},
        drill_down=OPENS_DEVICE,
    ),
    table(
        22,
        "Sensors that warn (10 worst, now)",
        "none",
        "What the management controllers of nodes report. Normal: empty.",
        f"topk({LINES_MAX}, node_sensor_severity{{{DEVICES}}} > 0)",
        columns={"device": "Node", "sensor": "Sensor", "kind": "Kind", "Value": "State"},
        texts={"Value": {1: ("▲ warning", WARN), 2: ("■ critical", BAD)}},
        drill_down=OPENS_NODE,
    ),
    highest(
        23,
        "Hottest sensors of nodes",
        NODES,
        "node_temperature_celsius",
        "Normal: steady at a given load.",
        by=("sensor",),
    ),
)

BOARD = Board(
    uid=UID,
    title="Fabricscope · Power & cooling",
    description="Power, heat, fans and supplies, by rack and device.",
    level=Level.DOMAIN,
    tags=("power",),
    variables=(*PLACE_VARIABLES, device_variable("up", "Device")),
    panels=(*first_row(UID, Domain.POWER), *_PANELS),
)
