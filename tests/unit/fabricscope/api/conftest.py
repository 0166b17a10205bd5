"""An API over a real bus."""

from collections.abc import AsyncIterator

import pytest

from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService


@pytest.fixture
async def api(bus) -> AsyncIterator[ApiService]:
    service = ApiService(ApiConfig(port=0), bus)
    await service.start()
    yield service
    await service.stop()
