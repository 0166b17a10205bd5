"""Samples that the bus has lost: the exporter says so and exports the others."""

import time

from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from bus.partitions import partition_of
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.stage import ExportStage
from telemetry import topics
from tests.unit.export.batch_factory import S, batch
from tests.unit.lost_records import lose
from tests.unit.traffic import publish_batches
from tests.waiting import until

GAPS = "fabricscope_export_gaps_total"


async def test_lost_samples_are_reported_and_the_others_arrive(bus, tmp_path, replace, prometheus):
    at_s = int(time.time()) - 60
    for seq in range(3):  # a row of the log each
        await publish_batches(bus, batch((at_s + 10 * seq) * S, seq=seq))
    lose(tmp_path / "bus.sqlite", topics.SAMPLES, 1, partition_of(b"node1", topics.SAMPLES.partitions))
    before = REGISTRY.get_sample_value(GAPS) or 0.0
    config = RemoteWriteConfig(url=prometheus.write_url, folder=tmp_path / "rw", batch_wait_s=0.05)
    with capture_logs() as logged:
        await replace(ExportStage([config], bus))
        await until(lambda: prometheus.query("count_over_time(up[5m]) == 2") != [])
    assert REGISTRY.get_sample_value(GAPS) == before + 1
    (error,) = [line for line in logged if line["event"].startswith("samples lost")]
    assert (error["first"], error["last"]) == (1, 1)
