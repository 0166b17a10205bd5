"""What ends analytics: a record is put aside, a tick is left out. All other samples are processed."""

from pathlib import Path
from typing import Any

import pytest

from analytics.config import AnalyticsConfig
from analytics.correlate.correlator import Correlator
from analytics.engine import Engine
from analytics.service import AnalyticsService
from bus.base import Bus, Message
from bus.deadletter import REASON
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from tests.unit.analytics.busy_cluster import batches
from tests.unit.analytics.small_cluster import CONFIG
from tests.unit.crashing import crash_on, crashes_until, dead_letters
from tests.unit.traffic import publish_batches

BATCHES = batches()
SAMPLES = sum(map(len, BATCHES))


class Starts:
    """Starts the stage in place of the one before."""

    def __init__(self, replace: Any, folder: Path, bus: Bus) -> None:
        self._replace, self._bus = replace, bus
        self._config = AnalyticsConfig(engine=CONFIG, state_dir=folder, records_max=7, snapshot_every_s=0.05)
        self.newest: AnalyticsService | None = None

    async def __call__(self) -> AnalyticsService:
        self.newest = await self._replace(AnalyticsService(self._config, self._bus))
        return self.newest

    def all_seen(self) -> bool:
        assert self.newest is not None
        report = self.newest.worker.report(0)
        return report.samples_in == SAMPLES and report.balance == 0


async def test_the_samples_of_the_other_records_are_processed(
    bus: Bus, tmp_path: Path, replace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_on(monkeypatch, BatchDecoder, "decode", lambda decoder, value, headers: value == b"poison")
    half = len(BATCHES) // 2
    await publish_batches(bus, *BATCHES[:half])
    await bus.publish(topics.SAMPLES, [Message(b"node0", b"poison")])
    await publish_batches(bus, *BATCHES[half:])
    starts = Starts(replace, tmp_path, bus)
    assert await crashes_until(starts, starts.all_seen) == 3
    assert starts.newest is not None
    assert "samples.v1" in (starts.newest.problem() or "")
    (letter,) = await dead_letters(bus)
    assert (letter.value, letter.headers[REASON]) == (b"poison", b"crashed")


async def test_a_tick_that_ends_it_twice_is_left_out_and_counted(
    bus: Bus, tmp_path: Path, replace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its batches came from the bus before, or from the snapshot: none of the records that are polled is to blame."""
    tick_ns = CONFIG.light_tick_ns
    bad_ns = (BATCHES[len(BATCHES) // 2].collection.collected_ns // tick_ns + 1) * tick_ns
    lost = sum(len(batch) for batch in BATCHES if (batch.collection.collected_ns // tick_ns + 1) * tick_ns == bad_ns)
    crash_on(monkeypatch, Engine, "_judge", lambda engine, end_ns, batches: end_ns == bad_ns)
    await publish_batches(bus, *BATCHES)
    starts = Starts(replace, tmp_path, bus)
    assert await crashes_until(starts, starts.all_seen) == 2
    assert starts.newest is not None
    assert starts.newest.worker.engine.counts.dropped == {"crashed": lost}
    assert f"tick {bad_ns} ended this stage repeatedly" in (starts.newest.problem() or "")
    assert await dead_letters(bus) == []


async def test_a_tick_whose_correlation_ends_it_twice_keeps_its_samples_and_findings(
    bus: Bus, tmp_path: Path, replace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick_ns = CONFIG.tick_ns
    bad_ns = (BATCHES[len(BATCHES) // 2].collection.collected_ns // tick_ns + 1) * tick_ns
    crash_on(monkeypatch, Correlator, "step", lambda correlator, now_ns, *rest: now_ns == bad_ns)
    await publish_batches(bus, *BATCHES)
    starts = Starts(replace, tmp_path, bus)

    def all_correlated() -> bool:
        assert starts.newest is not None
        return starts.all_seen() and starts.newest.worker.engine.ticks_uncorrelated == 0

    assert await crashes_until(starts, all_correlated) == 2
    assert starts.newest is not None
    assert starts.newest.worker.engine.counts.dropped == {}
    assert f"correlation {bad_ns} ended this stage repeatedly" in (starts.newest.problem() or "")
