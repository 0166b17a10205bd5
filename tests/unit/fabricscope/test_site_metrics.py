"""Metrics of the site's own, ``metrics`` in the settings: from a page to the bus, a real Prometheus and a recording."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bus.base import Bus
from export.remote_write.stage import ExportStage
from fabricscope.settings import load_settings
from ingest.service import IngestService
from recordings.manifest import Manifest
from recordings.reader import read_batches
from recordings.service import RecorderService
from telemetry import catalogue
from tests.servers.prometheus import Prometheus
from tests.waiting import DEADLINE_S

PAGE = b'vllm_waiting{model_name="llama"} 7000\nvllm_version{v="1"} 1\n'
SETTINGS = """\
metrics:
  - name: site_serving_wait_seconds
    kind: gauge
    unit: seconds
    labels: [model]
    help: How long requests wait.
    origins: [{source: ours, name: vllm_waiting, labels: {model: "{model_name}"}, scale: 0.001}]
scrape_configs:
  - job_name: serving
    source: ours
    scrape_interval: 200ms
    static_configs: [{targets: ["ADDRESS"], labels: {device: node1}}]
remote_write: [{url: "WRITE", folder: "FOLDER/rw", batch_wait_s: 0.05}]
recording: {path: "FOLDER/recording", slice_s: 0.2}
"""


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(PAGE), PAGE))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def test_they_are_collected_exported_and_recorded(
    bus: Bus, prometheus: Prometheus, address: str, tmp_path: Path
) -> None:
    file = tmp_path / "fabricscope.yaml"
    text = SETTINGS.replace("ADDRESS", address).replace("WRITE", prometheus.write_url)
    file.write_text(text.replace("FOLDER", str(tmp_path)))
    before = catalogue.defined()
    settings = load_settings(file)
    assert settings.recording is not None
    ingest, export = IngestService(settings.ingest, bus), ExportStage(list(settings.remote_write), bus)
    recorder = RecorderService(settings.recording, bus, Manifest(cluster=settings.general.cluster))
    found: list[dict[str, Any]] = []

    async def ask() -> bool:
        found[:] = await asyncio.to_thread(prometheus.query, "site_serving_wait_seconds")
        return bool(found) and recorder.samples_recorded > 0

    try:
        for stage in (recorder, export, ingest):
            await stage.start()
        async with asyncio.timeout(DEADLINE_S):
            while not await ask():  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    finally:
        for stage in (ingest, export, recorder):
            await stage.stop()
        catalogue.define(before)
    (series,) = found
    assert (series["metric"]["model"], series["metric"]["device"], series["value"][1]) == ("llama", "node1", "7")
    batches = [one.batch for one in read_batches(tmp_path / "recording")]
    assert {key for batch in batches for key in batch.table.keys} == {
        'site_serving_wait_seconds{device="node1",model="llama"}'
    }
    assert {value for batch in batches for value in batch.values.tolist()} == {7.0}
    assert ingest.report().balance == 0
