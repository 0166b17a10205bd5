"""Blocking calls off the event loop, one after the other."""

import asyncio
import threading

import pytest

from common.threads import OneThread


async def test_calls_run_elsewhere_in_the_order_they_were_asked_for():
    thread, begun, release = OneThread("test-thread"), threading.Event(), threading.Event()
    order: list[int] = []

    def first() -> str:
        begun.set()
        release.wait()
        order.append(1)
        return threading.current_thread().name

    one, two = asyncio.ensure_future(thread(first)), asyncio.ensure_future(thread(order.append, 2))
    await asyncio.to_thread(begun.wait)
    assert order == []
    release.set()
    assert (await one).startswith("test-thread")
    await two
    assert order == [1, 2]
    thread.stop()


async def test_errors_arrive_and_the_thread_goes_on():
    thread = OneThread("test-thread")
    with pytest.raises(ZeroDivisionError):
        await thread(divmod, 1, 0)
    assert await thread(divmod, 7, 2) == (3, 1)
    thread.stop()


async def test_it_is_idle_when_no_call_runs_or_waits_also_after_one_that_was_given_up():
    thread, begun, release = OneThread("test-thread"), threading.Event(), threading.Event()
    assert thread.is_idle

    def slow() -> None:
        begun.set()
        release.wait()

    running, waiting = asyncio.ensure_future(thread(slow)), asyncio.ensure_future(thread(print))
    await asyncio.to_thread(begun.wait)
    assert not thread.is_idle
    for each in (waiting, running):
        each.cancel()
        await asyncio.wait([each])
        assert not thread.is_idle, "the first one runs on"
    release.set()
    thread.stop()
    assert thread.is_idle


async def test_stop_waits_for_the_call_in_progress_and_drops_those_behind_it():
    thread, begun, release, ended = OneThread("test-thread"), threading.Event(), threading.Event(), list[str]()

    def slow() -> None:
        begun.set()
        release.wait()
        ended.append("slow")

    running, waiting = asyncio.ensure_future(thread(slow)), asyncio.ensure_future(thread(ended.append, "waiting"))
    await asyncio.to_thread(begun.wait)
    stopping = asyncio.create_task(asyncio.to_thread(thread.stop))
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not stopping.done()
    release.set()
    await stopping
    await running
    assert ended == ["slow"]
    thread.stop()
