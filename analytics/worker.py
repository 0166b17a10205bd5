"""The blocking half of the service: decode, align, step, snapshot. One thread calls it, one call at a time."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from analytics import metrics
from analytics.config import AnalyticsConfig, EngineConfig
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.correlator import Correlator
from analytics.engine import Engine, Output
from analytics.snapshot import snapshot
from analytics.window.alignment import AlignedRecord, Alignment
from bus.base import Record, TopicPartition
from common.errors import BadInput
from telemetry.changes import Change
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.ledger import StageReport
from telemetry.starvation import HostLosses
from telemetry.topics import Topic
from telemetry.topology import TopologyFact
from telemetry.trends import DeviceTrends

STAGE = "analytics"
log = structlog.get_logger("analytics")


@dataclass
class StepResult:
    """Outputs in event order, what GPUs lost by host, forecasts by device, records that could not be read, and
    detectors that failed.
    """

    outputs: list[Output] = field(default_factory=list)
    losses: list[HostLosses] = field(default_factory=list)
    trends: list[DeviceTrends] = field(default_factory=list)
    corrupt: list[tuple[Record, BadInput]] = field(default_factory=list)
    failures: list[tuple[str, Exception]] = field(default_factory=list)


def build_engine(config: EngineConfig) -> Engine:
    """The engine with everything on."""
    return Engine(config, Correlator(CorrelateConfig(interval_s=config.interval_s)))


class Worker:
    """State of one analytics process: the engine, and how far it has read the bus."""

    def __init__(self, config: AnalyticsConfig, topology: Topic) -> None:
        self._config, self._topology = config, topology
        self.engine = build_engine(config.engine)
        self.mark = snapshot.Mark({}, 0)
        self._decoder = BatchDecoder()
        self._alignment = Alignment(config.aligned_samples_max)
        self.gaps = 0
        self.records_corrupt = 0

    @property
    def path(self) -> Path:
        return self._config.state_dir / "analytics.snapshot"

    def load(self, now_ns: int) -> str:
        """Continues from the snapshot where there is a good one; returns what happened, as text.

        A snapshot that does not fit starts the state again, from the beginning of what the bus still has.
        """
        self.mark = snapshot.Mark({}, now_ns)
        try:
            self.mark = snapshot.load(self.path, self.engine)
        except FileNotFoundError:
            return "no snapshot"
        except BadInput as error:
            metrics.SNAPSHOTS.labels("refused").inc()
            log.warning("snapshot refused", reason=error.reason, error=str(error))
            self.engine = build_engine(self._config.engine)
            return "snapshot refused"
        return "snapshot loaded"

    def save(self) -> None:
        snapshot.save(self.path, self.engine, self.mark)

    def process_cluster_records(self, records: Sequence[Record]) -> StepResult:
        """Topology and changes: the engine keeps each until its event time."""
        result = StepResult()
        for record in records:
            try:
                if record.value is None:
                    continue  # a tombstone: the fact with ``gone`` came before it
                if record.topic == self._topology.name:
                    self.engine.add_facts([decode_record(record.value, TopologyFact)])
                else:
                    self.engine.add_change(decode_record(record.value, Change))
            except BadInput as error:
                result.corrupt.append((record, error))
            finally:
                self.mark.offsets[(record.topic, record.partition)] = record.offset + 1
        self.records_corrupt += len(result.corrupt)
        return result

    def process_samples(self, records: Sequence[Record], behind: Collection[TopicPartition]) -> StepResult:
        """behind: partitions of which more waits on the bus."""
        result = StepResult()
        for record in records:
            partition = (record.topic, record.partition)
            batch = None
            try:
                batch = self._decoder.decode(record.value or b"", record.headers)
            except BadInput as error:
                result.corrupt.append((record, error))
            self._alignment.add(AlignedRecord(partition, record.offset + 1, batch))
        for ready in self._alignment.pop_ready(behind):
            if ready.batch is not None:
                self.engine.observe(ready.batch)
            self.mark.offsets[ready.partition] = ready.next_offset
        result.outputs = self.engine.advance()
        result.failures, self.engine.detectors.failures = self.engine.detectors.failures, []
        result.losses, result.trends = self.engine.starvation.pop_due(), self.engine.trends.pop_due()
        self.records_corrupt += len(result.corrupt)
        return result

    def report(self, at_ns: int) -> StageReport:
        counts, engine = self.engine.counts, self.engine
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
                "watermark_seconds": engine.window.watermark_ns * 1e-9,
                "records_corrupt": self.records_corrupt,
                "gaps": self.gaps,
            },
        )
