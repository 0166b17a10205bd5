"""Connections that cannot shut the API: deadlines for what a client sends and reads, and a cap that makes room.

uvicorn has a deadline for idle connections alone, and counts half-open ones as load.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from fabricscope.api.access.client import client_of
from fabricscope.api.metrics import CONNECTIONS_CLOSED


class CloseReason(StrEnum):
    """Why a connection was closed before its client did."""

    HEADERS_LATE = "headers_late"
    BODY_LATE = "body_late"
    NOT_READ = "not_read"
    GAVE_WAY = "gave_way"  # it did nothing, and another one needed its place
    FULL = "full"


_AWAITED = {h11.IDLE: CloseReason.HEADERS_LATE, h11.SEND_BODY: CloseReason.BODY_LATE}


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """connections_max: at a time. headers_s, body_s: for a request to arrive. unread_s: for an answer to be taken."""

    connections_max: int
    headers_s: float = 10.0
    body_s: float = 30.0
    unread_s: float = 30.0


class BoundedConnection(H11Protocol):
    """uvicorn's HTTP/1.1 with deadlines and a cap on all connections of one server."""

    def __init__(self, *arguments: Any, limits: ConnectionLimits, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._limits = limits
        self._awaited: CloseReason | None = None
        self._since_s = 0.0
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    @property
    def peer(self) -> str:
        """Whom limits count it for."""
        return client_of(self.client[0]) if self.client else ""

    @property
    def gives_way(self) -> bool:
        """Whether it waits for its client alone."""
        return self._awaited is not None or self._unread is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._expect()
        if len(self.connections) > self._limits.connections_max:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        self._cancel_unread()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        super().connection_lost(exc)

    def close_now(self, reason: CloseReason) -> None:
        """Without waiting for what the client has not read."""
        CONNECTIONS_CLOSED.labels(reason).inc()
        self._cancel()
        self.connections.discard(self)  # at once, so that the next one finds room
        self.transport.abort()

    def _expect(self) -> None:
        """Begins the deadline of what the client has to do next, unless it runs already."""
        if self.transport.is_closing():  # once it has read what is left
            self._expect_reading()
            return
        awaited = _AWAITED.get(self.conn.their_state)
        if awaited is self._awaited:
            return
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._awaited, self._since_s = awaited, self.loop.time()
        if awaited is not None:
            limits = self._limits
            wait_s = limits.headers_s if awaited is CloseReason.HEADERS_LATE else limits.body_s
            self._deadline = self.loop.call_later(wait_s, self.close_now, awaited)

    def _expect_reading(self) -> None:
        if self._unread is None:
            self._unread = self.loop.call_later(self._limits.unread_s, self.close_now, CloseReason.NOT_READ)

    def _make_room(self) -> None:
        """Closes one that waits for its client: of who has most, the one that waits longest; else this one."""
        others = [one for one in self.connections if isinstance(one, BoundedConnection) and one is not self]
        number_of = Counter(one.peer for one in (self, *others))
        waiting = [one for one in others if one.gives_way]
        if not waiting:
            self.close_now(CloseReason.FULL)
            return
        max(waiting, key=lambda one: (number_of[one.peer], -one._since_s)).close_now(CloseReason.GAVE_WAY)

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._awaited = None
        self._cancel_unread()

    def _cancel_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
