"""The history of everything that has a limit: medians of two hours, and forecasts from them."""

import re
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from analytics.models.trend import forecast
from analytics.models.trend.limits import LIMITS
from analytics.snapshot.stateful import State
from analytics.state.columns import Columns, read_only
from analytics.view.derived import Forecasts
from analytics.view.quality import FRESH
from analytics.view.tick_view import TickView
from telemetry.objects import ObjectRef
from telemetry.trends import DeviceTrends, Forecast

SLOT_NS = 600 * 10**9  # between two values that are kept until their median is
SLOTS = 12  # of one median
_DAY_NS = SLOT_NS * SLOTS * forecast.PER_DAY
KEPT = 14 * forecast.PER_DAY
_FIRST = forecast.PER_DAY  # medians of the first level of a series
HISTORY_MIN = forecast.PER_DAY
_LAYOUT: dict[str, tuple[str, float, int]] = {
    "limited": ("i4", 0, 1),  # position in LIMITS
    "first": ("f4", np.nan, 1),  # level of the first day
    "recent": ("f4", np.nan, SLOTS),  # of the open median, by slot
    "history": ("f4", np.nan, KEPT),  # medians, by their number since the epoch, modulo
    "forecast": ("f8", np.nan, forecast.COLUMNS),
    "forecast_ns": ("i8", 0, 1),
}
# What the history of each holds, whatever its limit is
_DEFINITIONS = [
    f"{one.metric} {selector}/{one.share_of} {one.scale} {one.worst} {one.stepwise}"
    for one in LIMITS
    for selector in [one.selector.__name__ if one.selector else ""]
]
_LANE = re.compile(',lane="[^"]*"')
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class TrendHistory:
    """Every series of ``LIMITS``: about 800 bytes each. Keeps a value every ten minutes of event time.

    Each slot brings new forecasts of a twelfth of the series, so that no tick computes all.
    """

    def __init__(self) -> None:
        self._columns = Columns(_LAYOUT)
        self._sids: Ints = np.zeros(0, np.int64)  # series number of each row, -1 where it is gone
        self._names: list[tuple[int, str, str]] = []  # position in LIMITS, target, series key
        self._rows: dict[tuple[int, str, str], int] = {}
        self._version = -1
        self._sources: list[tuple[Ints, Ints, Ints]] = []  # of each of LIMITS: rows, series, their divisors
        self._slot = 0
        self._known_devices: set[str] = set()
        self._due: list[DeviceTrends] = []

    def update(self, view: TickView) -> Forecasts:
        """One tick; the newest forecasts where it brings new ones, else none."""
        slot = view.end_ns // SLOT_NS
        if slot == self._slot:
            return Forecasts()
        self._find_series(view)
        self._close_medians(self._slot // SLOTS, slot // SLOTS)
        if slot // SLOTS != self._slot // SLOTS:
            self._collect_due(view)
        passed = min(slot - self._slot, SLOTS)
        self._slot = slot
        self._add_values(view)
        if not self._forecast_part(view.end_ns, passed):
            return Forecasts()
        columns, names = self._columns, [key for _, _, key in self._names]
        limits = _limits(columns["limited"], columns["first"])
        return Forecasts(
            read_only(columns["limited"]), read_only(self._sids), names, read_only(columns["forecast"]), limits
        )

    def pop_due(self) -> list[DeviceTrends]:
        """What has changed since the last call, by device."""
        due, self._due = self._due, []
        return due

    def state(self) -> State:
        """Without what is due: that is popped before a snapshot."""
        devices = sorted(self._known_devices)
        head = {"limits": _DEFINITIONS, "names": self._names, "slot": self._slot, "devices": devices}
        return State(head, self._columns.state().arrays)

    def restore(self, state: State) -> None:
        """Without the rows whose limit is none of today's, or is about something else."""
        head = state.head
        before = head.get("limits", _DEFINITIONS)  # state version 15 does not say
        now = [_DEFINITIONS.index(each) if each in _DEFINITIONS else -1 for each in before]
        self._columns.restore(state)
        self._columns["limited"][:] = np.array(now, np.int32)[self._columns["limited"]]
        self._names = [(now[limited], target, key) for limited, target, key in head["names"]]
        self._rows = {name: row for row, name in enumerate(self._names)}
        self._slot, self._known_devices = head["slot"], set(head["devices"])
        self._keep(self._columns["limited"] >= 0)

    def forget(self, metrics: Collection[str]) -> None:
        """The history of everything that is measured by these metrics."""
        gone = np.array([limited.metric in metrics or limited.share_of in metrics for limited in LIMITS])
        self._keep(~gone[self._columns["limited"]])

    def _find_series(self, view: TickView) -> None:
        """Rows and series of each of LIMITS; again only after the series have changed."""
        index = view.index
        if self._version == index.version:
            return
        self._version = index.version
        self._drop_empty()
        self._sources = []
        for position, limited in enumerate(LIMITS):
            sids = view.column(limited.metric, limited.selector).sids
            divisors = _same_labels(view, sids, limited.share_of) if limited.share_of else sids
            sids, divisors = sids[divisors >= 0], divisors[divisors >= 0]
            targets = index.columns["target"][sids].tolist()
            keys = [index.keys[sid] for sid in sids.tolist()]
            keys = [_LANE.sub("", key) for key in keys] if limited.worst else keys
            names = [(position, index.targets.names[t], key) for t, key in zip(targets, keys, strict=True)]
            self._sources.append((np.array([self._row(name) for name in names], np.int64), sids, divisors))
        self._sids = np.full(self._columns.size, -1, np.int64)
        for rows, sids, _ in self._sources:
            self._sids[rows] = sids

    def _row(self, name: tuple[int, str, str]) -> int:
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = len(self._names)
            self._names.append(name)
            self._columns.grow(row + 1)
            self._columns["limited"][row] = name[0]
        return row

    def _drop_empty(self) -> None:
        """Drops series without any value left; waits until they are most."""
        empty = np.isnan(self._columns["history"]).all(axis=1) & np.isnan(self._columns["recent"]).all(axis=1)
        if 2 * np.count_nonzero(empty) > empty.size:
            self._keep(~empty)

    def _keep(self, rows: NDArray[np.bool_]) -> None:
        if rows.all():
            return
        keep = np.flatnonzero(rows)
        self._columns.keep(keep)
        self._names = [self._names[row] for row in keep.tolist()]
        self._rows = {name: row for row, name in enumerate(self._names)}

    def _close_medians(self, old: int, new: int) -> None:
        """Keeps the median of the slots that have ended; times without values stay empty."""
        if new == old:
            return
        history, recent = self._columns["history"], self._columns["recent"]
        known = ~np.isnan(recent).all(axis=1)
        history[:, old % KEPT] = np.nan
        history[known, old % KEPT] = np.nanmedian(recent[known], axis=1)
        for missed in range(old + 1, min(new, old + 1 + KEPT)):
            history[:, missed % KEPT] = np.nan
        recent[:] = np.nan

    def _add_values(self, view: TickView) -> None:
        slot = self._slot % SLOTS
        for (rows, sids, divisors), limited in zip(self._sources, LIMITS, strict=True):
            values = view.series["raw" if limited.stepwise else "value"][sids]
            fresh = view.quality[sids] == FRESH
            if limited.share_of:
                with np.errstate(divide="ignore", invalid="ignore"):
                    values = limited.scale * values / view.series["value"][divisors]
            good = fresh & np.isfinite(values)
            worst = np.fmax if limited.worst == "largest" else np.fmin  # several values a row only for lanes
            worst.at(self._columns["recent"][:, slot], rows[good], values[good])

    def _forecast_part(self, now_ns: int, passed: int) -> bool:
        """New forecasts for a twelfth of the series, times the slots that passed; whether there are any."""
        rows = np.flatnonzero((self._slot - np.arange(self._columns.size)) % SLOTS < passed)
        if not rows.size:
            return False
        # Oldest first: the column of the open median still holds the oldest one.
        order = (np.arange(KEPT) + self._slot // SLOTS) % KEPT
        history = self._columns["history"][rows][:, order]
        self._learn_first(rows, history)
        limits = _limits(self._columns["limited"][rows], self._columns["first"][rows])
        daily, stepwise = (np.array([getattr(one, name) for one in LIMITS]) for name in ("daily", "stepwise"))
        kinds = self._columns["limited"][rows]
        found = forecast.forecasts(history, limits, daily[kinds], stepwise[kinds], HISTORY_MIN)
        found[:, forecast.FUTURE] -= (now_ns - self._slot // SLOTS * SLOTS * SLOT_NS) / _DAY_NS
        self._columns["forecast"][rows], self._columns["forecast_ns"][rows] = found, now_ns
        return True

    def _learn_first(self, rows: Ints, history: NDArray[np.float32]) -> None:
        first = self._columns["first"]
        for at in np.flatnonzero(np.isnan(first[rows])).tolist():
            known = history[at][~np.isnan(history[at])]
            if known.size >= _FIRST:
                first[rows[at]] = np.median(known[:_FIRST])

    def _collect_due(self, view: TickView) -> None:
        found: dict[str, list[Forecast]] = {device: [] for device in sorted(self._known_devices)}
        rows = np.flatnonzero(~np.isnan(self._columns["forecast"][:, forecast.DAYS]) & (self._sids >= 0))
        for row in rows.tolist():
            device = view.index.devices[int(view.index.columns["target"][self._sids[row]])]
            found.setdefault(device, []).append(self._forecast(view, row))
        for device, forecasts in found.items():
            soonest = sorted(forecasts, key=lambda one: (one.days, one.series))
            self._due.append(DeviceTrends(device, view.end_ns, tuple(soonest)))
        self._known_devices = {device for device, forecasts in found.items() if forecasts}

    def _forecast(self, view: TickView, row: int) -> Forecast:
        values, limited = self._columns["forecast"][row].tolist(), LIMITS[self._columns["limited"][row]]
        age = (view.end_ns - int(self._columns["forecast_ns"][row])) / _DAY_NS
        days, low, high = (max(0.0, values[column] - age) for column in forecast.FUTURE[:3])
        return Forecast(
            series=self._names[row][2],
            kind=limited.kind,
            object=self._object_of(view, row),
            unit=limited.unit,
            value=_rounded(values[forecast.VALUE]),
            limit=_rounded(float(_limits(self._columns["limited"][[row]], self._columns["first"][[row]])[0])),
            per_day=_rounded(values[forecast.SLOPE_A_DAY]),
            days=round(days, 2),
            days_low=round(low, 2),
            days_high=round(high, 2) if np.isfinite(high) else None,
            history_days=round(values[forecast.SPAN_DAYS], 2),
        )

    def _object_of(self, view: TickView, row: int) -> ObjectRef:
        """What the series of a row is about."""
        return view.index.object_ref(int(view.index.columns["object"][self._sids[row]]))


def _limits(limited: NDArray[np.int32], first: NDArray[np.float32]) -> Floats:
    fixed = np.array([one.limit for one in LIMITS])[limited]
    of_first = np.array([one.of_first for one in LIMITS])[limited]
    return np.where(of_first, fixed * first, fixed)


def _same_labels(view: TickView, sids: Ints, metric: str) -> Ints:
    """Series of another metric of the same target with the same labels, -1 where there is none."""
    index = view.index

    def name(sid: int) -> tuple[int, str]:
        return int(index.columns["target"][sid]), index.keys[sid].partition("{")[2]

    others = {name(sid): sid for sid in view.column(metric).sids.tolist()}
    return np.array([others.get(name(sid), -1) for sid in sids.tolist()], np.int64)


def _rounded(value: float) -> float:
    """Six digits: more would be noise."""
    return float(f"{value:.6g}")
