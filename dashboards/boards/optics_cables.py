"""Optics and cables: light, current, heat and errors before they lose a link."""

from dashboards.common import PLACE_VARIABLES, device_variable, first_row
from dashboards.model import Board, Level
from dashboards.panels import constant, highest, lowest_of, rising
from dashboards.scopes import PORTS
from telemetry.kinds import Domain
from telemetry.limits import ERRORS_PER_SECOND_MAX, PRE_FEC_BER_MAX, PRE_FEC_MARGIN

UID = "fabricscope-optics"
_PANELS = (
    lowest_of(
        10,
        "Light received",
        PORTS,
        "fabric_port_optical_power_dbm",
        "Normal: all lanes of a module alike, and steady for months. A lane that falls is a dirty or bent fibre: clean "
        "it before the link loses frames.",
        by=("lane",),
        only={"direction": "rx"},
    ),
    lowest_of(
        11,
        "Light sent",
        PORTS,
        "fabric_port_optical_power_dbm",
        "Normal: steady. A laser that gets weaker with more current is worn out: plan its exchange.",
        by=("lane",),
        only={"direction": "tx"},
    ),
    highest(
        12,
        "Bit errors before FEC",
        PORTS,
        "fabric_port_bit_error_ratio",
        "Normal: a decade and more below the dashed limit, up to which FEC repairs everything.",
        only={"stage": "pre_fec"},
        limit=constant(PRE_FEC_BER_MAX, "limit of FEC"),
        steps=rising(warn=PRE_FEC_BER_MAX / PRE_FEC_MARGIN, bad=PRE_FEC_BER_MAX),
    ),
    highest(
        13,
        "Codewords that FEC could not correct",
        PORTS,
        "fabric_port_fec_uncorrectable_codewords_total",
        "Normal: 0. From the limit of the detector on, clean or swap.",
        steps=rising(bad=ERRORS_PER_SECOND_MAX),
    ),
    highest(
        14,
        "Codewords that FEC corrected",
        PORTS,
        "fabric_port_fec_corrected_codewords_total",
        "Normal: steady, and alike on links of one kind. A rise is the first sign of a link that gets worse.",
    ),
    highest(
        15,
        "Laser bias",
        PORTS,
        "fabric_port_laser_bias_amperes",
        "Normal: steady. A slow rise is ageing.",
        by=("lane",),
    ),
    highest(
        16,
        "Transceiver temperature",
        PORTS,
        "fabric_transceiver_temperature_celsius",
        "Normal: below 70 °C, the limit of commercial modules. Alike on one switch: its air; one alone: the module.",
        steps=rising(warn=65, bad=70),
    ),
    lowest_of(
        17,
        "Transceiver supply",
        PORTS,
        "fabric_transceiver_volts",
        "Normal: 3.3 V within 5 %.",
    ),
    highest(
        18,
        "Carrier changes",
        PORTS,
        "fabric_port_flaps_total",
        "Normal: 0. With errors before them: the cable; without: somebody, or the other end.",
    ),
    highest(
        19,
        "Frame check errors",
        PORTS,
        "fabric_port_fcs_errors_total",
        "Normal: 0.",
        steps=rising(bad=ERRORS_PER_SECOND_MAX),
    ),
)

BOARD = Board(
    uid=UID,
    title="Fabricscope · Optics & cables",
    description="Light, laser current, heat and corrected errors of links.",
    level=Level.DOMAIN,
    tags=("fabric", "optics"),
    variables=(*PLACE_VARIABLES, device_variable("fabric_port_optical_power_dbm", "Switch")),
    panels=(*first_row(UID, Domain.FABRIC), *_PANELS),
)
