"""The blocking half of the service: decode, align, step, snapshot. One thread calls it, one call at a time."""

from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from analytics import metrics
from analytics.config import AnalyticsConfig, EngineConfig
from analytics.correlate.budget import LeftOut
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.correlator import Correlator
from analytics.engine import Engine, Output
from analytics.events.watch import EventDrop
from analytics.snapshot import snapshot
from analytics.window.alignment import AlignedRecord, Alignment
from analytics.window.watermark import DropReason
from bus.base import Record, TopicPartition
from bus.owner.fence import OwnerFence, stamp_of
from common.errors import BadInput
from telemetry.changes import Change
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.events import Event
from telemetry.ledger import StageReport
from telemetry.refusals import RefusalReason, refused_changes
from telemetry.starvation import HostLosses
from telemetry.topics import Topic
from telemetry.topology import TopologyFact
from telemetry.trends import DeviceTrends

STAGE = "analytics"
log = structlog.get_logger("analytics")


@dataclass
class StepResult:
    """Outputs in event order, what GPUs lost by host, forecasts by device, events, records that could not be read,
    facts and changes of a replaced owner, and detectors that failed. ahead: targets whose collections were far ahead of
    the bus, by how many nanoseconds.
    """

    outputs: list[Output] = field(default_factory=list)
    losses: list[HostLosses] = field(default_factory=list)
    trends: list[DeviceTrends] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    events_dropped: Counter[EventDrop] = field(default_factory=Counter)
    corrupt: list[tuple[Record, BadInput]] = field(default_factory=list)
    stale: list[Record] = field(default_factory=list)
    failures: list[tuple[str, Exception]] = field(default_factory=list)
    ahead: dict[str, int] = field(default_factory=dict)


def build_engine(config: EngineConfig, workers: Executor | None = None) -> Engine:
    """The engine with everything on. workers: see ``Engine``."""
    correlate = CorrelateConfig(interval_s=config.interval_s, usual_after_s=config.reported_follow_s)
    return Engine(config, Correlator(correlate), workers=workers)


class Worker:
    """State of one analytics process: the engine, and how far it has read the bus."""

    def __init__(self, config: AnalyticsConfig, topology: Topic) -> None:
        self._config, self._topology = config, topology
        self.engine = build_engine(config.engine)
        self.mark = snapshot.Mark({}, 0)
        self.fence = OwnerFence()
        self._decoder = BatchDecoder()
        self._alignment = Alignment(config.aligned_samples_max)
        self._changes_refused: Counter[RefusalReason] = Counter()
        self.gaps = 0
        self.begun_again: dict[str, str] = {}  # blocks of the state that did so when it was loaded, and why
        self.records_corrupt = 0

    @property
    def path(self) -> Path:
        return self._config.state_dir / "analytics.snapshot"

    def load(self, now_ns: int) -> str:
        """Continues from the snapshot where there is a good one; returns what happened, as text.

        A snapshot that does not fit starts the state again, from the beginning of what the bus still has.
        """
        self.mark, self.begun_again = snapshot.Mark({}, now_ns), {}
        self.fence = OwnerFence()
        try:
            loaded = snapshot.load(self.path, self.engine)
        except FileNotFoundError:
            return "no snapshot"
        except BadInput as error:
            metrics.SNAPSHOTS.labels("refused").inc()
            log.warning("snapshot refused", reason=error.reason, error=str(error))
            self.engine = build_engine(self._config.engine)
            return "snapshot refused"
        self.mark = loaded.mark
        self.fence = OwnerFence(loaded.mark.epochs)
        if loaded.unknown:
            log.warning("parts of the snapshot are not known here and left out", blocks=", ".join(loaded.unknown))
        if not loaded.begun_again:
            return "snapshot loaded"
        self.begun_again = {name: why.text for name, why in loaded.begun_again.items()}
        for name, why in loaded.begun_again.items():
            metrics.STATE_BEGUN_AGAIN.labels(name, why.cause.value).inc()
            log.warning("this part of the state begins again", block=name, reason=why.text)
        return f"snapshot loaded, without {', '.join(self.begun_again)}"

    def save(self) -> None:
        snapshot.save(self.path, self.engine, replace(self.mark, epochs=dict(self.fence.newest)))

    def process_cluster_records(self, records: Sequence[Record]) -> StepResult:
        """Topology and changes: the engine keeps each until its event time."""
        result = StepResult()
        for record in records:
            try:
                if not self.fence.admits(record):
                    result.stale.append(record)
                    continue
                if record.value is None:
                    continue  # a tombstone: the fact with ``gone`` came before it
                if record.topic == self._topology.name:
                    self.engine.add_facts([decode_record(record.value, TopologyFact)])
                else:
                    self._add_change(decode_record(record.value, Change))
            except BadInput as error:
                result.corrupt.append((record, error))
            finally:
                self.mark.offsets[(record.topic, record.partition)] = record.offset + 1
        self.records_corrupt += len(result.corrupt)
        return result

    def _add_change(self, change: Change) -> None:
        self.engine.add_change(change)
        for refusal in refused_changes([change]):
            self._changes_refused[refusal.reason] += 1
            log.warning("a change counts in part", reason=refusal.reason, text=refusal.text)

    def process_samples(
        self, records: Sequence[Record], behind: Collection[TopicPartition], *, bus_tells_time: bool
    ) -> StepResult:
        """All but correlation; see ``Engine.score``.

        behind: partitions of which more waits on the bus. bus_tells_time: whether append times bound event time.
        """
        result = StepResult()
        for record in records:
            partition = (record.topic, record.partition)
            batch = None
            try:
                batch = self._decoder.decode(record.value or b"", record.headers)
            except BadInput as error:
                result.corrupt.append((record, error))
            appended_ns = record.appended_ns if bus_tells_time else None
            self._alignment.add(AlignedRecord(partition, record.offset + 1, batch, appended_ns, stamp_of(record)))
        for ready in self._alignment.pop_ready(behind):
            # here and not when it is read: what the fence knows belongs to the offsets of the mark
            is_owners = self.fence.admits_stamp(ready.stamp)
            if ready.batch is not None and is_owners:
                self.engine.observe(ready.batch, ready.appended_ns)
            elif ready.batch is not None:
                self.engine.counts.samples_in += len(ready.batch)
                self.engine.counts.drop(DropReason.STALE_OWNER, len(ready.batch))
            self.mark.offsets[ready.partition] = ready.next_offset
        result.outputs = self.engine.score()
        result.failures, self.engine.detectors.failures = self.engine.detectors.failures, []
        result.ahead, self.engine.window.ahead = self.engine.window.ahead, {}
        result.losses, result.trends = self.engine.starvation.pop_due(), self.engine.trends.pop_due()
        result.events, result.events_dropped = self.engine.events.pop_due(), self.engine.events.pop_dropped()
        self.records_corrupt += len(result.corrupt)
        return result

    def report(self, at_ns: int) -> StageReport:
        counts, engine = self.engine.counts, self.engine
        left_out = engine.correlator.left_out if engine.correlator else {}
        of_facts = engine.correlator.refused.values() if engine.correlator else ()
        refused = Counter(each.reason for found in of_facts for each in found)
        refused.update(self._changes_refused)
        return StageReport(
            STAGE,
            self._config.instance,
            self.mark.epoch_ns,
            at_ns,
            samples_in=counts.samples_in,
            samples_out=counts.processed,
            deduplicated=counts.deduplicated,
            held=counts.held,
            dropped=dict(sorted(counts.dropped.items())),
            details={
                "series": len(engine.registry),
                **{f"series_{state}": count for state, count in engine.quality_counts.items()},
                "findings_active": engine.findings.active(),
                **{f"findings_left_out_{reason}": float(left_out.get(reason, 0)) for reason in LeftOut},
                **{f"refused_{reason}": float(refused[reason]) for reason in RefusalReason},
                "watermark_seconds": engine.window.watermark_ns * 1e-9,
                "records_corrupt": self.records_corrupt,
                "gaps": self.gaps,
                "times_gone_back": self.engine.times_gone_back,
                **{f"begun_again_{block}": 1 for block in self.begun_again},
                "ticks_uncorrelated": self.engine.ticks_uncorrelated,
                **{f"inferred_{kind}": count for kind, count in engine.inferred.items()},
            },
        )
