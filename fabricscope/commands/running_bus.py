"""The bus of a Fabricscope that runs, for a command that talks to it for a moment."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bus.base import Bus
from bus.config import BusConfig
from bus.open import open_bus
from common.errors import ConfigError


def require_bus(config: BusConfig) -> None:
    """ConfigError where an embedded bus would have to be made: nobody reads it."""
    if config.kind == "embedded" and not config.embedded.path.exists():
        raise ConfigError(f"no bus at {config.embedded.path}: expected the --config of a Fabricscope that runs")


@asynccontextmanager
async def running_bus(config: BusConfig) -> AsyncIterator[Bus]:
    """Started, and stopped at the end; see ``require_bus``."""
    require_bus(config)
    bus = open_bus(config)
    await bus.start()
    try:
        yield bus
    finally:
        await bus.stop()
