"""The API's state: the newest version of each record that the stages published."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bus.base import Record, TopicPartition
from bus.owner.fence import STALE_OWNER, OwnerFence
from common.errors import BadInput
from common.units import NS_PER_S
from fabricscope.api.history import History
from fabricscope.api.metrics import CORRUPT, DROPPED, EVENTS_FORGOTTEN, FORGOTTEN, RECEIVED
from fabricscope.api.silent_detection import SilentDetection
from fabricscope.api.stale_owner import StaleOwner
from fabricscope.api.wall.gpu_time import GpuTimeToday
from fabricscope.api.wall.gpus import GPU_INFO
from fabricscope.api.wall.newest import KEPT_NS, NewestSamples
from fabricscope.api.wall.pace import Paces
from fabricscope.api.wall.plan import Fabric
from fabricscope.api.wall.traffic import METRICS, Traffic
from telemetry import topics
from telemetry.changes import Change
from telemetry.codec.account import account_of
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.events import Event, EventState
from telemetry.findings import Finding, FindingState
from telemetry.incidents import Incident, IncidentState, Severity
from telemetry.ledger import StageReport, TargetAccount
from telemetry.recent_drops import RecentDrops
from telemetry.samples import SampleBatch
from telemetry.starvation import HostLosses
from telemetry.topology import Topology, TopologyFact
from telemetry.trends import DeviceTrends

FINDINGS_MAX = 10_000
INCIDENTS_MAX = 10_000
CHANGES_MAX = 10_000
EVENTS_MAX = 20_000
TARGETS_MAX = 100_000
_TRAFFIC_KEPT_S = 5.0
_SWEEP_NS = 60 * NS_PER_S
V = TypeVar("V")

_SEVERITY_ORDER = {Severity.CRITICAL: 0, Severity.WARNING: 1, Severity.INFO: 2}
_STATE_ORDER = {IncidentState.FIRING: 0, IncidentState.PENDING: 1, IncidentState.RESOLVED: 2}


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """The newest collection of one target. Times in ns since the Unix epoch; interval_s: since the one before it.

    unmapped: its series that nothing maps, of the newest collection that answered, as ``series``. left_out: those that
    the catalogue leaves out on purpose.
    """

    target: str
    device: str
    up: bool
    reason: str | None
    collected_ns: int
    duration_s: float
    series: int
    interval_s: float = 0.0
    unmapped: int = 0
    left_out: int = 0


def badness(incident: Incident) -> tuple[int, int, float, int, str]:
    """Sorts the worst first."""
    return (
        _STATE_ORDER[incident.state],
        _SEVERITY_ORDER[incident.severity],
        -incident.gpu_seconds,
        -incident.onset_ns,
        incident.id,
    )


class ReadModel:
    """Applies records of the bus; ``version`` grows and ``changed`` is notified when the NOC page would change."""

    TOPICS = (
        *(topics.INCIDENTS, topics.FINDINGS, topics.TOPOLOGY, topics.LEDGER),
        *(topics.STARVATION, topics.TRENDS, topics.CHANGES, topics.SAMPLES),
        topics.EVENTS,
    )

    def __init__(self, history: History) -> None:
        self.incidents: dict[str, Incident] = {}
        self.findings: dict[str, Finding] = {}
        self.topology = Topology()
        self.stages: dict[tuple[str, str], StageReport] = {}
        self.targets: dict[str, TargetStatus] = {}
        self.accounts: dict[str, TargetAccount] = {}  # of those whose newest record has one
        self._swept_ns = 0
        self.losses: dict[str, HostLosses] = {}
        self.trends: dict[str, DeviceTrends] = {}
        self.changes: dict[str, Change] = {}
        self.events: dict[str, Event] = {}
        self.history = history
        self._ports = NewestSamples(METRICS)
        self.gpu_info = NewestSamples((GPU_INFO,))
        self._traffic, self._traffic_read_s = Traffic(self._ports, 0), -_TRAFFIC_KEPT_S
        self.paces = Paces()
        self.gpu_time = GpuTimeToday()
        self.silent_since_ns: dict[str, int] = {}  # of targets whose newest collection failed
        self._fabric = Fabric(self.topology)
        self.newest_ns = 0
        self.version = 0
        self.changed = asyncio.Condition()
        self._decoder = BatchDecoder()
        self.drops = RecentDrops()
        self.stale_owner = StaleOwner()
        self.detection = SilentDetection()
        self._fence = OwnerFence()

    def apply(self, records: list[Record]) -> None:
        """Applies records of ``TOPICS``; what cannot be decoded or is of a replaced owner is counted and skipped."""
        facts: list[TopologyFact] = []
        for record in records:
            RECEIVED.labels(record.topic).inc()
            if not self._fence.admits(record):
                DROPPED.labels(STALE_OWNER).inc()
                self.stale_owner.add(record)
                continue
            try:
                self._apply_one(record, facts)
            except BadInput as error:  # its stage has already sent it to the dead letters
                CORRUPT.labels(record.topic, error.reason).inc()
        if facts:
            self.topology = self.topology.with_facts(facts)
        self.version += bool(records)

    def skip_gap(self, partition: TopicPartition) -> None:
        """Records of a partition are lost; only the newest version of each counts."""
        self._fence.forget(partition)

    def fabric(self) -> Fabric:
        """Of the topology as it is now."""
        if self._fabric.topology is not self.topology:
            self._fabric = Fabric(self.topology)
        return self._fabric

    def traffic(self) -> Traffic:
        """What links carry. Read again after five seconds: of 25,000 links it takes half of one."""
        now_s = time.monotonic()
        if now_s - self._traffic_read_s >= _TRAFFIC_KEPT_S:
            self._traffic, self._traffic_read_s = Traffic(self._ports, self.newest_ns), now_s
        return self._traffic

    def worst_first(self) -> list[Incident]:
        """Open before resolved, critical before warning, most expensive first, newest first."""
        return sorted([*self.incidents.values()], key=badness)

    def _apply_one(self, record: Record, facts: list[TopologyFact]) -> None:
        if record.topic == topics.SAMPLES.name:
            self._apply_batch(record)
        elif record.value is None:
            self.incidents.pop(record.key.decode(errors="replace"), None)
        elif record.topic == topics.INCIDENTS.name:
            incident = decode_record(record.value, Incident)
            self.incidents[incident.id] = incident
            _make_room(self.incidents, INCIDENTS_MAX, lambda i: i.state is IncidentState.RESOLVED)
        elif record.topic == topics.FINDINGS.name:
            finding = decode_record(record.value, Finding)
            self.findings[finding.id] = finding
            _make_room(self.findings, FINDINGS_MAX, lambda f: f.state is FindingState.CLEARED)
        elif record.topic == topics.TOPOLOGY.name:
            facts.append(decode_record(record.value, TopologyFact))
        elif record.topic == topics.LEDGER.name:
            report = decode_record(record.value, StageReport)
            self.stages[report.stage, report.instance] = report
            self.drops.add(report)
            self.detection.add_report(report)
        elif record.topic == topics.STARVATION.name:
            losses = decode_record(record.value, HostLosses)
            self.losses[losses.device] = losses
            self.gpu_time.add(losses)
        elif record.topic == topics.TRENDS.name:
            trends = decode_record(record.value, DeviceTrends)
            self.trends[trends.device] = trends
        elif record.topic == topics.EVENTS.name:
            event = decode_record(record.value, Event)
            self.events.pop(event.id, None)  # an open one is published again, and is then among the newest
            self.events[event.id] = event
            if gone := _make_room(self.events, EVENTS_MAX, lambda e: e.state is EventState.ENDED):
                EVENTS_FORGOTTEN.labels(gone.state).inc()
        elif record.topic == topics.CHANGES.name:
            change = decode_record(record.value, Change)
            self.changes[change.id] = change
            # Starts and ends of jobs are many, and must not push out what is planned.
            _make_room(self.changes, CHANGES_MAX, lambda c: max(c.starts_ns, c.ends_ns) <= self.newest_ns)

    def _apply_batch(self, record: Record) -> None:
        assert record.value is not None
        batch, account = self._decoder.decode(record.value, record.headers), account_of(record.headers)
        self.history.add(batch, record.value, record.headers)
        self.newest_ns = max(self.newest_ns, batch.collection.collected_ns)
        self.detection.add_samples()
        self._ports.add(batch)
        self.gpu_info.add(batch)
        self.paces.add(batch, self.topology)
        known = self.targets.get(batch.table.target)
        if known is None:
            self._forget_targets()
        if known is None or known.collected_ns <= batch.collection.collected_ns:
            status = self.targets[batch.table.target] = _status(batch, known)
            self._set_account(status.target, account)
            if status.up:
                self.silent_since_ns.pop(status.target, None)
            else:
                last = known if known and known.up else status
                self.silent_since_ns.setdefault(status.target, last.collected_ns)

    def _set_account(self, target: str, account: TargetAccount | None) -> None:
        if account is not None:
            self.accounts[target] = account
        else:
            self.accounts.pop(target, None)

    def _forget_targets(self) -> None:
        """Before a new one: those that are gone, once a minute, and the ones that were heard of longest ago where there
        is no room."""
        if len(self.targets) < TARGETS_MAX and self.newest_ns - self._swept_ns < _SWEEP_NS:
            return
        self._swept_ns = self.newest_ns
        kept = {name: one for name, one in self.targets.items() if one.collected_ns >= self.newest_ns - KEPT_NS}
        FORGOTTEN.labels("gone").inc(len(self.targets) - len(kept))
        if len(kept) >= TARGETS_MAX:
            oldest_first = sorted(kept, key=lambda name: kept[name].collected_ns)
            for name in oldest_first[: len(kept) - TARGETS_MAX + max(1, TARGETS_MAX // 100)]:
                del kept[name]
                FORGOTTEN.labels("no_room").inc()
        self.targets = kept  # another one, as the event loop may be reading the old one
        self.accounts = {name: one for name, one in self.accounts.items() if name in kept}
        self.silent_since_ns = {name: at for name, at in self.silent_since_ns.items() if name in kept}


def _status(batch: SampleBatch, known: TargetStatus | None) -> TargetStatus:
    """series, unmapped, left_out: of the newest collection that answered."""
    collection = batch.collection
    last = None if collection.up else known
    return TargetStatus(
        batch.table.target,
        batch.table.device,
        collection.up,
        collection.down,
        collection.collected_ns,
        collection.duration_s,
        len(batch.table) if last is None else last.series,
        (collection.collected_ns - known.collected_ns) / NS_PER_S if known else 0.0,
        collection.unmapped if last is None else last.unmapped,
        collection.left_out if last is None else last.left_out,
    )


def _make_room(kept: dict[str, V], at_most: int, is_over: Callable[[V], bool]) -> V | None:
    """Removes the oldest that is over, else the oldest, when there are more than ``at_most``; what it removed."""
    if len(kept) <= at_most:
        return None
    return kept.pop(next((key for key, one in kept.items() if is_over(one)), next(iter(kept))))
