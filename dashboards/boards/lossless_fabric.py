"""The lossless fabric: who pauses whom, where ECN marks, what was dropped, how full the queues are."""

from dashboards.common import CLUSTER_VARIABLE, first_row
from dashboards.model import BAD, GOOD, WARN, Board, Panel, Query, Show, Step, Variable
from dashboards.queries import PORTS, pause_ratio, rate, worst

DETAIL = "{{device}} {{port}}"
PAUSE_FRAMES_SENT = rate("fabric_port_pfc_pause_frames_total", PORTS, direction="tx")
UP = {0: ("▼ down", BAD), 1: ("▲ up", GOOD)}

_PANELS = (
    Panel(
        id=10,
        title="Pause received (% of time, 10 worst ports)",
        description="The port was told to stop: its PEER is congested. Normal: below 1 %. Walk from here towards the peer; the "
        "port that is paused without pausing anybody is where it starts.",
        show=Show.LINES,
        queries=(Query(worst(pause_ratio("rx", PORTS)), DETAIL),),
        unit="percentunit",
        steps=(Step(None, GOOD), Step(0.01, WARN), Step(0.05, BAD)),
        drill_down=("fabricscope-fabric", ("device",)),
    ),
    Panel(
        id=11,
        title="Pause frames sent (frames/s, 10 worst ports)",
        description="The port asks its peer to stop: this switch or host is congested behind it. Normal: a few at the start of "
        "a collective.",
        show=Show.LINES,
        queries=(Query(worst(f"sum by (device, port) ({PAUSE_FRAMES_SENT})"), DETAIL),),
        unit="pps",
        drill_down=("fabricscope-fabric", ("device",)),
    ),
    Panel(
        id=12,
        title="ECN marks (packets/s, 10 worst ports)",
        description="Packets marked at egress queues. Normal: bursts in collectives. Marks without pauses are congestion control "
        "at work; pauses without marks point at a slow receiver.",
        show=Show.LINES,
        queries=(
            Query(worst(f"sum by (device, port) ({rate('fabric_queue_ecn_marked_packets_total', PORTS)})"), DETAIL),
        ),
        unit="pps",
        drill_down=("fabricscope-fabric", ("device",)),
    ),
    Panel(
        id=13,
        title="Drops (packets/s, all queues)",
        description="Packets dropped at egress queues. Normal on a lossless queue: 0, always. Any drop there costs a "
        "retransmission of a whole window.",
        show=Show.LINES,
        queries=(
            Query(
                worst(f"sum by (device, port, queue) ({rate('fabric_queue_dropped_packets_total', PORTS)})"),
                DETAIL + " q{{queue}}",
            ),
        ),
        unit="pps",
        steps=(Step(None, GOOD), Step(0.001, BAD)),
        drill_down=("fabricscope-fabric", ("device",)),
    ),
    Panel(
        id=14,
        title="Queue peak (bytes, highest 10 since it was cleared)",
        description="Highest occupancy of egress queues since the platform cleared it. Normal: below the ECN threshold most of "
        "the time. Peaks see microbursts that rates do not.",
        show=Show.LINES,
        queries=(
            Query(
                worst(f"max by (device, port, queue) (fabric_queue_occupancy_peak_bytes{{{PORTS}}})"),
                DETAIL + " q{{queue}}",
            ),
        ),
        unit="bytes",
        drill_down=("fabricscope-fabric", ("device",)),
    ),
    Panel(
        id=15,
        title="Throughput sent (bit/s, 10 busiest ports)",
        description="Bits per second that leave a port. Normal: all members of an ECMP group alike.",
        show=Show.LINES,
        queries=(Query(worst(f"8 * {rate('fabric_port_transmit_bytes_total', PORTS)}"), DETAIL),),
        unit="bps",
        limit=Query(f"max(fabric_port_speed_bits_per_second{{{PORTS}}})", "rated speed"),
        drill_down=("fabricscope-fabric", ("device",)),
    ),
    Panel(
        id=16,
        title="Link errors (codewords/s and frames/s, 10 worst ports)",
        description="Codewords that FEC could not correct, and frames with a wrong checksum. Normal: 0. A rising line is an optic "
        "or cable to clean or swap.",
        show=Show.LINES,
        queries=(
            Query(worst(rate("fabric_port_fec_uncorrectable_codewords_total", PORTS)), DETAIL + " FEC"),
            Query(worst(f"sum by (device, port) ({rate('fabric_port_errors_total', PORTS)})"), DETAIL + " errors"),
        ),
        unit="short",
        steps=(Step(None, GOOD), Step(0.001, BAD)),
        drill_down=("fabricscope-fabric", ("device",)),
    ),
    Panel(
        id=17,
        title="Ports that are or were down (state, worst 20)",
        description="Operational state over time. Normal: up. Stripes are a flapping link.",
        show=Show.STATES,
        queries=(Query(f"bottomk(20, min by (device, port) (fabric_port_up{{{PORTS}}}))", DETAIL),),
        unit="none",
        states=UP,
        drill_down=("fabricscope-fabric", ("device",)),
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
