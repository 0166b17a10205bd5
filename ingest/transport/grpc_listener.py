"""The listening half of our gRPC server: connections, how many there may be, and what all of them may hold."""

import asyncio
import ssl
from collections.abc import Callable

from ingest.transport.grpc_connection import ServerConnection, Serving
from ingest.transport.grpc_status import Refused, Status
from ingest.transport.listener import Listener, ended
from ingest.transport.refusals import RefusalReason

_CLOSE_S = 1.0


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
        self._serving, self.refused = serving, counted
        self._listener = Listener(self, connections_max, context)
        self._connections: set[ServerConnection] = set()
        self._calls: set[asyncio.Task[None]] = set()
        self._empty = asyncio.Event()
        self._empty.set()

    async def start(self, host: str, port: int) -> int:
        """The port. OSError when the address is taken or none of this machine."""
        return await self._listener.start(host, port)

    async def stop(self, grace_s: float) -> None:
        """Takes no more calls, waits so long for those that are open, and ends them."""
        await self._listener.stop()
        for connection in self._connections:
            connection.go_away()
        if self._calls and grace_s:
            await asyncio.wait(self._calls, timeout=grace_s)
        await ended([*self._calls])
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

    def connection(self, address: str) -> ServerConnection:
        return ServerConnection(self._serving, self, address)

    def count_connections(self) -> int:
        return len(self._connections)

    def make_room(self) -> bool:
        """Whether a connection without a call gave way."""
        idle = next((each for each in self._connections if each.is_idle), None)
        if idle is not None:
            idle.make_way()
        return idle is not None
