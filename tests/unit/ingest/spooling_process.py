"""An ingest process as far as its publisher has a disk, and a bus that takes nothing."""

import asyncio
from pathlib import Path
from typing import Any

from common.units import NS_PER_S
from ingest.config import PublishConfig
from ingest.ledger import Counts, Ledger
from ingest.publish import Publisher
from ingest.spool.record import Amount
from ingest.spool.state_file import Position, State, StateFile
from telemetry.ledger import TargetAccount
from tests.unit.ingest.flaky_bus import FlakyBus, batch, feed


class Process:
    """What one ingest process has of this: a ledger and a publisher. Event time stands still unless moved."""

    def __init__(
        self, folder: Path, bus: FlakyBus, messages_max: int = 1000, *, short_of_cpu: bool = False, **settings: Any
    ) -> None:
        self.folder, self.bus, self.ledger, self.now_ns = folder, bus, Ledger(7), 1000 * NS_PER_S
        disk = {"folder": folder, "after_s": 0.01, "free_bytes_min": 0, **settings}
        config = PublishConfig.model_validate({"spool": disk, "linger_s": 0, "messages_max": messages_max})
        self.publisher = Publisher(config, bus, self.ledger, lambda: self.now_ns, lambda: short_of_cpu)

    def feed(self, *sequences: int) -> None:
        feed(self.publisher, self.ledger, [batch(seq) for seq in sequences])

    @property
    def balance(self) -> int:
        """Of the process, and of the account of its target."""
        return abs(self.ledger.report("i", 0, self.publisher.queued, {}).balance) + self.ledger.unaccounted

    @property
    def account(self) -> TargetAccount:
        return self.ledger.account("job/a:1")

    def on_disk(self) -> int:
        """Samples that wait on the disk, by its own account."""
        return (state := self.saved()).written.samples - state.published.samples

    def saved(self) -> State:
        nothing = State(Position(0, 0), Amount(), Amount(), Counts(0, 0, 0, {}))
        return StateFile(self.folder, "").read() or nothing

    async def kill(self) -> None:
        """No flush, no save; what the thread was given it ends."""
        for task in self.publisher.tasks:
            task.cancel()
        await asyncio.wait(self.publisher.tasks)
        lock = self.publisher._spool._lock
        assert lock is not None
        lock.release()  # as the kernel does


def away() -> FlakyBus:
    bus = FlakyBus()
    bus.unavailable = True
    return bus
