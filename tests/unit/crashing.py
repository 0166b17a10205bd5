"""Records that end a stage, as a bug that nobody knows yet would."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import pytest

from bus.base import Bus, Record
from telemetry import topics
from tests.waiting import DEADLINE_S

CRASHES_MAX = 6  # more than it takes to find one record among many


class Stage(Protocol):
    async def wait(self) -> None: ...


class Bug(Exception):
    """Not one of the kinds of error that the stages handle."""


def crash_on(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, is_bad: Callable[..., bool]) -> None:
    """Lets ``owner.name`` raise where its arguments are bad; with others it works as it does."""
    original = getattr(owner, name)

    def buggy(*arguments: Any) -> Any:
        if is_bad(*arguments):
            raise Bug
        return original(*arguments)

    monkeypatch.setattr(owner, name, buggy)


async def crashes_until(start: Callable[[], Awaitable[Stage]], goes_on: Callable[[], Awaitable[bool] | bool]) -> int:
    """Starts the stage again each time it has ended; how often that was until it goes on."""
    for crashes in range(CRASHES_MAX):
        stage = await start()
        ended = asyncio.ensure_future(stage.wait())
        async with asyncio.timeout(DEADLINE_S):
            while not ended.done():
                held = goes_on()
                if held if isinstance(held, bool) else await held:
                    ended.cancel()
                    return crashes
                await asyncio.wait({ended}, timeout=0.02)
        with pytest.raises(Bug):
            await ended
    raise AssertionError(f"it ended {CRASHES_MAX} times")


async def dead_letters(bus: Bus) -> list[Record]:
    """All of them."""
    reader, found = bus.consume([topics.DEADLETTER], {}), list[Record]()
    try:
        while not await reader.at_end():
            found += await reader.poll(wait_s=0.1)
    finally:
        await reader.stop()
    return found
