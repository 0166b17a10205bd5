"""The lossless fabric: who pauses whom, where ECN marks, what was dropped, how full the queues are, what NICs see."""

from dashboards.common import PLACE_VARIABLES, device_variable, first_row
from dashboards.model import Board, Level, Query
from dashboards.panels import constant, highest, lines, rising
from dashboards.queries import DEVICES, pause_ratio, summed_rate, worst
from dashboards.scopes import NICS, OPENS_NODE, OPENS_PORT, PORTS, QUEUES
from telemetry.kinds import Domain
from telemetry.limits import LOSSLESS_QUEUES, PAUSE_RATIO_MAX, PAUSE_THRESHOLD_BYTES, QUEUE_NEAR_SHARE

UID = "fabricscope-fabric"
_LOSSLESS = "~" + "|".join(LOSSLESS_QUEUES)
_MARKS = summed_rate("cluster, device, port", "fabric_queue_ecn_marked_packets_total", DEVICES)
_SENT = summed_rate("cluster, device, port", "fabric_queue_transmit_packets_total", DEVICES)
_LIMIT = constant(PAUSE_RATIO_MAX, "detection limit")

_PANELS = (
    lines(
        10,
        "Pause received (% of time, 10 worst ports)",
        "percentunit",
        "The peer pauses this port: the PEER is congested. Normal: below a fifth of the dashed limit. Walk from here "
        "towards the peer; the port that is paused without pausing anybody is where it starts.",
        Query(worst(pause_ratio("rx", DEVICES)), PORTS.legend),
        limit=_LIMIT,
        drill_down=OPENS_PORT,
    ),
    lines(
        18,
        "Pause sent (% of time, 10 worst ports)",
        "percentunit",
        "The port asks its peer to stop: this switch or host is congested behind it. Normal: below the dashed limit.",
        Query(worst(pause_ratio("tx", DEVICES)), PORTS.legend),
        limit=_LIMIT,
        drill_down=OPENS_PORT,
    ),
    highest(
        11,
        "Pause frames sent",
        PORTS,
        "fabric_port_pfc_pause_frames_total",
        "Normal: a few at the start of a collective. Where a platform counts no time, this is all there is.",
        only={"direction": "tx"},
    ),
    highest(
        12,
        "ECN marks",
        PORTS,
        "fabric_queue_ecn_marked_packets_total",
        "Normal: bursts in collectives. Marks without pauses are congestion control at work; pauses without marks "
        "point at a slow receiver.",
    ),
    lines(
        19,
        "ECN marks (% of packets sent, 10 worst ports)",
        "percentunit",
        "Packets that were marked, of those that left. Normal: a few per cent in bursts. Much more for minutes: too "
        "many senders, or thresholds that are too low.",
        Query(worst(f"{_MARKS} / ({_SENT} > 0)"), PORTS.legend),
        drill_down=OPENS_PORT,
    ),
    highest(
        13,
        "Drops of lossless queues",
        QUEUES,
        "fabric_queue_dropped_packets_total",
        "Normal: 0, always. Any drop costs a retransmission of a whole window.",
        only={"queue": _LOSSLESS},
        steps=rising(bad=0.001),
    ),
    highest(
        20,
        "Drops of other queues",
        QUEUES,
        "fabric_queue_dropped_packets_total",
        "Normal: some under load, as these queues are not lossless.",
        only={"queue": "~[^" + "".join(LOSSLESS_QUEUES) + "]"},
    ),
    highest(
        14,
        "Queue peak",
        QUEUES,
        "fabric_queue_occupancy_peak_bytes",
        "Normal: below the dashed level at which a switch of unknown ASIC is near its pause threshold. Peaks see "
        "microbursts that rates do not.",
        limit=constant(QUEUE_NEAR_SHARE * PAUSE_THRESHOLD_BYTES, "near the pause threshold"),
    ),
    highest(
        21,
        "Queue occupancy",
        QUEUES,
        "fabric_queue_occupancy_bytes",
        "Normal: near 0 between collectives. What stays is standing congestion.",
        limit=constant(QUEUE_NEAR_SHARE * PAUSE_THRESHOLD_BYTES, "near the pause threshold"),
    ),
    highest(
        22,
        "Headroom peak of priority groups",
        PORTS,
        "fabric_pg_headroom_peak_bytes",
        "Normal: 0 but for bursts.",
        by=("pg",),
    ),
    highest(
        23,
        "Congestion notifications sent by NICs",
        NICS,
        "rdma_cnp_sent_total",
        "Normal: follows the marks. Notifications that nobody handles show a sender without congestion control.",
    ),
    highest(
        24,
        "Congestion notifications handled by NICs",
        NICS,
        "rdma_cnp_handled_total",
        "Normal: as many as are sent.",
    ),
    highest(
        25,
        "Pause sent by NICs",
        NICS,
        "nic_pfc_pause_seconds_total",
        "tx: the host cannot take what arrives. Normal: 0. Look at its PCIe link and memory.",
        how="max",
        only={"direction": "tx"},
        limit=_LIMIT,
    ),
    highest(
        26,
        "Packets out of order at NICs",
        NICS,
        "rdma_out_of_sequence_total",
        "Normal: 0. Something was dropped or took another path.",
    ),
    highest(
        27,
        "Acknowledgement timeouts of NICs",
        NICS,
        "rdma_ack_timeouts_total",
        "Normal: 0. A path is broken, or a receiver stands still.",
    ),
    highest(
        28,
        "PCIe stalls of NICs",
        NICS,
        "nic_pcie_stalled_ratio",
        "Normal: below 10 %. Above, the host is the bottleneck: it pauses its leaf.",
        by=("op",),
        drill_down=OPENS_NODE,
    ),
)

BOARD = Board(
    uid=UID,
    title="Fabricscope · Lossless fabric",
    description="RoCE health: pauses, marks, drops, queues, and what the NICs see.",
    level=Level.DOMAIN,
    tags=("fabric", "roce"),
    variables=(*PLACE_VARIABLES, device_variable("up", "Device")),
    panels=(*first_row(UID, Domain.FABRIC), *_PANELS),
)
