"""What happened to the processes of one job, by what RAS streams, and the samples of that. Pure: time goes in.

A sample says when it happened last. It is repeated for ``HOLD_NS``, so that whoever reads it sees that it is over.
"""

from collections.abc import Mapping
from typing import NamedTuple

from common.units import NS_PER_S
from ingest.collectors.canonical_samples import SourceSample
from ingest.collectors.nccl_ras.event_stream import RasEvent
from ingest.ledger import DropReason

HOLD_NS = 900 * NS_PER_S
_LATE_NS = 120 * NS_PER_S  # how late an event may come: a connection that stalls longer is given up
_ZONES_NS = 900 * NS_PER_S  # zones are whole quarters of an hour apart

KINDS = {"PEER_DEAD": "dead", "PEER_UNRESPONSIVE": "unresponsive", "PEER_RECOVERED": "recovered"}
"""RAS's events that are ours, and what we call them."""
OTHERS = frozenset(
    f"PEER_{name}"
    for name in (
        *("NEW", "CONNECTED", "DISCONNECTED", "RETRY", "SEND_STUCK", "INIT_TIMEOUT"),
        *("KEEPALIVE_TIMEOUT", "TIMEOUT_DEAD"),
    )
)
"""Steps on the way to those, about single connections, and processes that join."""


def happened_ns(local_ns: int, received_ns: int) -> int:
    """When an event happened, by the local time that RAS states for it: that of the zone in which it is nearest to its
    arrival. Of its arrival, where it would be after that or long before.

    >>> now_ns = 1_800_000_000 * NS_PER_S
    >>> [(happened_ns(now_ns + s * NS_PER_S, now_ns) - now_ns) // NS_PER_S for s in (-3, 5 * 3600 + 1800 - 1, 6, -300)]
    [-3, -1, 0, 0]
    """
    stated_ns = local_ns - round((local_ns - received_ns) / _ZONES_NS) * _ZONES_NS
    return stated_ns if received_ns - _LATE_NS <= stated_ns <= received_ns else received_ns


class _Series(NamedTuple):
    host: str
    process: str
    gpus: str
    event: str


class PeerEvents:
    """Of one job. hosts: devices by address."""

    def __init__(self, series_max: int, job_id: str, hosts: Mapping[str, str]) -> None:
        self._series_max, self._hosts = series_max, hosts
        self._job = {"job_id": job_id} if job_id else {}
        self._at_ns: dict[_Series, int] = {}
        self._unread: set[_Series] = set()

    @property
    def has_unread(self) -> bool:
        """Whether anything happened that no reading had yet."""
        return bool(self._unread)

    def add(self, event: RasEvent, received_ns: int) -> DropReason | None:
        """Why one sample less is read than there were events; None where that is not so. The event is one of
        ``KINDS``."""
        if not event.host:
            return DropReason.BAD_FORMAT
        series = _Series(self._hosts.get(event.host, event.host), event.process, event.gpus, KINDS[event.name])
        if series not in self._at_ns and len(self._at_ns) >= self._series_max:
            return DropReason.QUOTA
        before = DropReason.DUPLICATE if series in self._unread else None  # the newest one counts
        self._at_ns[series] = happened_ns(event.local_ns, received_ns)
        self._unread.add(series)
        return before

    def reading(self, now_ns: int) -> list[SourceSample]:
        """What happened lately."""
        self._at_ns = {
            series: at_ns for series, at_ns in self._at_ns.items() if series in self._unread or now_ns - at_ns < HOLD_NS
        }
        self._unread.clear()
        return [
            SourceSample("process_event_timestamp", self._labels(series), at_ns / NS_PER_S)
            for series, at_ns in self._at_ns.items()
        ]

    def _labels(self, series: _Series) -> dict[str, str]:
        stated = {name: text for name, text in series._asdict().items() if text}
        return {**self._job, **stated}
