"""Records that the bus has lost: analytics says so, leaves them out and goes on."""

from pathlib import Path

from structlog.testing import capture_logs

from analytics.config import AnalyticsConfig
from analytics.service import AnalyticsService
from bus.base import Bus
from bus.partitions import partition_of
from telemetry import topics
from tests.unit.analytics.small_cluster import CONFIG, batch, port_key, table
from tests.unit.lost_records import lose
from tests.unit.traffic import publish_batches
from tests.waiting import until

LEAF = table("leaf1", [port_key("fabric_port_up")])
PARTITION = partition_of(b"leaf1", topics.SAMPLES.partitions)


async def test_lost_records_are_reported_and_the_rest_is_processed(bus: Bus, tmp_path: Path) -> None:
    for seqs in (range(2), range(2, 5), range(5, 9)):  # a row of the log each
        await publish_batches(bus, *(batch(LEAF, seq, [1.0]) for seq in seqs))
    lose(tmp_path / "bus.sqlite", topics.SAMPLES, 1, PARTITION)
    service = AnalyticsService(AnalyticsConfig(engine=CONFIG, state_dir=tmp_path / "state"), bus)
    with capture_logs() as logged:
        await service.start()
        await until(lambda: service.worker.report(0).samples_in == 6)
        await service.stop()
    assert service.worker.gaps == 1
    (warning,) = [line for line in logged if line["event"] == "gap on the bus"]
    assert (warning["topic"], warning["first"], warning["last"]) == (topics.SAMPLES.name, 2, 4)
    assert service.worker.report(0).balance == 0
