"""Records of the bus to blocks of samples. Decides everything about a sample short of sending it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bus.base import Record
from bus.owner.fence import STALE_OWNER, OwnerFence
from common.errors import BadInput
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.encoder import SampleBlock
from export.remote_write.metrics import DropReason
from export.remote_write.state_series import StateSeries
from export.remote_write.targets import TargetState
from telemetry import topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.samples import SampleBatch
from telemetry.topology import TopologyFact

TARGETS_MAX = 50_000
_OF_JOBS = (ChangeKind.JOB_START, ChangeKind.JOB_END)  # jobs have series of their own


@dataclass(slots=True)
class Converted:
    """What some records became. newest_ns: of the collections, 0 without one."""

    blocks: list[SampleBlock] = field(default_factory=list)
    samples: int = 0
    duplicates: int = 0
    dropped: dict[DropReason, int] = field(default_factory=lambda: dict.fromkeys(DropReason, 0))
    unused: list[tuple[Record, BadInput]] = field(default_factory=list)
    newest_ns: int = 0


class RecordConverter:
    """Keeps how the series of each target, finding and incident were left. Not shared between threads.

    fence: knows whose findings and incidents count.
    """

    def __init__(self, config: RemoteWriteConfig) -> None:
        self.states = StateSeries(config.external_labels, config.states_max)
        self.fence = OwnerFence()
        self._external = config.external_labels
        self._send_late = config.out_of_order == "send"
        self._decoder = BatchDecoder()
        self._targets: dict[tuple[str, str], TargetState] = {}

    def convert(self, records: Sequence[Record]) -> Converted:
        """Blocks in the order of the records; a record that cannot be used costs itself."""
        converted = Converted()
        for record in records:
            if not self.fence.admits(record):
                converted.unused.append((record, BadInput("its owner had been replaced", STALE_OWNER)))
                continue
            if record.value is None:
                continue
            try:
                self._convert(record, record.value, converted)
            except BadInput as error:
                converted.unused.append((record, error))
        return converted

    def _convert(self, record: Record, value: bytes, converted: Converted) -> None:
        if record.topic == topics.FINDINGS.name:
            self.states.update_finding(decode_record(value, Finding))
        elif record.topic == topics.INCIDENTS.name:
            self.states.update_incident(decode_record(value, Incident))
        elif record.topic == topics.CHANGES.name:
            change = decode_record(value, Change)
            if change.kind not in _OF_JOBS:
                self.states.update_change(change)
        elif record.topic == topics.TOPOLOGY.name:
            converted.blocks += self._update_topology(decode_record(value, TopologyFact))
        else:
            self._add_batch(self._decoder.decode(value, record.headers), converted)

    def _update_topology(self, fact: TopologyFact) -> list[SampleBlock]:
        """The ends of series that have other labels from now on, as their device has another place."""
        moved = self.states.update_topology(fact)
        states = [state for (device, _), state in self._targets.items() if device == moved] if moved else []
        return [block for state in states for block in state.relabel(self._labels_of(moved))]

    def _labels_of(self, device: str) -> dict[str, str]:
        return {**self._external, **self.states.places.get(device, {})}

    def _add_batch(self, batch: SampleBatch, converted: Converted) -> None:
        outcome = self._target(batch).process(batch)
        converted.blocks += outcome.blocks
        converted.samples += len(batch)
        converted.duplicates += outcome.duplicates
        converted.dropped[DropReason.LATE] += outcome.late
        converted.dropped[DropReason.BAD_SERIES] += outcome.unusable
        converted.dropped[DropReason.TARGET_DOWN] += outcome.down
        converted.newest_ns = max(converted.newest_ns, batch.collection.collected_ns)

    def _target(self, batch: SampleBatch) -> TargetState:
        """The state of the batch's target; of too many, the one that was silent for longest is forgotten."""
        key = (batch.table.device, batch.table.target)
        state = self._targets.pop(key, None)
        if state is None:
            state = TargetState(batch.table, self._labels_of(batch.table.device), send_late=self._send_late)
            if len(self._targets) >= TARGETS_MAX:
                del self._targets[next(iter(self._targets))]
        self._targets[key] = state
        return state
