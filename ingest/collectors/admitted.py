"""What became of the samples of one push."""

from collections import Counter
from dataclasses import dataclass, field

from ingest.ledger import DropReason, Ledger
from telemetry.samples import SampleBatch


@dataclass(slots=True)
class Admitted:
    """What became of a push. received = samples of the batches + dropped; unmapped: samples that no rule knows.

    of_targets: of ``dropped``, by target and reason; not those of series that were refused or have no target.
    """

    batches: list[SampleBatch]
    dropped: Counter[DropReason] = field(default_factory=Counter)
    of_targets: Counter[tuple[str, DropReason]] = field(default_factory=Counter)
    unmapped: int = 0

    @property
    def received(self) -> int:
        return sum(map(len, self.batches)) + self.dropped.total()

    def count(self, ledger: Ledger) -> None:
        """All of it as received, and the drops as such: of each target, and what nobody's is."""
        for batch in self.batches:
            ledger.received(len(batch), batch.table.target)
        rest = self.dropped.copy()
        for (target, reason), count in self.of_targets.items():
            ledger.received(count, target)
            ledger.dropped(reason, count, target)
            rest[reason] -= count
        for reason, count in rest.items():
            ledger.received(count, "")
            ledger.dropped(reason, count, "")
