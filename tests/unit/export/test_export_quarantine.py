"""A record that ends the exporter is put aside, and the samples of the others arrive."""

import time

from bus.base import Message
from bus.deadletter import OFFSET, PARTITION, REASON
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.converter import RecordConverter
from export.remote_write.stage import ExportStage
from telemetry import topics
from tests.unit.crashing import crash_on, crashes_until, dead_letters
from tests.unit.export.batch_factory import S, batch
from tests.unit.traffic import publish_batches


async def test_the_samples_of_the_others_arrive(bus, tmp_path, replace, prometheus, monkeypatch):
    def is_bad(converter, records) -> bool:
        return any(record.value == b"poison" for record in records)

    crash_on(monkeypatch, RecordConverter, "convert", is_bad)
    at_s = int(time.time()) - 60
    await publish_batches(bus, batch(at_s * S))
    await bus.publish(topics.SAMPLES, [Message(b"node1", b"poison")])
    await publish_batches(bus, batch((at_s + 10) * S, seq=1))
    config = RemoteWriteConfig(url=prometheus.write_url, folder=tmp_path / "rw", batch_wait_s=0.05)
    started: list[ExportStage] = []

    async def start() -> ExportStage:
        started.append(await replace(ExportStage([config], bus)))
        return started[-1]

    assert await crashes_until(start, lambda: prometheus.query("count_over_time(up[5m]) == 2") != []) == 3
    assert "samples.v1" in (started[-1].services[0].problem() or "")
    (letter,) = await dead_letters(bus)
    assert (letter.headers[REASON], letter.headers[OFFSET]) == (b"crashed", b"1")
    assert PARTITION in letter.headers
