"""What the links of each tier carry, of what they are rated for."""

import math
from dataclasses import dataclass

from common.units import NS_PER_S
from fabricscope.api.wall.newest import NewestSamples
from telemetry.topology import Link

RECEIVED, SENT = "fabric_port_receive_bytes_total", "fabric_port_transmit_bytes_total"
SPEED = "fabric_port_speed_bits_per_second"
METRICS = (RECEIVED, SENT, SPEED)
OLD_NS = 180 * NS_PER_S  # three times the longest usual interval: what is older says nothing of now
_BITS = 8
Port = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Load:
    """Bits a second of one or more links, both directions together. used: of those that are measured, ``links``;
    rated: of the same ones. 0 links: nothing is known."""

    links: int = 0
    used: float = 0.0
    rated: float = 0.0

    def __add__(self, other: "Load") -> "Load":
        return Load(self.links + other.links, self.used + other.used, self.rated + other.rated)


class Traffic:
    """The newest rates of all switch ports, as of ``now_ns`` in event time."""

    def __init__(self, samples: NewestSamples, now_ns: int) -> None:
        self._loads: dict[Port, Load] = {}  # by the first port of each link that was asked for
        self._rates: dict[str, dict[Port, float]] = {metric: {} for metric in METRICS}
        for one in samples.all():
            port = one.labels.get("device", ""), one.labels.get("port", "")
            value = one.value if one.metric == SPEED else one.rate * _BITS
            if now_ns - one.time_ns <= OLD_NS and not math.isnan(value):
                self._rates[one.metric][port] = value

    def of(self, link: Link) -> Load:
        """Each direction as its sender counts it, or else its receiver; nothing unless both and the rate are known."""
        one = link.a_device, link.a_port
        if one not in self._loads:
            self._loads[one] = self._load(link, one, (link.b_device, link.b_port))
        return self._loads[one]

    def _load(self, link: Link, one: Port, other: Port) -> Load:
        there = self._rates[SENT].get(one, self._rates[RECEIVED].get(other))
        back = self._rates[SENT].get(other, self._rates[RECEIVED].get(one))
        speeds = self._rates[SPEED]
        rated = link.bits_per_second or speeds.get(one) or speeds.get(other)
        if there is None or back is None or not rated:
            return Load()
        return Load(1, there + back, 2 * rated)
