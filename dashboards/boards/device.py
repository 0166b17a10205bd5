"""One switch: its ports, sessions, queues, heat and parts."""

from dashboards.boards.fabric_links import UP
from dashboards.common import CLUSTER_VARIABLES, first_row
from dashboards.model import BAD, GOOD, Board, DrillDown, Level, Query, Variable
from dashboards.panels import constant, every, highest, lines, rising, stat, states, table
from dashboards.queries import CLUSTER, LINES_MAX, cabled, down, lowest, pause_ratio, rate, worst
from dashboards.scopes import DEVICE_BOARD, ONE_SWITCH, OPENS_PORT, PORTS_OF_ONE
from telemetry.limits import ERRORS_PER_SECOND_MAX, PAUSE_RATIO_MAX, PAUSE_THRESHOLD_BYTES, QUEUE_NEAR_SHARE

SWITCH = PORTS_OF_ONE.labels
_FABRIC = DrillDown("fabricscope-links")
_POWER = DrillDown("fabricscope-power")
_SENT = f"8 * max by (cluster, device, port) ({rate('fabric_port_transmit_bytes_total', SWITCH)})"
_SPEED = f"(max by (cluster, device, port) (fabric_port_speed_bits_per_second{{{SWITCH}}}) > 0)"

_PANELS = (
    states(
        10,
        "Telemetry (over time)",
        "Whether the device answered each collection. Normal: up. While it is down, the panels below show nothing.",
        Query(f'max by (cluster, target) (up{{{SWITCH},target!=""}})', "{{target}}"),
        height=7,
        states=UP,
        drill_down=DrillDown("fabricscope-pipeline"),
    ),
    states(
        11,
        "Findings (over time)",
        "What detectors say about the device and its ports. Normal: empty.",
        Query(f"count by (kind) (fabricscope_finding_active{{{SWITCH}}}) > bool 0", "{{kind}}"),
        height=7,
        states={1: ("active", BAD)},
        drill_down=DrillDown("fabricscope-incidents"),
    ),
    stat(
        12,
        "Ports up (count, with a cable, now)",
        "none",
        "Ports that are up. Normal: all with a cable.",
        Query(f"sum({cabled('fabric_port_up', SWITCH)})", "up"),
        width=4,
        decimals=0,
        drill_down=_FABRIC,
    ),
    table(
        13,
        "Ports down (with a cable, 10 at most, now)",
        "none",
        "Ports that are down and were up within the last day. Normal: empty.",
        f"topk({LINES_MAX}, {down('fabric_port_up', SWITCH)})",
        width=8,
        columns={"device": "Switch", "port": "Port"},
        drill_down=OPENS_PORT,
    ),
    states(
        14,
        "BGP sessions (10 lowest)",
        "Sessions by their peer. Normal: established.",
        Query(lowest(f"min by (cluster, device, peer) (fabric_bgp_session_up{{{SWITCH}}})"), "{{peer}}"),
        states={0: ("▼ lost", BAD), 1: ("● established", GOOD)},
        drill_down=_FABRIC,
    ),
    lines(
        15,
        "Utilisation sent (%, 10 busiest ports)",
        "percentunit",
        "Normal: the uplinks alike.",
        Query(worst(f"{_SENT} / {_SPEED}"), PORTS_OF_ONE.legend),
        maximum=1.0,
        drill_down=OPENS_PORT,
    ),
    lines(
        16,
        "Throughput of the switch (bit/s, all ports)",
        "bps",
        "Normal: as much comes in as goes out.",
        Query(f"8 * sum({rate('fabric_port_receive_bytes_total', SWITCH)})", "received"),
        Query(f"8 * sum({rate('fabric_port_transmit_bytes_total', SWITCH)})", "sent"),
        drill_down=_FABRIC,
    ),
    lines(
        17,
        "Pause received (% of time, 10 worst ports)",
        "percentunit",
        "The peer pauses the port. Normal: below the dashed limit.",
        Query(worst(pause_ratio("rx", SWITCH)), PORTS_OF_ONE.legend),
        limit=constant(PAUSE_RATIO_MAX, "detection limit"),
        drill_down=OPENS_PORT,
    ),
    lines(
        18,
        "Pause sent (% of time, 10 worst ports)",
        "percentunit",
        "The port pauses its peer. Normal: below the dashed limit.",
        Query(worst(pause_ratio("tx", SWITCH)), PORTS_OF_ONE.legend),
        limit=constant(PAUSE_RATIO_MAX, "detection limit"),
        drill_down=OPENS_PORT,
    ),
    highest(
        19,
        "Queue peaks",
        PORTS_OF_ONE,
        "fabric_queue_occupancy_peak_bytes",
        "Normal: below the dashed level.",
        by=("queue",),
        limit=constant(QUEUE_NEAR_SHARE * PAUSE_THRESHOLD_BYTES, "near the pause threshold"),
    ),
    highest(
        20,
        "Drops",
        PORTS_OF_ONE,
        "fabric_queue_dropped_packets_total",
        "Normal: 0 on lossless queues.",
        by=("queue",),
    ),
    highest(
        21,
        "ECN marks",
        PORTS_OF_ONE,
        "fabric_queue_ecn_marked_packets_total",
        "Normal: bursts in collectives.",
    ),
    highest(
        22,
        "Codewords that FEC could not correct",
        PORTS_OF_ONE,
        "fabric_port_fec_uncorrectable_codewords_total",
        "Normal: 0.",
        steps=rising(bad=ERRORS_PER_SECOND_MAX),
    ),
    every(
        23,
        "Shared buffer peak by pool",
        ONE_SWITCH,
        "fabric_buffer_pool_occupancy_peak_bytes",
        "Normal: far below the buffer of the switch.",
        by=("pool",),
        drill_down=_FABRIC,
    ),
    every(
        24,
        "Temperature by sensor",
        ONE_SWITCH,
        "fabric_device_temperature_celsius",
        "Normal: steady.",
        by=("sensor",),
        drill_down=_POWER,
    ),
    states(
        25,
        "Power supplies and fans (10 lowest)",
        "1 while a part works. Normal: all work.",
        Query(
            lowest(f"min by (cluster, device, kind, sensor) (fabric_device_part_ok{{{SWITCH}}})"),
            "{{kind}} {{sensor}}",
        ),
        states={0: ("▼ failed", BAD), 1: ("● works", GOOD)},
        drill_down=_POWER,
    ),
)

BOARD = Board(
    uid=DEVICE_BOARD,
    title="Fabricscope · Switch",
    description="One switch: ports, sessions, queues, heat and parts.",
    level=Level.OBJECT,
    tags=("fabric", "device"),
    variables=(
        *CLUSTER_VARIABLES,
        Variable("device", "Switch", f"label_values(fabric_port_up{{{CLUSTER}}}, device)", single=True),
    ),
    panels=(*first_row(DEVICE_BOARD, of_device=True), *_PANELS),
)
