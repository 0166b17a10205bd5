"""Both buses, as they are by default. A suite that needs other settings has a ``config`` of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bus.base import Bus
from bus.config import BusConfig, EmbeddedConfig, KafkaConfig
from tests.conformance.bus.reading import running


@pytest.fixture(params=["embedded", "kafka"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> BusConfig:
    if request.param == "embedded":
        return BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite"))
    broker = request.getfixturevalue("kafka")
    return BusConfig(kind="kafka", kafka=KafkaConfig(bootstrap=(broker.address,)))


@pytest.fixture
async def bus(config: BusConfig) -> AsyncIterator[Bus]:
    async with running(config) as bus:
        yield bus
