"""Servers open, close or fall silent with the reachability of their devices."""

import dataclasses

import numpy as np
import pytest

from simulator.servers.config import Unreachable
from simulator.servers.reachability import Listener, apply_reachability
from simulator.servers.snapshot import Snapshot
from tests.unit.simulator.servers.readings import filled_readings, small_layout

LAYOUT = small_layout()


class Recorded:
    """A server that keeps what was done to it. busy: opening fails this often."""

    def __init__(self, *, listening: bool = True, busy: int = 0) -> None:
        self.address, self.silent, self._listening, self.busy = "127.0.0.1:1", False, listening, busy
        self.calls: list[str] = []

    @property
    def listening(self) -> bool:
        return self._listening

    async def open(self) -> None:
        self.calls.append("open")
        if self.busy:
            self.busy -= 1
            raise OSError("address in use")
        self._listening = True

    async def close(self) -> None:
        self.calls.append("close")
        self._listening = False


def snapshot(*off: int) -> Snapshot:
    readings = filled_readings(LAYOUT)
    reachable = np.ones(len(LAYOUT.devices), np.bool_)
    reachable[list(off)] = False
    devices = dataclasses.replace(readings.devices, reachable=reachable)
    return Snapshot(1, dataclasses.replace(readings, devices=devices))


async def apply(servers: dict[int, Recorded], unreachable: Unreachable, *off: int) -> None:
    listeners: dict[int, list[Listener]] = {device: [server] for device, server in servers.items()}
    await apply_reachability(listeners, snapshot(*off), unreachable)


async def test_only_servers_of_unreachable_devices_close() -> None:
    servers = {0: Recorded(), 1: Recorded()}
    await apply(servers, Unreachable.REFUSE, 1)
    assert [server.calls for server in servers.values()] == [[], ["close"]]
    await apply(servers, Unreachable.REFUSE, 1)
    assert servers[1].calls == ["close"], "it is closed already"


async def test_a_server_opens_again_when_its_device_is_back() -> None:
    servers = {3: Recorded(listening=False)}
    await apply(servers, Unreachable.REFUSE)
    assert servers[3].listening


async def test_an_address_that_is_still_taken_is_tried_again() -> None:
    server = Recorded(listening=False, busy=1)
    await apply({3: server}, Unreachable.REFUSE)
    assert not server.listening
    await apply({3: server}, Unreachable.REFUSE)
    assert server.listening
    assert server.calls == ["open", "open"]


async def test_hanging_servers_stay_open_and_are_silent() -> None:
    servers = {0: Recorded(), 1: Recorded()}
    await apply(servers, Unreachable.HANG, 1)
    assert [(server.silent, server.calls) for server in servers.values()] == [(False, []), (True, [])]
    await apply(servers, Unreachable.HANG)
    assert not servers[1].silent


@pytest.mark.parametrize("unreachable", Unreachable)
async def test_the_server_of_no_device_is_always_reachable(unreachable: Unreachable) -> None:
    servers = {-1: Recorded()}
    await apply(servers, unreachable, *range(len(LAYOUT.devices)))
    assert (servers[-1].listening, servers[-1].silent) == (True, False)
