"""The listening half of our gRPC server: connections, how many there may be, and what all of them may hold."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable

from ingest.transport.grpc_connection import HANDSHAKE_S, ServerConnection, Serving
from ingest.transport.grpc_status import Refused, Status
from ingest.transport.refusals import RefusalReason

_BACKLOG = 1024
_ACCEPT_AGAIN_S = 1.0  # the system has no descriptors left
_CLOSE_S = 1.0
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class GrpcListener:
    """Listens once it is started.

    context: the TLS of the next connection, None for none. counted: called for each refusal.
    """

    def __init__(
        self,
        serving: Serving,
        connections_max: int,
        context: Callable[[], ssl.SSLContext | None],
        counted: Callable[[RefusalReason], None],
    ) -> None:
        self._serving, self._connections_max = serving, connections_max
        self._context, self.refused = context, counted
        self._connections: set[ServerConnection] = set()
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._handshakes: set[asyncio.Task[None]] = set()
        self._calls: set[asyncio.Task[None]] = set()
        self._empty = asyncio.Event()
        self._empty.set()

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

    async def stop(self, grace_s: float) -> None:
        """Takes no more calls, waits so long for those that are open, and ends them."""
        await _ended([*self._accepting, *self._handshakes])
        for listening in self._sockets:
            listening.close()
        self._sockets = []
        for connection in self._connections:
            connection.go_away()
        if self._calls and grace_s:
            await asyncio.wait(self._calls, timeout=grace_s)
        await _ended([*self._calls])
        for connection in list(self._connections):
            connection.close()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._empty.wait()
        except TimeoutError:
            for connection in list(self._connections):
                connection.abort()

    def opened(self, connection: ServerConnection) -> None:
        self._connections.add(connection)
        self._empty.clear()

    def closed(self, connection: ServerConnection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()

    def began(self, call: "asyncio.Task[None]") -> None:
        """It may last longer than its connection."""
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    def shed(self) -> None:
        """The call that holds most gives way, so that those of others go on."""
        calls = [call for connection in self._connections for call in connection.calls.values()]
        largest = max((call for call in calls if not call.is_refused), key=lambda call: call.held_bytes, default=None)
        if largest is None:
            return
        message = "the receiver holds more than it may, and this call has most of it"
        largest.refuse(Refused(Status.RESOURCE_EXHAUSTED, message, reason=RefusalReason.MEMORY))

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, peer = await loop.sock_accept(listening)
            except OSError:  # its client has gone, or no descriptor is left
                self._make_room()
                await asyncio.sleep(_ACCEPT_AGAIN_S)
                continue
            if len(self._connections) + len(self._handshakes) >= self._connections_max and not self._make_room():
                self.refused(RefusalReason.CONNECTIONS)
                accepted.close()
                continue
            task = asyncio.create_task(self._connect(accepted, _address(str(peer[0]))))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    def _make_room(self) -> bool:
        """Whether a connection without a call gave way."""
        idle = next((each for each in self._connections if each.is_idle), None)
        if idle is not None:
            idle.make_way()
        return idle is not None

    async def _connect(self, accepted: socket.socket, address: str) -> None:
        context = self._context()
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: ServerConnection(self._serving, self, address),
                accepted,
                ssl=context,
                ssl_handshake_timeout=HANDSHAKE_S if context else None,
            )
        except OSError:
            accepted.close()
            self.refused(RefusalReason.TLS)


def _address(host: str) -> str:
    """Without its zone; of IPv4 as such, also where it comes to a socket of IPv6.

    >>> _address("::ffff:10.0.0.1"), _address("fe80::1%eth0"), _address("10.0.0.1")
    ('10.0.0.1', 'fe80::1', '10.0.0.1')
    """
    host = host.partition("%")[0]
    return host.removeprefix("::ffff:") if "." in host else host


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
