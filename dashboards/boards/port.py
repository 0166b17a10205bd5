"""One port of a switch: both directions of all it counts."""

from dashboards.boards.fabric_links import UP
from dashboards.common import CLUSTER_VARIABLES, first_row
from dashboards.model import BAD, Board, Level, Query, Variable
from dashboards.panels import constant, every, lines, rising, states
from dashboards.queries import CLUSTER, pause_ratio, summed_rate
from dashboards.scopes import ONE_PORT, ONE_PORTS_QUEUES, OPENS_DEVICE, PORT_BOARD
from telemetry.limits import (
    ERRORS_PER_SECOND_MAX,
    PAUSE_RATIO_MAX,
    PAUSE_THRESHOLD_BYTES,
    PRE_FEC_BER_MAX,
    PRE_FEC_MARGIN,
    QUEUE_NEAR_SHARE,
)

PORT = ONE_PORT.labels
_NEAR = constant(QUEUE_NEAR_SHARE * PAUSE_THRESHOLD_BYTES, "near the pause threshold")
_SPEED = f"max(fabric_port_speed_bits_per_second{{{PORT}}})"

_PANELS = (
    states(
        10,
        "State (over time)",
        "Operational state of the port. Normal: up. Stripes are a flapping link.",
        Query(f"max by (cluster, device, port) (fabric_port_up{{{PORT}}})", "{{device}} {{port}}"),
        height=6,
        states=UP,
        drill_down=OPENS_DEVICE,
    ),
    states(
        11,
        "Findings (over time)",
        "What detectors say about the port. Normal: empty.",
        Query(
            f'max by (cluster, device, kind) (fabricscope_finding_active{{{CLUSTER},device=~"$device",object=~"port:($device)/($port)"}})',
            "{{kind}}",
        ),
        height=6,
        states={1: ("active", BAD)},
        drill_down=OPENS_DEVICE,
    ),
    lines(
        12,
        "Throughput (bit/s, over time)",
        "bps",
        "Bits that the port receives and sends. Normal: below the dashed speed, in bursts.",
        Query(f"8 * {summed_rate('cluster, device, port', 'fabric_port_receive_bytes_total', PORT)}", "received"),
        Query(f"8 * {summed_rate('cluster, device, port', 'fabric_port_transmit_bytes_total', PORT)}", "sent"),
        limit=Query(_SPEED, "speed"),
        drill_down=OPENS_DEVICE,
    ),
    lines(
        13,
        "Paused (% of time, over time)",
        "percentunit",
        "received: the peer pauses this port. sent: this port pauses its peer. Normal: below the dashed limit.",
        Query(pause_ratio("rx", PORT), "received"),
        Query(pause_ratio("tx", PORT), "sent"),
        limit=constant(PAUSE_RATIO_MAX, "detection limit"),
        drill_down=OPENS_DEVICE,
    ),
    every(
        14,
        "Pause frames by priority",
        ONE_PORT,
        "fabric_port_pfc_pause_frames_total",
        "Normal: a few, on lossless priorities alone.",
        by=("priority", "direction"),
    ),
    every(
        15,
        "ECN marks by queue",
        ONE_PORTS_QUEUES,
        "fabric_queue_ecn_marked_packets_total",
        "Normal: bursts, on lossless queues.",
    ),
    every(
        16,
        "Queue peaks",
        ONE_PORTS_QUEUES,
        "fabric_queue_occupancy_peak_bytes",
        "Normal: below the dashed level.",
        limit=_NEAR,
    ),
    every(
        17,
        "Drops by queue",
        ONE_PORTS_QUEUES,
        "fabric_queue_dropped_packets_total",
        "Normal: 0 on lossless queues.",
    ),
    every(
        18,
        "Sent by queue",
        ONE_PORTS_QUEUES,
        "fabric_queue_transmit_bytes_total",
        "Normal: nearly all on lossless queues.",
    ),
    every(
        19,
        "Discards",
        ONE_PORT,
        "fabric_port_discards_total",
        "Normal: 0.",
        by=("direction",),
    ),
    every(
        20,
        "Errors",
        ONE_PORT,
        "fabric_port_errors_total",
        "Normal: 0.",
        by=("direction",),
        steps=rising(bad=ERRORS_PER_SECOND_MAX),
    ),
    every(
        21,
        "Bit errors",
        ONE_PORT,
        "fabric_port_bit_error_ratio",
        "Before FEC, normal: a decade below the dashed limit. After FEC: 0.",
        by=("stage",),
        limit=constant(PRE_FEC_BER_MAX, "limit of FEC"),
        steps=rising(warn=PRE_FEC_BER_MAX / PRE_FEC_MARGIN, bad=PRE_FEC_BER_MAX),
    ),
    every(
        22,
        "Codewords that FEC could not correct",
        ONE_PORT,
        "fabric_port_fec_uncorrectable_codewords_total",
        "Normal: 0.",
        steps=rising(bad=ERRORS_PER_SECOND_MAX),
    ),
    every(
        23,
        "Codewords that FEC corrected",
        ONE_PORT,
        "fabric_port_fec_corrected_codewords_total",
        "Normal: steady.",
    ),
    every(
        24,
        "Optical power by lane",
        ONE_PORT,
        "fabric_port_optical_power_dbm",
        "Normal: lanes alike, and steady.",
        by=("direction", "lane"),
    ),
    every(
        25,
        "Laser bias by lane",
        ONE_PORT,
        "fabric_port_laser_bias_amperes",
        "Normal: lanes alike, and steady.",
        by=("lane",),
    ),
    every(
        26,
        "Transceiver temperature",
        ONE_PORT,
        "fabric_transceiver_temperature_celsius",
        "Normal: below 70 °C.",
        steps=rising(warn=65, bad=70),
    ),
    every(
        27,
        "Carrier changes",
        ONE_PORT,
        "fabric_port_flaps_total",
        "Normal: 0.",
    ),
)

BOARD = Board(
    uid=PORT_BOARD,
    title="Fabricscope · Port",
    description="One port: state, traffic, pauses, queues, errors and optics.",
    level=Level.OBJECT,
    tags=("fabric",),
    variables=(
        *CLUSTER_VARIABLES,
        Variable("device", "Switch", f"label_values(fabric_port_up{{{CLUSTER}}}, device)", single=True),
        Variable("port", "Port", f'label_values(fabric_port_up{{{CLUSTER},device=~"$device"}}, port)', single=True),
    ),
    panels=(*first_row(PORT_BOARD, of_device=True), *_PANELS),
)
