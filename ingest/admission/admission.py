"""Measures what the process lacks, opens and closes the gate by it, and reports it."""

from collections.abc import Callable
from concurrent.futures import Executor

from ingest.admission.cpu_shortage import CpuShortage
from ingest.admission.gate import Gate
from ingest.admission.memory import MemoryUse
from ingest.admission.probe import WaitProbe
from ingest.admission.reasons import SkipReason
from ingest.metrics import (
    COLLECTIONS_RUNNING,
    COLLECTIONS_RUNNING_MAX,
    COLLECTIONS_WAITING,
    MEMORY_USED_RATIO,
    PAGE_BYTES,
    WAIT_SECONDS,
)
from ingest.scheduler import Scheduler


class Admission:
    """The gate of one scheduler.

    workers: the threads that decode pages. unpublished_s: how long the oldest of what was collected has waited in
    memory for the bus; this is work that waits for the process only while it is short of CPU.
    """

    def __init__(
        self,
        gate: Gate,
        scheduler: Scheduler,
        workers: Executor,
        memory: MemoryUse,
        cpu: CpuShortage,
        unpublished_s: Callable[[], float],
    ) -> None:
        self._memory, self._cpu, self._unpublished_s = memory, cpu, unpublished_s
        self._gate, self._scheduler = gate, scheduler
        self._probe = WaitProbe(workers, self._waited)
        gate.overdue_s, gate.memory = self._overdue_s, memory.read()

    async def run(self) -> None:
        """Until cancelled."""
        await self._probe.run()

    def details(self) -> dict[str, float]:
        """For the stage's report."""
        used, allowed = self._gate.memory or (0, 0)
        skipped = {f"collections_skipped_{reason}": float(self._scheduler.skipped[reason]) for reason in SkipReason}
        return {
            "collections_running": float(self._scheduler.running),
            "collections_running_max": float(self._gate.limit.limit),
            "collections_waiting": float(self._scheduler.waiting),
            "cpu_wait_share": self._cpu.share,
            "page_bytes": float(self._gate.pages.held),
            "memory_used_bytes": float(used),
            "memory_allowed_bytes": float(allowed),
            **skipped,
        }

    def _overdue_s(self) -> float:
        return max(self._probe.overdue_s(), self._unpublished_s() if self._cpu.is_short() else 0.0)

    def _waited(self, wait_s: float) -> None:
        self._cpu.measure()
        wait_s = max(wait_s, self._overdue_s())
        self._gate.memory = self._memory.read()
        self._gate.limit.observe(wait_s, self._scheduler.busiest)
        self._scheduler.begin_waiting()
        WAIT_SECONDS.set(wait_s)
        COLLECTIONS_RUNNING.set(self._scheduler.running)
        COLLECTIONS_RUNNING_MAX.set(self._gate.limit.limit)
        COLLECTIONS_WAITING.set(self._scheduler.waiting)
        PAGE_BYTES.set(self._gate.pages.held)
        if self._gate.memory is not None:
            used, allowed = self._gate.memory
            MEMORY_USED_RATIO.set(used / allowed)
