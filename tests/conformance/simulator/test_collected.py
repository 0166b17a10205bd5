"""A number from model through server, protocol and collector to its canonical series: nothing is lost or renamed.

The reference is ``simulator.direct``, which reads the simulated cluster without any protocol.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext, CollectorOutput
from ingest.collectors.exposition.collector import ExpositionCollector
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.discovery import TargetGroup, resolve
from ingest.collectors.gnmi.collector import GnmiCollector
from ingest.collectors.gnmi.config import Config as GnmiConfig
from ingest.ledger import Ledger
from simulator.cluster import SimulatedCluster
from simulator.collection.config import CollectionConfig
from simulator.collection.presets import preset
from simulator.config import JobMix, SimulatorConfig
from simulator.direct import DirectCollector
from simulator.servers.collection.plan import CollectionPlan
from simulator.servers.config import ServeConfig
from simulator.servers.gnmi.server import Credentials
from simulator.servers.io_time import IoTimes
from simulator.servers.listeners import build_listeners
from simulator.servers.settings import collection
from simulator.servers.snapshot import Latest, copied
from telemetry.samples import SampleBatch
from telemetry.series import parse_series_key
from tests.waiting import DEADLINE_S

CONFIG = ServeConfig(
    cluster=SimulatorConfig(hosts=2, interval_s=2, jobs=JobMix(jobs=1)), address_offset=60 + os.getpid() % 180
)
# What a real source rounds: DCGM to whole degrees, percent and MiB, node_exporter's ethtool to whole percent, SONiC to
# four digits. Lustre's histogram keeps the time of operations only as well as its buckets allow.
WITHIN = {
    "gpu_temperature_celsius": 0.5,
    "gpu_memory_temperature_celsius": 0.5,
    "gpu_utilization_ratio": 0.005,
    "gpu_memory_copy_utilization_ratio": 0.005,
    "gpu_memory_used_bytes": 2**20,
    "gpu_memory_free_bytes": 2**20,
    "nic_pcie_stalled_ratio": 0.01,
    "fabric_port_bit_error_ratio": 1e-9,
    "fabric_transceiver_temperature_celsius": 1e-4,
    "fabric_transceiver_volts": 1e-4,
}
UNCHECKED = {"storage_operation_duration_seconds_sum"}


COLLECTIONS = (None, CollectionConfig(), preset("frames-only+no-ecn"))


@asynccontextmanager
async def served(cluster: SimulatedCluster, config: ServeConfig, start_ns: int) -> AsyncIterator[None]:
    """Serves the simulated cluster as it is now."""
    io_times = IoTimes(len(cluster.layout.targets))
    io_times.observe(cluster.readings.storage)
    latest = Latest(copied(cluster.readings))
    plan = CollectionPlan(config.collection, config.cluster, cluster.layout, start_ns) if config.collection else None
    groups = build_listeners(config, cluster.layout, latest, io_times, Credentials(), plan)
    servers = [server for group in groups.values() for server in group]
    try:
        for server in servers:
            await server.open()
        yield
    finally:
        await asyncio.gather(*(server.close() for server in servers))


class Collected:
    """The newest value of every series."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def add(self, output: CollectorOutput) -> None:
        if isinstance(output, SampleBatch):
            keys = output.table.keys
            for row, value in zip(output.series.tolist(), output.values.tolist(), strict=True):
                self.values[keys[row]] = value


def directly_read(cluster: SimulatedCluster) -> dict[str, float]:
    """Canonical samples without a protocol, except those by lane: how lanes are numbered is the platform's business."""
    found = Collected()
    for batch in DirectCollector(cluster).collect():
        found.add(batch)
    return {key: value for key, value in found.values.items() if "lane" not in parse_series_key(key)[1]}


async def scrape(settings: dict[str, object], found: Collected, start_ns: int, workers: ThreadPoolExecutor) -> None:
    # Whatever the machine does besides: each target is read once.
    job = ScrapeConfig.model_validate({**settings, "scrape_interval": "10m", "scrape_timeout": "10m"})
    for target in resolve(job, [TargetGroup(targets=one.targets, labels=one.labels) for one in job.static_configs]):
        collector = ExpositionCollector(job, target, CollectorContext(Ledger(0), lambda: start_ns, workers))
        found.add(await collector.collect(start_ns))
        await collector.stop()


@pytest.fixture
def start_ns() -> int:
    """Collectors take only times around now, and it may be hours since the suite began."""
    return time.time_ns() - 30 * NS_PER_S


@pytest.fixture
def cluster(start_ns: int) -> SimulatedCluster:
    """Half a minute of training."""
    running = SimulatedCluster(CONFIG.cluster, start_ns)
    running.advance(start_ns + 30 * NS_PER_S)
    return running


@pytest.mark.parametrize("how", COLLECTIONS, ids=["default", "planned", "less"])
async def test_every_number_of_the_cluster_arrives_under_its_canonical_name(
    cluster: SimulatedCluster, start_ns: int, tmp_path: Path, how: CollectionConfig | None
) -> None:
    config, absent = CONFIG.model_copy(update={"collection": how}), how.absent if how else ()
    directly = directly_read(cluster)
    expected = {key: value for key, value in directly.items() if parse_series_key(key)[0] not in absent}
    found = Collected()
    settings = collection(config, cluster.layout, tmp_path / "inventory.yaml")
    async with served(cluster, config, start_ns):
        with ThreadPoolExecutor(2) as workers:
            for job in settings["scrape_configs"]:
                await scrape(job, found, start_ns, workers)
        jobs = [GnmiConfig.model_validate(job) for job in settings["gnmi_configs"]]
        streams = [
            asyncio.create_task(GnmiCollector(job, target, Ledger(0)).run(found.add))
            for job in jobs
            for target in job.targets
        ]
        try:
            async with asyncio.timeout(DEADLINE_S):
                while not expected.keys() <= found.values.keys():  # noqa: ASYNC110  # collectors bring it
                    await asyncio.sleep(0.05)
        except TimeoutError:
            missing = sorted(expected.keys() - found.values.keys())
            pytest.fail(f"{len(missing)} series did not arrive, such as {missing[:5]}")
        finally:
            for stream in streams:
                stream.cancel()
            await asyncio.gather(*streams, return_exceptions=True)
    assert not {parse_series_key(key)[0] for key in found.values} & set(absent)
    wrong = {}
    for key, value in expected.items():
        metric = parse_series_key(key)[0]
        allowed = WITHIN.get(metric, 1.0 if metric.endswith(("_total", "_count")) else 0.0) + 1e-5 * abs(value)
        if metric not in UNCHECKED and abs(found.values[key] - value) > allowed:
            wrong[key] = (value, found.values[key])
    assert wrong == {}
    assert sum(value != 0 for value in expected.values()) > 1000
