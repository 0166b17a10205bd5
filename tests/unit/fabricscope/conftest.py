"""An API over a real bus, for whatever asks one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    """Where the API of ``api`` keeps its tokens and its audit log."""
    return tmp_path / "api"


@pytest.fixture
async def api(bus, state_dir) -> AsyncIterator[ApiService]:
    """On loopback, where everybody may read. Any number of changes: what is limited has its own tests."""
    service = ApiService(ApiConfig(port=0, state_dir=state_dir, changes_per_minute=10_000), bus)
    await service.start()
    yield service
    await service.stop()
