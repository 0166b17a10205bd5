"""The whole stage on a real bus: scrapes and inventory in, batches, facts and a balanced ledger out."""

import asyncio
import itertools
from pathlib import Path

import pytest

from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from common.errors import ConfigError
from ingest.config import IngestConfig
from ingest.service import IngestService
from telemetry import topics
from telemetry.codec.account import account_of
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.ledger import SERIES_REFUSED, StageReport, TargetAccount
from telemetry.samples import DownReason, SampleBatch
from telemetry.topology import TargetList, Topology, TopologyFact
from tests.waiting import until

BODY = b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1"} 300\nDCGM_FI_DEV_POWER_USAGE{UUID="GPU-2"} NaN\n'


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def config(*targets: str, **more: object) -> IngestConfig:
    job = {
        "job_name": "gpu",
        "source": "dcgm",
        "scrape_interval": "1s",
        "static_configs": [{"targets": [target], "labels": {"device": f"node{i}"}} for i, target in enumerate(targets)],
    }
    return IngestConfig.model_validate({"scrape_configs": [job], "report_interval_s": 0.1, **more})


async def test_targets_reach_the_bus_and_the_ledger_is_even(tmp_path: Path) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    alive = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    await bus.start()
    service = IngestService(config(alive, "127.0.0.1:1"), bus)
    await service.start()
    reader = bus.consume([topics.SAMPLES, topics.LEDGER], {})
    batches: list[SampleBatch] = []
    reports: list[StageReport] = []
    accounts: dict[str, TargetAccount] = {}
    decoder = BatchDecoder()

    async def read() -> None:
        for record in await reader.poll(wait_s=0.05):
            if record.topic == topics.LEDGER.name:
                reports.append(decode_record(record.value or b"", StageReport))
            else:
                assert record.key.startswith(b"node")
                batches.append(decoder.decode(record.value or b"", record.headers))
                account = account_of(record.headers)
                assert account is not None
                assert account.balance == 0
                accounts[batches[-1].table.target] = account

    async def enough() -> bool:
        await read()
        return len({batch.collection.seq for batch in batches if batch.collection.up}) >= 3 and len(reports) >= 2

    await until(enough)
    await service.stop()
    await service.stop()

    async def at_end() -> bool:
        await read()
        return await reader.at_end()

    await until(at_end)
    await reader.stop()
    await bus.stop()
    server.close()
    assert {batch.collection.down for batch in batches if batch.table.device == "node1"} == {DownReason.REFUSED}
    up = [batch for batch in batches if batch.table.device == "node0"]
    assert [batch.collection.seq for batch in up] == list(range(len(up)))
    assert {batch.table.keys for batch in up} == {
        (
            'gpu_info{device="node0",gpu="GPU-1"}',
            'gpu_power_watts{device="node0",gpu="GPU-1"}',
            'gpu_info{device="node0",gpu="GPU-2"}',
            'gpu_power_watts{device="node0",gpu="GPU-2"}',
        )
    }
    assert all(report.balance == 0 for report in reports)
    last = reports[-1]
    assert (last.held, last.samples_out) == (0, sum(map(len, batches)))
    assert last.dropped == {"no_value": len(up)}
    of_target = accounts[f"gpu/{alive}"]
    assert (of_target.received, of_target.dropped) == (last.samples_in, last.dropped)
    assert of_target.delivered + of_target.held == last.samples_out
    assert of_target.held >= len(up[-1]), "a record is on its way when its account is taken"
    assert accounts["gpu/127.0.0.1:1"].received == 0
    assert (last.details["spooled_bytes"], last.details["spool_unwritable"]) == (0.0, 0.0)


async def test_the_targets_of_every_job_are_on_the_bus_and_so_is_what_leaves(tmp_path: Path) -> None:
    file = tmp_path / "targets.json"
    file.write_text('[{"targets": ["127.0.0.1:1", "127.0.0.1:2"], "labels": {"device": "node1"}}]')
    discovered = {
        "job_name": "node",
        "source": "node_exporter",
        "file_sd_configs": [{"files": [str(file)], "refresh_interval": "50ms"}],
    }
    gnmi = {
        "job_name": "switches",
        "targets": [{"address": "127.0.0.1:3", "device": "leaf1"}],
        "tls": {"insecure": True},
    }
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    await bus.start()
    sections = {"scrape_configs": [discovered], "gnmi_configs": [gnmi]}
    service = IngestService(IngestConfig.model_validate(sections), bus, clock=itertools.count(1).__next__)
    await service.start()
    reader = bus.consume([topics.TOPOLOGY], {})
    facts: list[TopologyFact] = []

    async def names(count: int) -> bool:
        records = await reader.poll(wait_s=0.05)
        facts.extend(decode_record(record.value or b"", TopologyFact) for record in records)
        return Topology().with_facts(facts).targets.keys() >= known and len(facts) == count

    known = {"node/127.0.0.1:1", "node/127.0.0.1:2", "switches/127.0.0.1:3"}
    await until(lambda: names(2))
    file.write_text('[{"targets": ["127.0.0.1:2"], "labels": {"device": "node1"}}]')
    known = {"node/127.0.0.1:2"}
    await until(lambda: names(3))
    await reader.stop()
    await service.stop()
    await bus.stop()
    assert facts[-1].entity == TargetList("ingest-0", "node", ("node", "switches"), (("node/127.0.0.1:2", "node1"),))
    assert facts[-1].source == "ingest/ingest-0"


async def test_a_target_with_ever_new_series_is_cut_and_others_are_not(tmp_path: Path) -> None:
    scrapes = itertools.count()

    async def serve_new(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-%d-%d"} 300\n'
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                scrape = next(scrapes)
                body = b"".join(line % (scrape, number) for number in range(100))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    servers = [await asyncio.start_server(serving, "127.0.0.1", 0) for serving in (serve, serve_new)]
    addresses = [f"127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in servers]
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    await bus.start()
    service = IngestService(config(*addresses, new_series_per_hour=50), bus)
    await service.start()
    reader, decoder = bus.consume([topics.SAMPLES], {}), BatchDecoder()
    batches: dict[str, list[SampleBatch]] = {"node0": [], "node1": []}

    async def enough() -> bool:
        for record in await reader.poll(wait_s=0.05):
            batch = decoder.decode(record.value or b"", record.headers)
            batches[batch.table.device].append(batch)
        return min(map(len, batches.values())) >= 5

    await until(enough)
    await service.stop()
    report = service.report()
    await reader.stop()
    await bus.stop()
    for server in servers:
        server.close()
    assert {(batch.collection.down, len(batch)) for batch in batches["node0"]} == {(None, 3)}
    first, *others = batches["node1"]
    assert len(first) == 50
    assert sum(map(len, others)) < 50  # of hundreds; fifty more need an hour
    assert report.dropped["new_series"] > 0
    assert report.balance == 0
    assert report.details["targets_over_series_budget"] == 1.0
    ((name, refused),) = [each for each in report.details.items() if each[0].startswith(SERIES_REFUSED)]
    assert (name, refused > 50) == (SERIES_REFUSED + first.table.target, True)


async def test_a_missing_secret_stops_the_start(tmp_path: Path) -> None:
    job = {"job_name": "a", "source": "dcgm", "authorization": {"credentials_file": str(tmp_path / "none")}}
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    service = IngestService(IngestConfig.model_validate({"scrape_configs": [job]}), bus)
    with pytest.raises(ConfigError, match=r"scrape_configs: a: authorization\.credentials_file: .* is not a readable"):
        await service.start()
    await service.stop()


async def test_targets_of_a_file_come_and_go(tmp_path: Path) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    alive = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    file = tmp_path / "targets.yml"
    file.write_text("[]")
    job = {
        "job_name": "gpu",
        "source": "dcgm",
        "scrape_interval": "1s",
        "file_sd_configs": [{"files": [str(file)], "refresh_interval": "50ms"}],
    }
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    await bus.start()
    service = IngestService(IngestConfig.model_validate({"scrape_configs": [job]}), bus)
    await service.start()

    async def targets(expected: tuple[float, float]) -> bool:
        details = service.report().details
        return (details["targets"], details["targets_up"]) == expected

    file.write_text(f"- targets: ['{alive}']\n")
    await until(lambda: targets((1.0, 1.0)))
    file.write_text("[]")
    await until(lambda: targets((0.0, 0.0)))
    await service.stop()
    await bus.stop()
    server.close()
