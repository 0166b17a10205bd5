"""Pages that know devices by GUID, under the names that ibnetdiscover gives to links and counters."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import ValidationError

from ingest.collectors.base import CollectorContext, PollCollector
from ingest.collectors.exposition.collector import ExpositionCollector
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.discovery import TargetGroup, resolve
from ingest.collectors.infiniband.collector import infiniband_collectors
from ingest.collectors.infiniband.config import Config
from ingest.config import IngestConfig
from ingest.ledger import Ledger
from telemetry.samples import DownReason, SampleBatch
from tests.conformance.collectors.http_target import NOW_NS, Server
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES
from tests.servers.answers import respond

TOPOLOGY = (SAMPLES / "infiniband" / "ibnetdiscover__test.txt").read_text()
SWITCH, HOST, STRANGER = "0x7cfe9003009ce5b0", "0x7CFE9003003B4BDE", "0x1"
ROWS = "".join(f"{NOW_NS // 1000},{guid},{port},{port}\n" for guid in (SWITCH, HOST, STRANGER) for port in (1, 2))
PAGE = f"timestamp,Node_GUID,Port_Number,PortXmitWaitExtended\n{ROWS}".encode()
WAITS = "ib_port_transmit_wait_ticks_total"


class Fabric:
    """A file with what ibnetdiscover prints, the collector of it, and one of a page about the same fabric."""

    def __init__(self, server: Server, topology: Path, ledger: Ledger, **settings: object) -> None:
        self.server, self.topology, self.ledger = server, topology, ledger
        self.workers, self.batches = ThreadPoolExecutor(1), list[SampleBatch]()
        context = CollectorContext(ledger, lambda: NOW_NS, self.workers)
        fabric = Config.model_validate({"topology": {"file": topology}, "adapters": {"HCA-1": "mlx5_0"}})
        self.links: PollCollector = infiniband_collectors([fabric], context)[0]
        job = ScrapeConfig.model_validate(
            {"job_name": "ufm", "source": "ufm", "guids_from": "infiniband", "backoff_intervals_max": 1, **settings}
        )
        (target,) = resolve(job, [TargetGroup(targets=(server.address,))])
        self.page = ExpositionCollector(job, target, context)

    async def keys(self) -> set[str]:
        batch = await self.page.collect(NOW_NS)
        self.batches.append(batch)
        assert_accounted(self.ledger, self.batches)
        return {batch.table.keys[row] for row in batch.series.tolist()}


@pytest.fixture
async def fabric(server: Server, ledger: Ledger, tmp_path: Path) -> AsyncIterator[Fabric]:
    server.answer = respond(PAGE)
    made = Fabric(server, tmp_path / "ibnetdiscover", ledger, format="csv", metrics_path="/csv")
    yield made
    await made.page.stop()
    made.workers.shutdown()


def waits(device: str, port: str) -> str:
    return f'{WAITS}{{device="{device}",port="{port}"}}'


async def test_devices_have_the_names_of_the_links_and_strangers_their_guid(fabric: Fabric) -> None:
    fabric.topology.write_text(TOPOLOGY)
    expected = {
        *(waits("ib-i1l1s01", port) for port in ("1", "2")),
        waits("o0001", "mlx5_0"),
        waits("o0001", "mlx5_0/2"),
        *(waits(STRANGER, port) for port in ("1", "2")),
    }
    assert await fabric.keys() == expected, "read for the first page, before its own turn"
    facts = await fabric.links.collect(NOW_NS)
    assert not isinstance(facts, SampleBatch)
    ends = {fact.entity.key for fact in facts}  # type: ignore[union-attr]
    assert any("ib-i1l1s01" in end and "o0001/mlx5_0" in end for end in ends)


async def test_a_name_that_changes_is_followed(fabric: Fabric) -> None:
    fabric.topology.write_text(TOPOLOGY)
    assert waits("ib-i1l1s01", "1") in await fabric.keys()
    fabric.topology.write_text(TOPOLOGY.replace("ib-i1l1s01", "leaf1"))
    await fabric.links.collect(NOW_NS)
    found = await fabric.keys()
    assert waits("leaf1", "1") in found
    assert waits("ib-i1l1s01", "1") not in found
    fabric.topology.unlink()
    await fabric.links.collect(NOW_NS)
    assert await fabric.keys() == found, "the last names stay"


async def test_without_names_the_page_is_down_with_the_reason(fabric: Fabric) -> None:
    """A device must not be known by two names."""
    for text, reason in ((None, DownReason.REFUSED), ("nothing", DownReason.BAD_FORMAT)):
        if text is not None:
            fabric.topology.write_text(text)
        assert (await fabric.page.collect(NOW_NS)).collection.down is reason
    fabric.topology.write_text(TOPOLOGY)
    assert waits("ib-i1l1s01", "1") in await fabric.keys()


async def test_a_page_in_prometheus_format_has_the_names_too(server: Server, ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "topology").write_text(TOPOLOGY)
    server.answer = respond(
        f'infiniband_switch_port_transmit_wait_total{{guid="{SWITCH}",port="10"}} 7\n'
        f'infiniband_switch_info{{guid="{SWITCH}",switch="ib-i1l1s01",lid="1719"}} 1\n'.encode()
    )
    fabric = Fabric(server, tmp_path / "topology", ledger, source="infiniband_exporter")
    found = await fabric.keys()
    assert waits("ib-i1l1s01", "10") in found
    assert 'ib_device_info{device="ib-i1l1s01",lid="1719",name="ib-i1l1s01"}' in found
    await fabric.page.stop()
    fabric.workers.shutdown()


def test_settings_that_name_no_fabric_are_refused() -> None:
    job = {"job_name": "ufm", "source": "ufm", "guids_from": "absent"}
    with pytest.raises(ValidationError, match="ufm: guids_from: expected the name of infiniband_sources"):
        IngestConfig.model_validate({"scrape_configs": [job]})
    with pytest.raises(ValidationError, match="guids_from: expected a source that speaks for other devices"):
        ScrapeConfig.model_validate({**job, "source": "node_exporter"})
