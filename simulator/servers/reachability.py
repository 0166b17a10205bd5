"""Opens and closes servers with the reachability of their devices."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

import structlog

from simulator.servers.config import Unreachable
from simulator.servers.snapshot import Snapshot

log = structlog.get_logger(__name__)


class Listener(Protocol):
    """A server of one device. address: ``host:port``. silent: connections stay open and nothing is answered."""

    silent: bool

    @property
    def address(self) -> str: ...

    @property
    def listening(self) -> bool: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...


async def apply_reachability(
    listeners: Mapping[int, list[Listener]], snapshot: Snapshot, unreachable: Unreachable
) -> None:
    """Opens, closes or silences the servers of each device (by position in the layout, -1 is none)."""
    reachable = [*snapshot.readings.devices.reachable.tolist(), True]
    servers = [(server, reachable[device]) for device, group in listeners.items() for server in group]
    if unreachable is Unreachable.HANG:
        for server, here in servers:
            server.silent = not here
        return
    wrong = [(server, here) for server, here in servers if server.listening != here]
    await asyncio.gather(*(_reopen(server) if here else server.close() for server, here in wrong))


async def _reopen(server: Listener) -> None:
    """The address may still be held by a connection that is closing: the next step tries again."""
    try:
        await server.open()
    except OSError as error:
        log.warning("listen failed", target=server.address, error=str(error))
