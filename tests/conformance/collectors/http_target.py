"""A target over HTTP that answers as a test says, and a collector of it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext
from ingest.collectors.exposition.collector import ExpositionCollector
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.discovery import TargetGroup, resolve
from ingest.ledger import Ledger
from tests.samples import SAMPLES
from tests.servers.answers import Answer, respond

NOW_NS = 1_760_000_000 * NS_PER_S
BODY = (SAMPLES / "dcgm" / "exposition" / "t4_rafay_driver580.prom").read_bytes().rstrip(b"\n") + b"\n"


class Server:
    """Answers each request as ``answer`` says; counts connections and keeps the last request."""

    def __init__(self) -> None:
        self.answer: Answer = respond(BODY)
        self.connections = 0
        self.request = b""
        self.address = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while not writer.is_closing():
                self.request = await reader.readuntil(b"\r\n\r\n")
                await self.answer(writer)
                await writer.drain()
        writer.close()


def make(address: str, ledger: Ledger, **settings: object) -> ExpositionCollector:
    job = ScrapeConfig.model_validate(
        {"job_name": "gpu", "source": "dcgm", "scrape_interval": "10s", "scrape_timeout": "10s", **settings}
    )
    (target,) = resolve(job, [TargetGroup(targets=(address,), labels={"device": "node1"})])
    return ExpositionCollector(job, target, CollectorContext(ledger, lambda: 7, ThreadPoolExecutor(1)))
