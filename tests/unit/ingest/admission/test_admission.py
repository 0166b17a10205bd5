"""What is measured, and whether collections begin by it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ingest.admission.admission import Admission
from ingest.admission.cpu_shortage import CpuShortage
from ingest.admission.gate import Gate
from ingest.admission.line import Priority
from ingest.admission.memory import MemoryUse
from ingest.admission.reasons import SkipReason
from ingest.config import SchedulerConfig
from ingest.scheduler import Scheduler


@pytest.mark.parametrize(
    ("share", "unpublished_s", "refusal"),
    [
        (0.9, 0.5, SkipReason.CPU),
        (0.9, 0.3, None),
        (0.1, 60.0, None),  # the bus is away, or slow: that is what the spool is for
    ],
)
async def test_what_waits_to_be_published_counts_while_cpu_is_short(
    tmp_path: Path, share: float, unpublished_s: float, refusal: SkipReason | None
) -> None:
    gate, cpu = Gate(SchedulerConfig()), CpuShortage(tmp_path)
    cpu.share = share
    scheduler = Scheduler(gate, lambda _: None, lambda: 0)
    with ThreadPoolExecutor(1) as workers:
        Admission(gate, scheduler, workers, MemoryUse(None, tmp_path, tmp_path), cpu, lambda: unpublished_s)
        assert gate.refusal(Priority.NORMAL, healthy=True, running=0, running_all=0) is refusal
