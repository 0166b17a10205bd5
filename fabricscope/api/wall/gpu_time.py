"""GPU time of running jobs since midnight UTC: what was watched of it, and what was lost."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain

from common.units import NS_PER_S
from telemetry.starvation import HostLosses

DAY_NS = 24 * 3600 * NS_PER_S


@dataclass(frozen=True, slots=True)
class GpuTime:
    """Seconds of all GPUs together since ``since_ns``: midnight, or later where nothing is known of before. lost_s: by
    cause; their sum is the time lost."""

    since_ns: int
    watched_s: float = 0.0
    lost_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Sums:
    watched_s: float
    lost_s: Counter[str]


class GpuTimeToday:
    """The starvation ledger counts for as long as a host is known; this is what came since midnight."""

    def __init__(self) -> None:
        self._newest: dict[str, HostLosses] = {}
        self._before: dict[str, _Sums] = {}  # of each host at ``_since_ns``
        self._since_ns: dict[str, int] = {}

    def add(self, losses: HostLosses) -> None:
        """One record of a host; those of one host in the order of their time."""
        known, midnight_ns = self._newest.get(losses.device), losses.at_ns - losses.at_ns % DAY_NS
        if known is None:
            # What a GPU did before the first record of the day is not known to be of the day, unless it began in it.
            old = [loss.since_ns < midnight_ns for loss in losses.gpus]
            self._before[losses.device] = _sums(losses, before_ns=midnight_ns)
            self._since_ns[losses.device] = losses.at_ns if any(old) else midnight_ns
        elif known.at_ns < midnight_ns:
            self._before[losses.device], self._since_ns[losses.device] = _sums(known), midnight_ns
        self._newest[losses.device] = losses

    def today(self, now_ns: int) -> GpuTime:
        """now_ns: event time. Hosts that have said nothing since midnight count nothing."""
        midnight_ns = now_ns - now_ns % DAY_NS
        newest = [one for one in list(self._newest.values()) if one.at_ns >= midnight_ns]
        watched_s, lost_s = 0.0, Counter[str]()
        for one in newest:
            sums, before = _sums(one), self._before[one.device]
            watched_s += sums.watched_s - before.watched_s
            lost_s.update({cause: lost - before.lost_s[cause] for cause, lost in sums.lost_s.items()})
        began_ns = [loss.since_ns for one in newest for loss in one.gpus]
        since_ns = max(chain([midnight_ns, min(began_ns, default=now_ns)], (self._since_ns[o.device] for o in newest)))
        return GpuTime(since_ns, max(0.0, watched_s), {cause: lost for cause, lost in lost_s.items() if lost > 0})


def _sums(losses: HostLosses, before_ns: int | None = None) -> _Sums:
    """Of all GPUs of a host; with ``before_ns`` of those whose counts began before it."""
    counted = [loss for loss in losses.gpus if before_ns is None or loss.since_ns < before_ns]
    lost_s = Counter[str]()
    for loss in counted:
        lost_s.update(dict(loss.lost_s))
    return _Sums(sum(loss.watched_s for loss in counted), lost_s)
