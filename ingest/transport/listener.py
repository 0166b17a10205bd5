"""Sockets that listen, TLS, and how many connections there may be: what servers of all protocols have in common."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from typing import Protocol

from ingest.transport.peer import plain_address
from ingest.transport.refusals import RefusalReason

HANDSHAKE_S = 10.0
_BACKLOG = 1024
_ACCEPT_AGAIN_S = 1.0  # the system has no descriptors left
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class ConnectionOwner(Protocol):
    """The server that the connections are of."""

    def connection(self, address: str) -> asyncio.BaseProtocol:
        """What speaks with a client, by the client's IP."""
        ...

    def count_connections(self) -> int:
        """Those that are open."""
        ...

    def make_room(self) -> bool:
        """Whether a connection without a request gave way."""
        ...

    def refused(self, reason: RefusalReason) -> None: ...


class Listener:
    """Listens once it is started.

    context: the TLS of the next connection, None for none.
    """

    def __init__(
        self, owner: ConnectionOwner, connections_max: int, context: Callable[[], ssl.SSLContext | None]
    ) -> None:
        self._owner, self._connections_max, self._context = owner, connections_max, context
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._handshakes: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> int:
        """The port. OSError when the address is taken or none of this machine."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        absent: OSError | None = None
        for family, address in dict.fromkeys((each[0], str(each[4][0])) for each in found):
            try:
                listening = socket.create_server(
                    (address, port), family=family, backlog=_BACKLOG, dualstack_ipv6=address == "::"
                )
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = error  # of a name's addresses one is enough
                continue
            listening.setblocking(False)
            self._sockets.append(listening)
            port = port or int(listening.getsockname()[1])
        if absent is not None and not self._sockets:
            raise absent
        self._accepting = [asyncio.create_task(self._accept(each)) for each in self._sockets]
        return port

    async def stop(self) -> None:
        """Takes no more connections; those that are open stay. Idempotent."""
        await ended([*self._accepting, *self._handshakes])
        for listening in self._sockets:
            listening.close()
        self._sockets = []

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, peer = await loop.sock_accept(listening)
            except OSError:  # its client has gone, or no descriptor is left
                self._owner.make_room()
                await asyncio.sleep(_ACCEPT_AGAIN_S)
                continue
            open_now = self._owner.count_connections() + len(self._handshakes)
            if open_now >= self._connections_max and not self._owner.make_room():
                self._owner.refused(RefusalReason.CONNECTIONS)
                accepted.close()
                continue
            task = asyncio.create_task(self._connect(accepted, plain_address(str(peer[0]))))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    async def _connect(self, accepted: socket.socket, address: str) -> None:
        context = self._context()
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self._owner.connection(address),
                accepted,
                ssl=context,
                ssl_handshake_timeout=HANDSHAKE_S if context else None,
            )
        except OSError:
            accepted.close()
            self._owner.refused(RefusalReason.TLS)


async def ended(tasks: list[asyncio.Task[None]]) -> None:
    """Cancels them and waits until they are over."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
