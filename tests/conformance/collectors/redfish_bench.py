"""A management controller of a test, and collectors of it."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from ingest.collectors.base import CollectorContext
from ingest.collectors.redfish.collector import RedfishCollector, redfish_collectors
from ingest.collectors.redfish.config import Config
from ingest.ledger import Ledger
from telemetry.samples import DownReason, SampleBatch
from tests.servers import redfish
from tests.servers.certificates import Certificates
from tests.servers.redfish import PASSWORD, USER, Controller

NOW_NS = 1_760_000_000 * 10**9
FAST = {"requests_per_s": 10_000}


class Bench:
    """One controller, and collectors of it."""

    def __init__(self, certificates: Certificates, folder: Path) -> None:
        self.certificates, self.ledger = certificates, Ledger(0)
        self.controller = Controller({})
        self._collectors: list[RedfishCollector] = []
        self._stack = AsyncExitStack()
        self.password = folder / "password"
        self.password.write_text(PASSWORD)

    async def serve(self, tree: redfish.Tree, needs: str = "") -> Controller:
        self.controller = Controller(tree, needs)
        await self._stack.enter_async_context(redfish.serve(self.controller, self.certificates))
        return self.controller

    def collector(self, **settings: Any) -> RedfishCollector:
        given = {
            "targets": [{"address": self.controller.address, "device": "node1"}],
            "tls_config": {"ca_file": str(self.certificates.authority)},
            "limits": FAST,
            **settings,
        }
        context = CollectorContext(self.ledger, lambda: NOW_NS, None)  # type: ignore[arg-type]  # no thread is used
        (made,) = redfish_collectors([Config.model_validate(given)], context)
        self._collectors.append(made)
        return made

    @property
    def user(self) -> dict[str, str]:
        return {"username": USER, "password_file": str(self.password)}

    async def stop(self) -> None:
        for collector in self._collectors:
            await collector.stop()
        await self._stack.aclose()


def values(batch: object) -> dict[str, float]:
    assert isinstance(batch, SampleBatch)
    return dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))


def down(batch: object) -> DownReason | None:
    assert isinstance(batch, SampleBatch)
    return batch.collection.down
