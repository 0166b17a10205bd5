"""The end of background work."""

import asyncio

import pytest

from common import tasks


async def test_cancel_waits_for_the_end_and_raises_nothing():
    ended: list[str] = []

    async def works() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("works")

    async def fails() -> None:
        raise ValueError("its error belongs to first_failure")

    background = [asyncio.create_task(works()), asyncio.create_task(fails())]
    with pytest.raises(ValueError, match="belongs to"):
        await tasks.first_failure(background)
    await tasks.cancel(background)
    assert ended == ["works"]
    await tasks.cancel([])


async def test_cancel_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(tasks, "STOP_S_MAX", 0.01)
    released = asyncio.Event()

    async def clings() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    clinging = asyncio.create_task(clings())
    await asyncio.sleep(0)
    await tasks.cancel([clinging])
    assert not clinging.done()
    released.set()
    await clinging
