"""Records of the bus to blocks of rows. Decides everything about a sample short of sending it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bus.base import Record
from common.errors import BadInput
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.encoder import Rows
from export.remote_write.facts import FactSeries
from export.remote_write.metrics import DropReason
from export.remote_write.targets import TargetState
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.samples import SampleBatch

TARGETS_MAX = 50_000


@dataclass(slots=True)
class Intake:
    """What some records became. newest_ns: of the collections, 0 without one."""

    blocks: list[Rows] = field(default_factory=list)
    samples: int = 0
    repeated: int = 0
    dropped: dict[DropReason, int] = field(default_factory=lambda: dict.fromkeys(DropReason, 0))
    bad: list[tuple[Record, BadInput]] = field(default_factory=list)
    newest_ns: int = 0


class Reader:
    """Keeps what each target and fact looked like last. Not shared between threads."""

    def __init__(self, config: RemoteWriteConfig) -> None:
        self.facts = FactSeries(config.external_labels, config.facts_max)
        self._external = config.external_labels
        self._send_late = config.out_of_order == "send"
        self._decoder = BatchDecoder()
        self._targets: dict[tuple[str, str], TargetState] = {}

    def read(self, records: Sequence[Record]) -> Intake:
        """Blocks in the order of the records; a record that is not usable costs itself."""
        intake = Intake()
        for record in records:
            if record.value is None:
                continue
            try:
                self._read(record, record.value, intake)
            except BadInput as error:
                intake.bad.append((record, error))
        return intake

    def _read(self, record: Record, value: bytes, intake: Intake) -> None:
        if record.topic == topics.FINDINGS.name:
            self.facts.observe_finding(decode_record(value, Finding))
        elif record.topic == topics.INCIDENTS.name:
            self.facts.observe_incident(decode_record(value, Incident))
        else:
            self._samples(self._decoder.decode(value, record.headers), intake)

    def _samples(self, batch: SampleBatch, intake: Intake) -> None:
        passed = self._target(batch).passed(batch)
        intake.blocks += passed.blocks
        intake.samples += len(batch)
        intake.repeated += passed.repeated
        intake.dropped[DropReason.LATE] += passed.late
        intake.dropped[DropReason.BAD_SERIES] += passed.unusable
        intake.dropped[DropReason.TARGET_DOWN] += passed.down
        intake.newest_ns = max(intake.newest_ns, batch.collection.collected_ns)

    def _target(self, batch: SampleBatch) -> TargetState:
        """The state of the batch's target; of too many, the one that was silent for longest is forgotten."""
        key = (batch.table.device, batch.table.target)
        state = self._targets.pop(key, None)
        if state is None:
            state = TargetState(batch.table, self._external, send_late=self._send_late)
            if len(self._targets) >= TARGETS_MAX:
                del self._targets[next(iter(self._targets))]
        self._targets[key] = state
        return state
