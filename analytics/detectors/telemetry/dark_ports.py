"""Devices of which no cable is recorded, and ports that lost their carrier with them: each cable has two ends.

A port does not say what is behind it. But what dies takes as many ports elsewhere along as it had links that were up.
So devices that miss a collection are what those ports led to where both numbers agree, once every port was read since.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.objects import parse_object
from telemetry.topology import Link

UP_METRICS = ("fabric_port_up", "nic_up")
UP = 1.0
_PORTS_MIN = 3  # fewer are a cable or two, beside a collection that was lost
_DIFFERENT_MAX = 0.1  # of the ports: one may have been down before, or lead to what nobody collects
_WINDOW_GAPS = 3.0  # of the slowest that reports it; what goes dark so close together has one reason


@dataclass(frozen=True)
class Lost:
    """Devices whose links are all without a carrier, by object number.

    dark: bool[objects]. since_ns: int64[objects], when the last of those ports lost its carrier. links: int64[objects],
    how many the device had.
    """

    dark: NDArray[np.bool_]
    since_ns: NDArray[np.int64]
    links: NDArray[np.int64]

    def also(self, other: "Lost") -> "Lost":
        """Both; no device is in both."""
        since_ns = np.where(other.dark, other.since_ns, self.since_ns)
        return Lost(self.dark | other.dark, since_ns, np.where(other.dark, other.links, self.links))


def lost_with_ports(view: TickView, missing: NDArray[np.float64]) -> Lost | None:
    """The devices without a recorded cable that account for the ports that lost their carrier; None where none do.

    missing: float64[targets], 1 once a target has missed a collection.
    """
    ports = view.per_physical(_unplaced)
    values, moved_ns = view.series["value"][ports.sids], view.series["moved_ns"][ports.sids]
    down = (values < UP) & (view.series["highest"][ports.sids] >= UP)
    if np.count_nonzero(down) < _PORTS_MIN:
        return None
    of, size, cadence_ns = view.index.device_objects, len(view.index.objects), view.target_cadence_s * 1e9
    targets, gone = view.index.columns["target"][ports.sids], np.zeros(size, np.bool_)
    gone[ports.bare] = True
    slowest_ns = max(view.config.interval_ns, float(cadence_ns[gone[of]].max(initial=0.0)))
    window_ns = round(_WINDOW_GAPS * slowest_ns)
    down &= (view.end_ns - moved_ns <= window_ns) & view.fresh_of(ports.sids)
    if np.count_nonzero(down) < _PORTS_MIN:
        return None
    first_ns, last_ns = int(moved_ns[down].min()), int(moved_ns[down].max())
    round_ns = max(view.config.interval_ns, float(cadence_ns[targets[down]].max()))
    heard_ns, missed = np.zeros(size, np.int64), np.zeros(size)
    np.maximum.at(heard_ns, of, view.targets["seen_ns"])
    np.maximum.at(missed, of, missing)
    gone &= (missed >= 1.0) & (heard_ns <= last_ns) & (heard_ns >= first_ns - window_ns)
    links = np.bincount(ports.devices[(values >= UP) & gone[ports.devices]], minlength=size)
    gone &= links > 0
    own, elsewhere = int(links.sum()), int(np.count_nonzero(down & ~gone[ports.devices]))
    all_read = view.end_ns - first_ns >= round_ns
    if not all_read or elsewhere < _PORTS_MIN or abs(own - elsewhere) > _DIFFERENT_MAX * elsewhere:
        return None
    return Lost(gone, np.full(size, last_ns), links)


@dataclass(frozen=True)
class _Ports:
    """sids: int64[k], state of each port of which no cable is recorded. devices: int64[k], object of its own device.
    bare: int64[n], the devices of these that have no other port."""

    sids: NDArray[np.int64]
    devices: NDArray[np.int64]
    bare: NDArray[np.int64]


def _unplaced(view: TickView) -> _Ports:
    column = view.joined([view.column(metric) for metric in UP_METRICS])
    linked = view.topology_index.has_link[column.objects]
    names, numbers = view.index.objects.names, view.index.objects
    of = [numbers.get(str(objects.device(parse_object(names[each]).device))) for each in column.objects.tolist()]
    devices = np.array([-1 if number is None else number for number in of], np.int64)
    ends = {end.device for each in view.topology.entities(Link) for end in each.ports}
    cabled = [numbers.get(str(objects.device(name))) for name in sorted(ends)]
    rows = ~linked & (devices >= 0)
    bare = np.setdiff1d(devices[rows], [number for number in cabled if number is not None])
    return _Ports(column.sids[rows], devices[rows], bare.astype(np.int64))
