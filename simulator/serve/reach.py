"""Which servers are open: those of devices that answer on the network."""

from collections.abc import Mapping
from typing import Protocol

import structlog

from simulator.serve.snapshot import Snapshot

log = structlog.get_logger(__name__)


class Listener(Protocol):
    """A server that can be there or not."""

    @property
    def listening(self) -> bool: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...


async def follow(listeners: Mapping[int, list[Listener]], snapshot: Snapshot) -> None:
    """Opens and closes the listeners of each device (by position in the layout) as the snapshot says."""
    reachable = snapshot.readings.devices.reachable.tolist()
    for device, servers in listeners.items():
        for server in servers:
            if server.listening == reachable[device]:
                continue
            if reachable[device]:
                await _reopen(server)
            else:
                await server.close()


async def _reopen(server: Listener) -> None:
    """An address may still be held by a connection that is closing: the next step tries again."""
    try:
        await server.open()
    except OSError as error:
        log.warning("cannot listen yet", error=str(error))
