"""How often a target is asked again whose streams end: real calls, and waits that are only counted."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from common.retry import backoff_s
from ingest.collectors.gnmi import stream as stream_module
from ingest.collectors.gnmi.stream import Stream, failures_after
from tests.conformance.collectors.gnmi_peer import SYNC, Requests, Responses, job, response, serving

ATTEMPTS = 12


class Waits:
    """In place of sleeping: keeps how long each wait would be, and ends after ``ATTEMPTS``."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.enough = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if len(self.seconds) == ATTEMPTS:
            self.enough.set()
            await asyncio.Event().wait()


async def waits_between_calls(calls: list[int], *, has_updates: bool = True) -> list[float]:
    """The waits after each of the first calls of a target that ends each stream after its first messages."""

    async def ending(requests: Requests, context: Any) -> Responses:
        calls.append(1)
        await anext(requests)
        yield SYNC
        if has_updates:
            yield response(("in-octets", len(calls)))

    async def deliver(messages: Sequence[bytes]) -> None:
        """Takes them."""

    waits = Waits()
    async with serving(ending) as address:
        config = job(address, backoff_max_s=30.0, silence_intervals=1000.0)
        stream = Stream(config, config.targets[0], config.subscriptions[0], deliver, lambda: None, sleep=waits)
        running = asyncio.create_task(stream.run())
        await waits.enough.wait()
        running.cancel()
        await asyncio.wait([running])
    return waits.seconds


async def test_a_stream_that_ends_after_its_first_message_is_asked_ever_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_module, "_SETTLED_S", math.inf)  # however slow this machine is
    calls: list[int] = []
    waits_s = await waits_between_calls(calls)
    assert len(calls) == ATTEMPTS
    for failures, wait_s in enumerate(waits_s, 1):
        least_s, most_s = (backoff_s(failures, first_s=0.5, most_s=30.0, chance=chance) for chance in (1.0, 0.0))
        assert least_s <= wait_s <= most_s
    assert sum(waits_s) > 75  # seconds for twelve attempts, which took five


async def test_a_stream_that_has_lived_is_asked_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "_SETTLED_S", 0.0)
    monkeypatch.setattr(stream_module, "_SETTLED_INTERVALS", 0.0)
    assert max(await waits_between_calls([])) <= 0.5


@pytest.mark.parametrize(
    ("failures", "delivered_s", "interval_s", "expected"),
    [
        (0, 0.0, 10.0, 1),
        (7, 0.0, 10.0, 8),  # it never delivered
        (7, 59.9, 10.0, 8),
        (7, 60.0, 10.0, 1),
        (7, 60.0, 30.0, 8),  # three intervals are longer
        (7, 90.0, 30.0, 1),
    ],
)
def test_failures_in_a_row(failures: int, delivered_s: float, interval_s: float, expected: int) -> None:
    assert failures_after(failures, delivered_s, interval_s) == expected


@pytest.mark.parametrize(("has_updates", "logged"), [(True, ATTEMPTS), (False, 1)])
async def test_that_a_stream_ends_is_logged_once_until_an_update_has_come(has_updates: bool, logged: int) -> None:
    """A switch may take a call for tables that it has not: it is asked again for ever, as they may come."""
    with capture_logs() as lines:
        await waits_between_calls([], has_updates=has_updates)
    assert [line["event"] for line in lines].count("subscription ended") == logged
