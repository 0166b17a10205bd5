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
DIFFERENT_MAX = 0.1  # of the ports: one may have been down before, or lead to what nobody collects
_WINDOW_GAPS = 3.0  # of the slowest that reports it; what goes dark so close together has one reason


@dataclass(frozen=True)
class Lost:
    """Devices whose links are all without a carrier, by object number.

    dark: bool[objects]. since_ns: int64[objects], when the last of those ports lost its carrier. links: int64[objects],
    how many the device had. every_s: float64[objects], usual seconds between two values of the slowest of those ports.
    """

    dark: NDArray[np.bool_]
    since_ns: NDArray[np.int64]
    links: NDArray[np.int64]
    every_s: NDArray[np.float64]

    def also(self, other: "Lost") -> "Lost":
        """Both; no device is in both."""
        return Lost(
            self.dark | other.dark,
            np.where(other.dark, other.since_ns, self.since_ns),
            np.where(other.dark, other.links, self.links),
            np.where(other.dark, other.every_s, self.every_s),
        )


def lost_with_ports(view: TickView, missing: NDArray[np.float64]) -> Lost | None:
    """The devices without a recorded cable that account for the ports that lost their carrier; None where none do.

    missing: float64[targets], 1 once a target has missed a collection.
    """
    ports = view.per_physical(_without_cable)
    down = _without_carrier(view, ports)
    if down.size < _PORTS_MIN:
        return None
    window_ns = _window_ns(view, ports)
    down = _lately(view, ports, down, window_ns)
    if down.size < _PORTS_MIN or not _all_read_since_first(view, ports, down):
        return None
    moved_ns = view.series["moved_ns"][ports.sids[down]]
    first_ns, last_ns = int(moved_ns.min()), int(moved_ns.max())
    silent = _silent(view, ports, missing, first_ns - window_ns, last_ns)
    links = _links_up(view, ports, silent)
    dark = silent & (links > 0)
    elsewhere = int(np.count_nonzero(~dark[ports.devices[down]]))
    if elsewhere < _PORTS_MIN or abs(int(links.sum()) - elsewhere) > DIFFERENT_MAX * elsewhere:
        return None
    every_s = view.cadence_of(ports.sids[down]).max()
    return Lost(dark, np.full(dark.size, last_ns), links, np.full(dark.size, every_s))


@dataclass(frozen=True)
class _Ports:
    """sids: int64[k], state of each port of which no cable is recorded. devices: int64[k], object of its own device.
    bare: int64[n], the devices of these that have no other port."""

    sids: NDArray[np.int64]
    devices: NDArray[np.int64]
    bare: NDArray[np.int64]


def _without_cable(view: TickView) -> _Ports:
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


def _without_carrier(view: TickView, ports: _Ports) -> NDArray[np.int64]:
    """int64[]: positions of the ports that were up once and are not now."""
    down = (view.series["value"][ports.sids] < UP) & (view.series["highest"][ports.sids] >= UP)
    return np.flatnonzero(down)


def _lately(view: TickView, ports: _Ports, down: NDArray[np.int64], window_ns: int) -> NDArray[np.int64]:
    """int64[]: those of ``down`` that are still reported and lost their carrier within the window."""
    sids = ports.sids[down]
    return down[(view.end_ns - view.series["moved_ns"][sids] <= window_ns) & view.fresh_of(sids)]


def _window_ns(view: TickView, ports: _Ports) -> int:
    """Follows the slowest target of the devices of which no cable is recorded."""
    bare = np.zeros(len(view.index.objects), np.bool_)
    bare[ports.bare] = True
    cadence_s = view.target_cadence_s[bare[view.index.device_objects]]
    return round(_WINDOW_GAPS * max(view.config.interval_ns, float(cadence_s.max(initial=0.0)) * 1e9))


def _all_read_since_first(view: TickView, ports: _Ports, down: NDArray[np.int64]) -> bool:
    """Whether each target that reports one of these ports was due again since the first of them lost its carrier."""
    sids = ports.sids[down]
    round_s = float(view.target_cadence_s[view.index.columns["target"][sids]].max())
    first_ns = int(view.series["moved_ns"][sids].min())
    return view.end_ns - first_ns >= max(view.config.interval_ns, round_s * 1e9)


def _silent(
    view: TickView, ports: _Ports, missing: NDArray[np.float64], from_ns: int, until_ns: int
) -> NDArray[np.bool_]:
    """bool[objects]: devices of which no cable is recorded, that miss a collection and reported last in this span."""
    of, size = view.index.device_objects, len(view.index.objects)
    heard_ns, missed, bare = np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.bool_)
    np.maximum.at(heard_ns, of, view.targets["seen_ns"])
    np.maximum.at(missed, of, missing)
    bare[ports.bare] = True
    return bare & (missed >= 1.0) & (from_ns <= heard_ns) & (heard_ns <= until_ns)


def _links_up(view: TickView, ports: _Ports, devices: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[objects]: how many ports of each of these devices were up when they were last read."""
    up = (view.series["value"][ports.sids] >= UP) & devices[ports.devices]
    return np.bincount(ports.devices[up], minlength=devices.size)
