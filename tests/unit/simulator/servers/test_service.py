"""The whole simulator on its addresses: the model, real clients, faults over the control port."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from common.errors import ConfigError
from common.units import NS_PER_S
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.gnmi.config import Config as GnmiConfig
from ingest.collectors.inventory.parse import parse_inventory
from ingest.collectors.slurm.config import Config as SlurmConfig
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import parse_fault
from simulator.layout import Layout, topology_facts
from simulator.servers.config import ServeConfig, Unreachable
from simulator.servers.service import SimulatorService
from telemetry.topology import Gpu, Link, Mount, StorageTarget
from tests.unit.simulator.servers.pages.test_pages import values
from tests.waiting import DEADLINE_S, until

CLUSTER = SimulatorConfig(hosts=4, interval_s=2, jobs=JobMix(jobs=1))
OFFSET = 60 + os.getpid() % 180  # test runs side by side keep out of each other's way


@asynccontextmanager
async def simulated(**settings: Any) -> AsyncIterator[SimulatorService]:
    service = SimulatorService(ServeConfig(cluster=CLUSTER, address_offset=OFFSET, step_s=0.05, **settings))
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=DEADLINE_S)) as session:
        yield session


def exporter(host: int, port: int) -> str:
    return f"http://127.1.{OFFSET}.{host}:{port}/metrics"


async def text(http: aiohttp.ClientSession, url: str) -> str:
    async with http.get(url) as answer:
        assert answer.status == 200
        return await answer.text()


async def control(http: aiohttp.ClientSession, service: SimulatorService, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await text(http, f"{service.control_url}/{path}"))
    return found


async def break_it(http: aiohttp.ClientSession, service: SimulatorService, **fault: str) -> None:
    async with http.post(f"{service.control_url}/faults", json=fault) as answer:
        assert answer.status == 200, await answer.text()


async def refused(http: aiohttp.ClientSession, url: str) -> bool:
    try:
        await text(http, url)
    except aiohttp.ClientConnectorError:
        return True
    except aiohttp.ClientConnectionError:
        return False  # the connection that was open broke; the next one decides
    return False


async def test_counters_only_grow_and_gauges_move(http: aiohttp.ClientSession) -> None:
    async with simulated(speed=20) as service:
        pages = [values(await text(http, exporter(1, 9100)))]
        start = (await control(http, service, "clock"))["now_ns"]

        async def ten_seconds_on() -> bool:
            now: int = (await control(http, service, "clock"))["now_ns"]
            return bool(now > start + 10 * NS_PER_S)

        await until(ten_seconds_on)
        pages.append(values(await text(http, exporter(1, 9100))))
    assert pages[0].keys() == pages[1].keys()
    counters = [key for key in pages[0] if key[0].endswith("_total")]
    assert all(pages[1][key] >= pages[0][key] for key in counters)
    assert any(pages[1][key] > pages[0][key] for key in counters)


async def test_pages_carry_simulated_time_only_when_it_runs_fast(http: aiohttp.ClientSession) -> None:
    async with simulated() as service:
        plain = await text(http, exporter(2, 9400))
        assert (await control(http, service, "clock"))["speed"] == 1.0
    async with simulated(speed=10, start_ns=1_700_000_000 * NS_PER_S):
        stamped = await text(http, exporter(2, 9400))
    line = next(line for line in plain.splitlines() if line.startswith("DCGM_FI_DEV_GPU_TEMP"))
    assert len(line.rpartition("} ")[2].split()) == 1
    line = next(line for line in stamped.splitlines() if line.startswith("DCGM_FI_DEV_GPU_TEMP"))
    assert 1_700_000_000_000 <= int(line.split()[-1]) < 1_700_001_000_000


async def test_gzip_is_sent_to_who_asks_for_it(http: aiohttp.ClientSession) -> None:
    async with simulated():
        raw = {"Accept-Encoding": "gzip"}
        async with http.get(exporter(1, 9400), headers=raw) as packed:
            assert packed.headers["Content-Encoding"] == "gzip"
            assert (await packed.text()).startswith("# HELP DCGM_FI_DEV_SM_CLOCK")
        async with http.get(exporter(1, 9400), headers={"Accept-Encoding": "identity"}) as plain:
            assert "Content-Encoding" not in plain.headers
            assert plain.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        async with http.get(exporter(1, 9400).removesuffix("/metrics") + "/other") as absent:
            assert absent.status == 404


async def test_a_fault_over_the_control_port_is_in_the_truth_and_on_the_pages(
    http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    truth_file = tmp_path / "truth.jsonl"
    async with simulated(truth_file=truth_file) as service:
        uuid = service.layout.gpus[3].uuid
        assert uuid in await text(http, exporter(1, 9400))
        await break_it(http, service, fault="xid", target="node1/3")

        async def gone() -> bool:
            return uuid not in await text(http, exporter(1, 9400))

        await until(gone)
        (truth,) = (await control(http, service, "truth"))["truth"]
        assert (truth["fault"], truth["root"]) == ("xid", f"gpu:node1/{uuid}")
        assert json.loads(truth_file.read_text()) == truth


async def test_scheduled_faults_happen(http: aiohttp.ClientSession) -> None:
    faults = (parse_fault("xid@0.1s:node2/1"), parse_fault("link-down@0.1s"))
    async with simulated(faults=faults) as service:

        async def both() -> bool:
            return len((await control(http, service, "truth"))["truth"]) == 2

        await until(both)


async def test_a_host_without_power_refuses_and_the_others_answer(http: aiohttp.ClientSession) -> None:
    async with simulated() as service:
        rack = service.layout.devices[service.layout.device_index["node1"]].rack
        await text(http, exporter(1, 9100))
        await break_it(http, service, fault="rack-power-loss", target=rack)
        await until(lambda: refused(http, exporter(1, 9100)))
        assert (await control(http, service, "state"))["devices"]["node1"] is False
        assert json.loads(await text(http, f"http://127.4.{OFFSET}.1:6820/slurm/v0.0.41/jobs"))["errors"] == []


async def test_a_host_without_power_hangs_when_that_is_wanted(http: aiohttp.ClientSession) -> None:
    async with simulated(unreachable=Unreachable.HANG) as service:
        rack = service.layout.devices[service.layout.device_index["node1"]].rack
        await break_it(http, service, fault="rack-power-loss", target=rack)

        async def hangs() -> bool:
            try:
                async with asyncio.timeout(0.5):
                    await text(http, exporter(1, 9100))
            except TimeoutError:
                return True
            return False

        await until(hangs)


async def test_a_frozen_exporter_repeats_its_page(http: aiohttp.ClientSession) -> None:
    async with simulated(speed=5) as service:
        await break_it(http, service, fault="exporter-frozen", target="node/node2")

        async def frozen() -> bool:
            return bool((await control(http, service, "state"))["frozen"])

        await until(frozen)
        (name,) = (await control(http, service, "state"))["frozen"]
        exporter_name, _, device = name.partition("/")
        port = {"node": 9100, "dcgm": 9400}[exporter_name]
        host = service.layout.hosts.index(device) + 1
        first = values(await text(http, exporter(host, port)))
        other = values(await text(http, exporter(host % 4 + 1, port)))

        async def others_moved() -> bool:
            return values(await text(http, exporter(host % 4 + 1, port))) != other

        await until(others_moved)
        assert values(await text(http, exporter(host, port))) == first


async def test_wrong_faults_are_refused_and_the_cluster_goes_on(http: aiohttp.ClientSession) -> None:
    async with simulated() as service:
        for wrong in (
            {"fault": "nonsense"},
            {"fault": "xid", "at": "soon"},
            {"fault": "xid", "target": "node99/0"},
            {"x": "y"},
        ):
            async with http.post(f"{service.control_url}/faults", json=wrong) as answer:
                assert answer.status == 400, wrong
                assert (await answer.json())["error"]
        before = (await control(http, service, "clock"))["now_ns"]

        async def moves_on() -> bool:
            now: int = (await control(http, service, "clock"))["now_ns"]
            return bool(now > before)

        await until(moves_on)
        assert (await control(http, service, "truth"))["truth"] == []


async def test_a_taken_address_is_a_configuration_error() -> None:
    async with simulated():
        with pytest.raises(ConfigError, match="address_offset"):
            await SimulatorService(ServeConfig(cluster=CLUSTER, address_offset=OFFSET)).start()


async def test_stop_is_safe_before_start_and_twice() -> None:
    service = SimulatorService(ServeConfig(cluster=CLUSTER, address_offset=OFFSET))
    await service.stop()
    await service.start()
    await service.stop()
    await service.stop()


async def written_settings(path: Path) -> Layout:
    async with simulated() as service:
        service.write_config(path)
        return service.layout


def test_the_settings_that_it_writes_are_what_the_collectors_take(tmp_path: Path) -> None:
    layout = asyncio.run(written_settings(tmp_path / "fabricscope.yaml"))
    ingest = yaml.safe_load((tmp_path / "fabricscope.yaml").read_text())
    scrapes = [ScrapeConfig(**job) for job in ingest["scrape_configs"]]
    assert [(job.source, len(job.static_configs)) for job in scrapes] == [
        ("dcgm", 4),
        ("node_exporter", 4),
        ("lustre", len(layout.servers) + 4),
    ]
    switches = [target.device for job in ingest["gnmi_configs"] for target in GnmiConfig(**job).targets]
    assert sorted(switches) == sorted(layout.switches)
    assert SlurmConfig(**ingest["job_sources"][0]).url.endswith(":6820/slurm/v0.0.41/jobs")
    inventory = Path(ingest["inventory"]["file"])
    found = parse_inventory(inventory.read_text(), str(inventory))
    expected = {fact.entity.key: fact.entity for fact in topology_facts(layout, 0) if not isinstance(fact.entity, Link)}
    assert found == expected
    assert {Gpu, Mount, StorageTarget} <= {type(entity) for entity in found.values()}
