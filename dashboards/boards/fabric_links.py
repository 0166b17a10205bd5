"""The fabric: which links are down, slow, busy, wrong or uneven, and which sessions are lost."""

from dashboards.common import PLACE_VARIABLES, device_variable, first_row
from dashboards.model import BAD, GOOD, Board, DrillDown, Level, Query, States
from dashboards.panels import falling, highest, lines, rising, stat, states, table
from dashboards.queries import DEVICES, cabled, down, lowest, not_whole, rate, worst
from dashboards.scopes import OPENS_DEVICE, OPENS_PORT, PORTS, SWITCHES
from telemetry.kinds import Domain
from telemetry.limits import ERRORS_PER_SECOND_MAX, LINK_SPEED_SHARE_MIN

UID = "fabricscope-links"
UP: States = {0: ("▼ down", BAD), 1: ("● up", GOOD)}
_SENT = f"8 * max by (cluster, device, port) ({rate('fabric_port_transmit_bytes_total', DEVICES)})"
_RECEIVED = f"8 * max by (cluster, device, port) ({rate('fabric_port_receive_bytes_total', DEVICES)})"
_SPEED = f"max by (cluster, device, port) (fabric_port_speed_bits_per_second{{{DEVICES}}})"
_USED = f"({_SENT}) / ({_SPEED} > 0)"
_BUSY = f"{_USED} > 0.1"

_PANELS = (
    table(
        10,
        "Links down (ports with a cable, 10 at most, now)",
        "none",
        "Ports that are down and were up within the last day. Normal: empty. Look at both ends: module, cable, "
        "administrative state.",
        f"topk(10, {down('fabric_port_up', DEVICES)})",
        columns={"device": "Switch", "port": "Port", "pod": "Pod", "rack": "Rack"},
        drill_down=OPENS_PORT,
    ),
    states(
        11,
        "Ports that were down (state, 10 at most, with a cable)",
        "Operational state over time, of ports that were up within the last day. Normal: none. Stripes are a flapping "
        "link.",
        Query(not_whole(f"min by (cluster, device, port) ({cabled('fabric_port_up', DEVICES)})"), PORTS.legend),
        states=UP,
        drill_down=OPENS_PORT,
    ),
    lines(
        12,
        "Link utilisation sent (%, 10 busiest ports)",
        "percentunit",
        "Bits that leave a port, of its speed. Normal: all members of an ECMP group alike.",
        Query(worst(_USED), PORTS.legend),
        maximum=1.0,
        drill_down=OPENS_PORT,
    ),
    lines(
        13,
        "Throughput received (bit/s, 10 busiest ports)",
        "bps",
        "Bits that arrive at a port. Normal: even over the ports of a rail.",
        Query(worst(_RECEIVED), PORTS.legend),
        limit=Query(f"max(fabric_port_speed_bits_per_second{{{DEVICES}}})", "fastest rated speed"),
        drill_down=OPENS_PORT,
    ),
    highest(
        14,
        "Frame check errors",
        PORTS,
        "fabric_port_fcs_errors_total",
        "Normal: 0. From the limit of the detector on, clean or swap the cable.",
        steps=rising(bad=ERRORS_PER_SECOND_MAX),
    ),
    highest(
        15,
        "Frames with errors",
        PORTS,
        "fabric_port_errors_total",
        "Normal: 0. Received errors point at this link, sent ones at an earlier link of the path.",
        by=("direction",),
        steps=rising(bad=ERRORS_PER_SECOND_MAX),
    ),
    highest(
        16,
        "Discards",
        PORTS,
        "fabric_port_discards_total",
        "Normal: 0 in a lossless fabric. See the lossless fabric for the queue that overflows.",
        by=("direction",),
    ),
    highest(
        17,
        "Carrier changes",
        PORTS,
        "fabric_port_flaps_total",
        "Normal: 0. A port that shows here again and again is flapping: take it out of service.",
    ),
    lines(
        18,
        "Unevenness of busy ports (deviation of mean utilisation, 10 worst switches)",
        "percentunit",
        "Standard deviation of the utilisation of ports above a tenth of their speed, of their mean. Normal: well "
        "below the usual 30 % of ECMP. A switch that stands out hashes badly or lost a path.",
        Query(
            worst(
                f"stddev by (cluster, device) ({_BUSY}) / avg by (cluster, device) ({_BUSY})",
            ),
            SWITCHES.legend,
        ),
        drill_down=OPENS_DEVICE,
    ),
    stat(
        19,
        "Ports below their speed (now)",
        "none",
        "Ports that are up and slower than they were within the last day. Normal: 0. A link that came back slower has "
        "lost lanes.",
        Query(
            f"count(fabric_port_speed_bits_per_second{{{DEVICES}}} < {LINK_SPEED_SHARE_MIN:g} * "
            f"max_over_time(fabric_port_speed_bits_per_second{{{DEVICES}}}[1d])) or vector(0)",
            "slow",
        ),
        width=6,
        steps=rising(bad=1),
        decimals=0,
        drill_down=DrillDown("fabricscope-optics"),
    ),
    stat(
        20,
        "BGP sessions up (%, now)",
        "percentunit",
        "Sessions that are established. Normal: 100 %. A session that is lost while its link is up is a fault of "
        "software or settings.",
        Query(f"avg(fabric_bgp_session_up{{{DEVICES}}})", "established"),
        width=6,
        steps=falling(bad=0.99, warn=0.9999),
        decimals=1,
        drill_down=DrillDown("fabricscope-device"),
    ),
    states(
        21,
        "BGP sessions (share established, 10 lowest switches)",
        "1 while all sessions of a switch are established. Normal: up.",
        Query(
            lowest(f"floor(avg by (cluster, device) (fabric_bgp_session_up{{{DEVICES}}}))"),
            SWITCHES.legend,
        ),
        width=24,
        states={0: ("▼ sessions lost", BAD), 1: ("● all up", GOOD)},
        drill_down=OPENS_DEVICE,
    ),
)

BOARD = Board(
    uid=UID,
    title="Fabricscope · Fabric",
    description="Links, throughput, errors, balance and sessions of the switches.",
    level=Level.DOMAIN,
    tags=("fabric", "device"),
    variables=(*PLACE_VARIABLES, device_variable("fabric_port_up", "Switch")),
    panels=(*first_row(UID, Domain.FABRIC, Domain.DEVICE), *_PANELS),
)
