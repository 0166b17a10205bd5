"""uvicorn as a part of our program: its signals, its sockets and its limits are ours."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import Iterator
from functools import partial

import uvicorn

from fabricscope.api.access.connections import BoundedConnection, ConnectionLimits

_BACKLOG = 512  # connections that asyncio may accept before it serves one
_FILES_MAX = 65_536


class Server(uvicorn.Server):
    """Serves with bounded connections. Raises OSError when it cannot listen."""

    def __init__(self, config: uvicorn.Config, limits: ConnectionLimits) -> None:
        super().__init__(config)
        self._limits = limits

    @property
    def port(self) -> int:
        """Where it listens, once it has started."""
        port: int = self.servers[0].sockets[0].getsockname()[1]
        return port

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the program: uvicorn would take them over, and raise each again once it has stopped."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Like uvicorn's, which knows no deadline for TLS handshakes and ends the program when it cannot listen."""
        assert sockets is None
        await self.lifespan.startup()
        connection = partial(
            BoundedConnection,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            limits=self._limits,
        )
        server = await asyncio.get_running_loop().create_server(
            connection,
            host=self.config.host,
            port=self.config.port,
            ssl=self.config.ssl,
            ssl_handshake_timeout=self._limits.headers_s if self.config.ssl else None,
            backlog=_BACKLOG,
        )
        self.servers = [server]
        self.started = True


def allow_open_files() -> None:
    """As many as the system allows: connections that do not speak TLS yet are open files that nobody counts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, _FILES_MAX)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
