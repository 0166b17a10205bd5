"""What tests of every stage begin with: a bus, and a stage that can be replaced."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

import pytest

from bus.base import Bus
from bus.config import EmbeddedConfig
from bus.embedded.bus import EmbeddedBus


class Stage(Protocol):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


S = TypeVar("S", bound=Stage)


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Bus]:
    """An embedded bus in ``tmp_path / "bus.sqlite"``, started."""
    opened = EmbeddedBus(EmbeddedConfig(path=tmp_path / "bus.sqlite"))
    await opened.start()
    yield opened
    await opened.stop()


@pytest.fixture
async def replace() -> AsyncIterator[Callable[[S], Awaitable[S]]]:
    """Starts a stage after it stopped the one before, as a restart does; the last is stopped at the end."""
    running: list[Stage] = []

    async def start(stage: S) -> S:
        while running:
            await running.pop().stop()
        await stage.start()
        running.append(stage)
        return stage

    yield start
    for stage in running:
        await stage.stop()
