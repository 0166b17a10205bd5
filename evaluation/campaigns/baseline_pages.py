"""What somebody on call gets from a method that knows single series: its alerts, put together to pages by device.

Alerts of one device that lie at most ``GAP_NS`` apart are one page. A page belongs to a fault when it begins while the
fault lasts (``Reached.lasts``) and one of the things that alert in it is reached by the fault, as a finding that may
travel would have to be, or stands in a host whose job may wait for it. It names the root when it is about the root's
device or an end of the root's link (``Reached.devices``), and then it belongs too. Every other page is false.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_S
from evaluation.campaigns.plan import INTERVAL_S
from evaluation.campaigns.play import Played
from evaluation.campaigns.series import Ints, Recording
from evaluation.campaigns.truth import EARLY_NS, LATE_NS, Reached
from evaluation.series.signals import Floats
from telemetry.findings import FindingKind

# clusters recover for 170 s at least: a longer one would hide a fault in the page of the one before
GAP_NS = 120 * NS_PER_S

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Scene:
    """One campaign as pages are judged by: a row a fault. begins_ns, ends_ns: int64[faults]; an end is past for none.

    shows: whether it can be seen at all. reached, named: bool[faults, series], what an alert of a series is about.
    devices: int64[series]. all_series: those that never change included. days: how long it was watched.
    """

    begins_ns: Ints
    ends_ns: Ints
    shows: Bools
    reached: Bools
    named: Bools
    devices: Ints
    all_series: int
    days: float
    healthy: bool


@dataclass(frozen=True, slots=True)
class Alerts:
    """Points of series with their scores, in any order. series: row of the recording."""

    scores: Floats
    times_ns: Ints
    series: Ints

    def above(self, level: float) -> "Alerts":
        loud = self.scores >= level
        return Alerts(self.scores[loud], self.times_ns[loud], self.series[loud])


@dataclass(frozen=True, slots=True)
class Pages:
    """When each was sent, int64[pages]; to which faults it belongs and whose roots it names, bool[faults, pages]."""

    told_ns: Ints
    belongs: Bools
    names: Bools


def scene(played: Played, causes: Sequence[Reached], recording: Recording, counts_ns: int) -> Scene:
    """counts_ns: what comes before is no time in which anybody is judged."""
    names = {name: number for number, name in enumerate(sorted(set(recording.devices)))}
    about = list(zip(recording.objects, recording.devices, strict=True))
    named = [[device in cause.devices for _, device in about] for cause in causes]
    reached = [
        [cause.reaches(FindingKind.DEVIATION, thing) or device in cause.waiting_hosts for thing, device in about]
        for cause in causes
    ]
    shape = len(causes), len(about)
    forever_ns = np.iinfo(np.int64).max - LATE_NS
    return Scene(
        np.array([cause.truth.start_ns for cause in causes], np.int64),
        np.array([cause.truth.end_ns or forever_ns for cause in causes], np.int64),
        np.array([cause.shows for cause in causes], np.bool_),
        np.array(reached, np.bool_).reshape(shape) | np.array(named, np.bool_).reshape(shape),
        np.array(named, np.bool_).reshape(shape),
        np.array([names[device] for device in recording.devices], np.int64),
        played.series,
        played.plan.lasts_s / 86400.0 - (counts_ns - played.start_ns) / NS_PER_S / 86400.0,
        played.plan.healthy,
    )


def pages(of: Scene, alerts: Alerts) -> Pages:
    """Alerts of a device are its pages."""
    return _grouped(of, alerts, of.devices[alerts.series])


def false_events(of: Scene, alerts: Alerts) -> int:
    """The same for each series on its own: how often one began to alert, and no fault reaches it then."""
    return _count(~np.any(_grouped(of, alerts, alerts.series).belongs, axis=0))


def _grouped(of: Scene, alerts: Alerts, groups: Ints) -> Pages:
    order = np.lexsort((alerts.times_ns, groups))
    groups, times_ns, series = groups[order], alerts.times_ns[order], alerts.series[order]
    begins = np.ones(order.size, np.bool_)
    begins[1:] = (np.diff(groups) != 0) | (np.diff(times_ns) > GAP_NS)
    starts = np.flatnonzero(begins)
    told_ns = times_ns[starts]
    lasting = (told_ns >= of.begins_ns[:, None] - EARLY_NS) & (told_ns <= of.ends_ns[:, None] + LATE_NS)
    if not starts.size:
        return Pages(told_ns, lasting, lasting)
    reached = np.logical_or.reduceat(of.reached[:, series], starts, axis=1)
    return Pages(told_ns, lasting & reached, lasting & of.named[:, series[starts]])


def incidents(played: Played, causes: Sequence[Reached]) -> Pages:
    """The product's own pages, more strictly: an incident names the root, or its root is what the fault reaches."""
    newest = list(played.newest.values())
    told_ns = [played.first[each.id].fired_ns for each in newest]
    lasting = [[cause.lasts(each.onset_ns) for each in newest] for cause in causes]
    names = [[cause.named_by(each.kind, each.root) for each in newest] for cause in causes]
    near = [[each.root in cause.things | cause.waiting for each in newest] for cause in causes]
    shape = len(causes), len(newest)
    lasts, named, close = (np.array(rows, np.bool_).reshape(shape) for rows in (lasting, names, near))
    return Pages(np.array(told_ns, np.int64), lasts & (named | close), lasts & named)


def false_findings(played: Played, causes: Sequence[Reached]) -> int:
    """The product's own counterpart of ``false_events``: findings that no fault explains."""
    return sum(not any(cause.true(finding) for cause in causes) for finding in played.findings.values())


@dataclass(frozen=True, slots=True)
class Figures:
    """Pages of one method over many campaigns; NaN where there was nothing to divide by.

    noticed, named: shares of the faults that can be seen. delay: mean, in intervals, of the first page of each.
    pages: that belong to a fault, for each that can be seen. a_day, health_a_day: false pages.
    """

    noticed: float
    named: float
    pages: float
    precision: float
    f1: float
    delay: float
    false: int
    a_day: float
    health_a_day: float


def figures(scenes: Sequence[Scene], told: Sequence[Pages]) -> Figures:
    """``told[i]`` belongs to ``scenes[i]``."""
    pairs = list(zip(scenes, told, strict=True))
    faults = sum(_count(of.shows) for of in scenes)
    noticed = sum(_count(of.shows & np.any(found.belongs, axis=1)) for of, found in pairs)
    named = sum(_count(of.shows & np.any(found.names, axis=1)) for of, found in pairs)
    false = [_count(~np.any(found.belongs, axis=0)) for found in told]
    belong = sum(found.told_ns.size for found in told) - sum(false)
    delays = [delay for of, found in pairs for delay in _delays(of, found)]
    quiet = [at for at, of in enumerate(scenes) if of.healthy]
    recall, precision = _share(noticed, faults), _share(belong, belong + sum(false))
    return Figures(
        noticed=recall,
        named=_share(named, faults),
        pages=_share(belong, faults),
        precision=precision,
        f1=_share(2 * precision * recall, precision + recall),
        delay=_share(sum(delays), len(delays)),
        false=sum(false),
        a_day=_share(sum(false), sum(of.days for of in scenes)),
        health_a_day=_share(sum(false[at] for at in quiet), sum(scenes[at].days for at in quiet)),
    )


def _delays(of: Scene, found: Pages) -> list[float]:
    """Intervals from the begin of each fault to its first page."""
    seen = np.flatnonzero(of.shows & np.any(found.belongs, axis=1)).tolist()
    first_ns = [int(found.told_ns[found.belongs[at]].min()) for at in seen]
    return [(ns - int(of.begins_ns[at])) / NS_PER_S / INTERVAL_S for at, ns in zip(seen, first_ns, strict=True)]


def _count(which: Bools) -> int:
    return int(np.count_nonzero(which))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
