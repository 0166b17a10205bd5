"""The lossless fabric: who pauses whom, where ECN marks, what was dropped, how full the queues are."""

from functools import partial

from dashboards.common import CLUSTER_VARIABLE, first_row
from dashboards.model import BAD, GOOD, Board, Query, Variable
from dashboards.panels import lines, rising, states
from dashboards.queries import PORTS, pause_ratio, rate, summed_rate, worst

DETAIL = "{{device}} {{port}}"
QUEUE = DETAIL + " q{{queue}}"
PAUSE_RECEIVED = rising(warn=0.01, bad=0.05)
UP = {0: ("▼ down", BAD), 1: ("▲ up", GOOD)}
_OPENS = ("fabricscope-fabric", ("device",))

_lines = partial(lines, drill_down=_OPENS)
_PANELS = (
    _lines(
        10,
        "Pause received (% of time, 10 worst ports)",
        "percentunit",
        "The peer pauses this port: the PEER is congested. Normal: below 1 %. Walk from here towards the peer; the "
        "port that is paused without pausing anybody is where it starts.",
        Query(worst(pause_ratio("rx", PORTS)), DETAIL),
        steps=PAUSE_RECEIVED,
    ),
    _lines(
        11,
        "Pause frames sent (frames/s, 10 worst ports)",
        "pps",
        "The port asks its peer to stop: this switch or host is congested behind it. Normal: a few at the start of "
        "a collective.",
        Query(worst(summed_rate("device, port", "fabric_port_pfc_pause_frames_total", PORTS, direction="tx")), DETAIL),
    ),
    _lines(
        12,
        "ECN marks (packets/s, 10 worst ports)",
        "pps",
        "Packets marked at egress queues. Normal: bursts in collectives. Marks without pauses are congestion control "
        "at work; pauses without marks point at a slow receiver.",
        Query(worst(summed_rate("device, port", "fabric_queue_ecn_marked_packets_total", PORTS)), DETAIL),
    ),
    _lines(
        13,
        "Drops (packets/s, all queues)",
        "pps",
        "Packets dropped at egress queues. Normal on a lossless queue: 0, always. Any drop there costs a "
        "retransmission of a whole window.",
        Query(worst(summed_rate("device, port, queue", "fabric_queue_dropped_packets_total", PORTS)), QUEUE),
        steps=rising(bad=0.001),
    ),
    _lines(
        14,
        "Queue peak (bytes, highest 10 since it was cleared)",
        "bytes",
        "Highest occupancy of egress queues since the platform cleared it. Normal: below the ECN threshold most of "
        "the time. Peaks see microbursts that rates do not.",
        Query(worst(f"max by (device, port, queue) (fabric_queue_occupancy_peak_bytes{{{PORTS}}})"), QUEUE),
    ),
    _lines(
        15,
        "Throughput sent (bit/s, 10 busiest ports)",
        "bps",
        "Bits per second that leave a port. Normal: all members of an ECMP group alike.",
        Query(worst(f"8 * {rate('fabric_port_transmit_bytes_total', PORTS)}"), DETAIL),
        limit=Query(f"max(fabric_port_speed_bits_per_second{{{PORTS}}})", "rated speed"),
    ),
    _lines(
        16,
        "Link errors (codewords/s and frames/s, 10 worst ports)",
        "short",
        "Codewords that FEC could not correct, and frames with a wrong checksum. Normal: 0. A rising line is an optic "
        "or cable to clean or swap.",
        Query(worst(rate("fabric_port_fec_uncorrectable_codewords_total", PORTS)), DETAIL + " FEC"),
        Query(worst(summed_rate("device, port", "fabric_port_errors_total", PORTS)), DETAIL + " errors"),
        steps=rising(bad=0.001),
    ),
    states(
        17,
        "Ports that are or were down (state, worst 20)",
        "Operational state over time. Normal: up. Stripes are a flapping link.",
        Query(f"bottomk(20, min by (device, port) (fabric_port_up{{{PORTS}}}))", DETAIL),
        states=UP,
        drill_down=_OPENS,
    ),
)

BOARD = Board(
    uid="fabricscope-fabric",
    title="Fabricscope · Lossless fabric",
    description="RoCE health: pauses, marks, drops, queues and links.",
    tags=("fabricscope", "fabric"),
    variables=(
        CLUSTER_VARIABLE,
        Variable("device", "Switch", 'label_values(fabric_port_up{cluster=~"$cluster"}, device)'),
    ),
    panels=(*first_row(), *_PANELS),
)
