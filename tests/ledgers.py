"""What every test that moves data asks of the ledger: each sample is accounted for, in total and by target."""

from collections import defaultdict
from collections.abc import Iterable

from ingest.ledger import Ledger
from telemetry.samples import SampleBatch


def assert_accounted(ledger: Ledger, batches: Iterable[SampleBatch], *, nobodys: int = 0) -> None:
    """That a collector that emitted ``batches`` received them and what it dropped, and nothing else.

    nobodys: samples that it dropped without knowing of which target they were.
    """
    emitted: dict[str, int] = defaultdict(int)
    for batch in batches:
        emitted[batch.table.target] += len(batch)
    assert ledger.samples_in == sum(emitted.values()) + ledger.drops.total()
    accounts = {target: ledger.account(target) for target in emitted}
    found = {target: one.received - sum(one.dropped.values()) for target, one in accounts.items()}
    assert found == dict(emitted)
    of_targets = sum(sum(one.dropped.values()) for one in accounts.values())
    assert ledger.drops.total() - of_targets == nobodys
