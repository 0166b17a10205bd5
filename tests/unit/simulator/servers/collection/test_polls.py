"""A lost answer is a real one: status 503, a reset, or nothing until the collector gives up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.collection.config import Durations, Losses
from simulator.collection.losses import Fate, LossState
from simulator.layout import Exporter
from simulator.servers.collection.polls import PollOutcome, Polls
from simulator.servers.pages.server import Page, PageServer
from telemetry.samples import DownReason
from tests.servers.process import free_port

ALWAYS = Losses(loss_in_good=1.0)
WAIT_S = 0.5


class Fated(LossState):
    """Every poll has this fate."""

    def __init__(self, fate: Fate | DownReason) -> None:
        super().__init__(ALWAYS, Exporter.NODE, np.random.default_rng(0))
        self._fate = fate

    def fate(self, at_ns: int) -> Fate | DownReason:
        return self._fate


@asynccontextmanager
async def served(polls: Polls | None) -> AsyncIterator[str]:
    server = PageServer(Page("127.0.0.1", free_port(), lambda: "up 1\n"), polls)
    await server.open()
    try:
        yield f"http://{server.address}/metrics"
    finally:
        await server.close()


def polls(fate: Fate | DownReason) -> Polls:
    return Polls(Fated(fate), Durations(), np.random.default_rng(0), 10.0, lambda: 0, 1.0)


@pytest.mark.parametrize(("fate", "status"), [(Fate.ARRIVES, 200), (Fate.VANISHES, 503)])
async def test_an_answer_has_a_status(fate: Fate, status: int) -> None:
    async with served(polls(fate)) as url, aiohttp.ClientSession() as http, http.get(url) as answer:
        assert answer.status == status


@pytest.mark.parametrize("reason", [DownReason.REFUSED, DownReason.RESET])
async def test_a_connection_is_reset(reason: DownReason) -> None:
    async with served(polls(reason)) as url, aiohttp.ClientSession() as http:
        for _ in range(2):  # the next one too: the server goes on
            with pytest.raises((aiohttp.ClientOSError, aiohttp.ServerDisconnectedError)):
                await http.get(url)


async def test_a_poll_that_times_out_is_never_answered() -> None:
    timeout = aiohttp.ClientTimeout(total=WAIT_S)
    async with served(polls(DownReason.TIMEOUT)) as url, aiohttp.ClientSession(timeout=timeout) as http:
        with pytest.raises(TimeoutError):
            await http.get(url)


def test_a_poll_takes_as_long_as_drawn_and_a_fast_simulation_less_real_time() -> None:
    durations = Durations(median_s=0.2, sigma=1.0)
    took = {
        speed: Polls(None, durations, np.random.default_rng(3), 10.0, lambda: 0, speed).next()[1]
        for speed in (1.0, 4.0)
    }
    assert took[1.0] == pytest.approx(4 * took[4.0])
    many = Polls(None, durations, np.random.default_rng(3), 10.0, lambda: 0, 1.0)
    assert np.median([many.next()[1] for _ in range(999)]) == pytest.approx(0.2, rel=0.1)


def test_losses_come_in_bursts_of_simulated_time() -> None:
    elapsed_ns = 0
    state = LossState(Losses(bad_share=0.2, burst_s=40.0), Exporter.NODE, np.random.default_rng(1))
    lossy = Polls(state, None, np.random.default_rng(1), 10.0, lambda: elapsed_ns, 1.0)
    outcomes = []
    for _ in range(20_000):
        elapsed_ns += NS_PER_S
        outcomes.append(lossy.next()[0] is not PollOutcome.ANSWERED)
    lost = np.array(outcomes)
    assert lost.mean() == pytest.approx(0.2, abs=0.05)
    assert lost.sum() / np.count_nonzero(np.diff(lost.astype(int)) == 1) == pytest.approx(40.0, rel=0.4)
