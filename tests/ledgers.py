"""What every test that moves data asks of the ledger: each sample is accounted for, in total and by target."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from ingest.ledger import Ledger
from telemetry.samples import SampleBatch

Collect = Callable[[Any, int], Awaitable[SampleBatch]]


class Accounts:
    """What collectors emit during a test, and the ledgers that they write to."""

    def __init__(self) -> None:
        self._emitted: list[tuple[Ledger, SampleBatch]] = []

    def of(self, collect: Collect) -> Collect:
        """The same collection, remembered."""

        async def collecting(collector: Any, now_ns: int) -> SampleBatch:
            batch = await collect(collector, now_ns)
            self._emitted.append((collector._ledger, batch))
            return batch

        return collecting

    def close(self) -> None:
        """Asserts that all of it is accounted for."""
        for ledger in {id(ledger): ledger for ledger, _ in self._emitted}.values():
            assert_accounted(ledger, [batch for owner, batch in self._emitted if owner is ledger])


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
