import asyncio
from collections.abc import AsyncIterator

import pytest

from ingest.collectors.exposition.collector import ExpositionCollector
from ingest.ledger import Ledger
from tests.conformance.collectors.http_target import Server, make


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
async def collector(server: Server, ledger: Ledger) -> AsyncIterator[ExpositionCollector]:
    made = make(server.address, ledger)
    yield made
    await made.stop()
