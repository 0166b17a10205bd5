import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ingest.collectors.base import CollectorContext
from ingest.collectors.exposition.collector import ExpositionCollector
from ingest.collectors.nvml import activity
from ingest.collectors.value_collector import ValueCollector
from ingest.ledger import Ledger
from tests.conformance.collectors.http_target import Server, make
from tests.conformance.collectors.nvml_stand_in import StandIn, compiled
from tests.conformance.collectors.ras_server import Ras, serving
from tests.conformance.collectors.redfish_bench import Bench
from tests.ledgers import Accounts
from tests.servers.certificates import Certificates


@pytest.fixture(autouse=True)
def accounts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each sample of all collections of a test is delivered or dropped with a reason."""
    emitted = Accounts()
    for kind in (ExpositionCollector, ValueCollector):
        monkeypatch.setattr(kind, "collect", emitted.of(kind.collect))
    yield
    emitted.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    served = Server()
    listening = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.address = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield served
    listening.close()


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(0)


@pytest.fixture
async def ras() -> AsyncIterator[Ras]:
    async with serving() as served:
        yield served


@pytest.fixture
async def collector(server: Server, ledger: Ledger) -> AsyncIterator[ExpositionCollector]:
    made = make(server.address, ledger)
    yield made
    await made.stop()


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    """Of NVML."""
    return compiled(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def driver(library: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Of a host without GPUs yet, which is collected from each second."""
    library.load(monkeypatch)
    monkeypatch.setattr(activity, "monotonic", itertools.count(step=1.0).__next__)
    library.begin(0)
    return library


@pytest.fixture
def context(ledger: Ledger) -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(ledger, lambda: 7, workers)
    workers.shutdown()


@pytest.fixture
async def bench(certificates: Certificates, tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(certificates, tmp_path)
    yield made
    await made.stop()
