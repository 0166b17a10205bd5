"""Each flap and outage of a port as a step: what its errors and its light were like before, and what they are after.

Before is the series' own baseline when the flap shows; where the series had left it (a link that was failing) the mean
of the values since. After are medians of a few minutes since the last flap. Only ports that flapped are followed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from analytics.models import baseline
from analytics.models.flap_comparison import VALUES_MIN, Before, FlapComparison, compare
from analytics.snapshot.stateful import State
from analytics.view.tick_view import Column, TickView
from common.units import NS_PER_S
from telemetry.objects import parse_object
from telemetry.selectors import Selector, before_fec, received, sent

_FLAPS, _UP = "fabric_port_flaps_total", "fabric_port_up"
_SETTLE_NS = 30 * NS_PER_S  # assumption: links train for up to some ten seconds, and rates look back an interval
# As long as a link that flapped stays a finding after its last change, so that its incident is still open.
_AFTER_NS = 180 * NS_PER_S
_WAIT_NS = 600 * NS_PER_S  # for optics, which are read once a minute or less often
_KEPT_NS = 7 * 24 * 3600 * NS_PER_S  # a link that is down for longer has no time before
_PORTS_MAX = 1_000  # at once, about 8 kB each; more flap where a device or a rack is lost, and that is no repair
_VALUES_MAX = 64
_LEFT_MAX = 10_000  # series


class _Quality(NamedTuple):
    metric: str
    what: str
    unit: str = ""
    selector: Selector | None = None
    traffic: bool = False


_QUALITIES = (
    _Quality("fabric_port_bit_error_ratio", "pre-FEC BER", selector=before_fec),
    _Quality("fabric_port_fec_symbol_errors_total", "FEC symbol errors", "/s"),
    _Quality("fabric_port_fcs_errors_total", "CRC errors", "/s", traffic=True),
    _Quality("fabric_port_optical_power_dbm", "rx power", "dBm", received),
    _Quality("fabric_port_optical_power_dbm", "tx power", "dBm", sent),
)
METRICS = (_FLAPS, _UP, *dict.fromkeys(quality.metric for quality in _QUALITIES))


@dataclass(slots=True)
class _Port:
    """A port that flapped. series: by their key."""

    began_ns: int
    flapped_ns: int
    series: dict[str, Before] = field(default_factory=dict)


_ports = TypeAdapter(dict[str, _Port])


class Flaps:
    """The ports that flapped within the last minutes, or are down, by name."""

    def __init__(self) -> None:
        self._ports: dict[str, _Port] = {}
        self._left: dict[str, float] = {}  # by key of series that had left their normal in the tick before: its mean

    def update(self, view: TickView) -> Sequence[FlapComparison]:
        """One tick; the comparisons that are due."""
        self._add(view)
        self._left = _left(view)
        if not self._ports:
            return ()
        self._ports = {name: port for name, port in self._ports.items() if view.end_ns - port.began_ns <= _KEPT_NS}
        self._add_values(view)
        return self._compare(view.end_ns)

    def _add(self, view: TickView) -> None:
        """Ports whose carrier changed in this tick, and those that were up and are down."""
        flaps, up = view.column(_FLAPS), view.column(_UP)
        changed = flaps.only(flaps.new & (flaps.values > 0))
        down = up.only(up.new & (up.values < 1.0) & (view.series["highest"][up.sids] >= 1.0))
        gone = view.joined([changed, down])
        begun: dict[int, _Port] = {}
        for number, at_ns, fresh in zip(*(c.tolist() for c in (gone.objects, gone.times_ns, gone.fresh)), strict=True):
            name = view.index.objects.names[number]
            known = self._ports.get(name)
            if not fresh or (known is None and len(self._ports) >= _PORTS_MAX):
                continue
            if known is None:
                known = begun[number] = self._ports[name] = _Port(at_ns, at_ns)
            known.flapped_ns = max(known.flapped_ns, at_ns)
            for series in known.series.values():
                series.after.clear()
        if begun:
            self._remember(view, begun)

    def _remember(self, view: TickView, begun: dict[int, _Port]) -> None:
        """What the series of these ports, by object number, were like until now."""
        for quality in _QUALITIES:
            column = view.column(quality.metric, quality.selector)
            column = column.only(_about(view, column, list(begun)))
            deviation = baseline.deviations(view.series["baseline"][column.sids])
            for row in np.flatnonzero(~np.isnan(deviation)).tolist():
                key = view.index.keys[int(column.sids[row])]
                usual = self._left.get(key, float(column.level[row]))
                before = Before(quality.what, quality.unit, usual, float(deviation[row]), traffic=quality.traffic)
                begun[int(column.objects[row])].series[key] = before

    def _add_values(self, view: TickView) -> None:
        """The values of this tick that came after the last flap."""
        numbers = [number for name in self._ports if (number := view.index.objects.get(name)) is not None]
        for quality in _QUALITIES:
            column = view.column(quality.metric, quality.selector)
            column = column.only(_about(view, column, numbers))
            column = column.only(column.new & column.fresh)
            rows = zip(
                *(c.tolist() for c in (column.sids, column.objects, column.times_ns, column.values)), strict=True
            )
            for sid, number, at_ns, value in rows:
                port = self._ports[view.index.objects.names[number]]
                series = port.series.get(view.index.keys[sid])
                if series is not None and at_ns >= port.flapped_ns + _SETTLE_NS:
                    series.after = [*series.after[-_VALUES_MAX + 1 :], value]

    def _compare(self, end_ns: int) -> Sequence[FlapComparison]:
        found: list[FlapComparison] = []
        for name, port in sorted(self._ports.items()):
            waited_ns = end_ns - port.flapped_ns
            complete = all(len(series.after) >= VALUES_MIN for series in port.series.values())
            if waited_ns < _AFTER_NS or not (complete or waited_ns >= _WAIT_NS):
                continue
            del self._ports[name]
            compared = compare(parse_object(name), port.flapped_ns, port.series.values())
            found += [compared] if compared else []
        return sorted(found, key=attrgetter("port"))

    def state(self) -> State:
        ports = _ports.dump_python(dict(sorted(self._ports.items())), mode="json")
        return State({"ports": ports, "left": dict(sorted(self._left.items()))}, {})

    def restore(self, state: State) -> None:
        self._ports, self._left = _ports.validate_python(state.head["ports"]), dict(state.head["left"])


def _left(view: TickView) -> dict[str, float]:
    """Where series are that have left their normal, by key. What flaps now is compared with that of the tick before, as
    the values of its own tick may be from after the flap."""
    found: dict[str, float] = {}
    for quality in _QUALITIES:
        sids = view.column(quality.metric, quality.selector).sids
        levels = baseline.left_levels(view.series["baseline"], sids)
        rows = np.flatnonzero(~np.isnan(levels))[: _LEFT_MAX - len(found)].tolist()
        found |= {view.index.keys[int(sids[row])]: float(levels[row]) for row in rows}
    return found


def _about(view: TickView, column: Column, numbers: Sequence[int]) -> NDArray[np.bool_]:
    """bool[k]: the rows about these objects."""
    chosen = np.zeros(len(view.index.objects), bool)
    chosen[list(numbers)] = True
    return np.asarray(chosen[column.objects])
