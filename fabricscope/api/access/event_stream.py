"""Event streams, as many as one client and all clients may have."""

from collections import Counter
from collections.abc import AsyncIterator

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from fabricscope.api.access.answers import too_many
from fabricscope.api.access.client import client_of

_RETRY_S = 10


class OpenStreams:
    """Counts the open streams. client_max: of one client. all_max: of all together."""

    def __init__(self, client_max: int, all_max: int) -> None:
        self._client_max, self._all_max = client_max, all_max
        self._of_client: Counter[str] = Counter()

    def refusal(self, client: str) -> str | None:
        """Why this client may not have one more; None when it may."""
        if self._of_client[client] >= self._client_max:
            return f"{self._client_max} event streams of this client are open"
        if self._of_client.total() >= self._all_max:
            return f"{self._all_max} event streams are open"
        return None

    def open(self, client: str) -> None:
        self._of_client[client] += 1

    def close(self, client: str) -> None:
        self._of_client[client] -= 1
        if self._of_client[client] <= 0:
            del self._of_client[client]


class BoundedEventSource(EventSourceResponse):
    """An event stream that is answered with 429 when too many are open. streams: of the application."""

    def __init__(self, content: AsyncIterator[ServerSentEvent], streams: OpenStreams, ping: int) -> None:
        super().__init__(content, ping=ping)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts it from its first to its last byte, however it ends."""
        client = client_of(scope["client"][0] if scope.get("client") else "")
        refusal = self._streams.refusal(client)
        if refusal is not None:
            await too_many(refusal, _RETRY_S)(scope, receive, send)
            return
        self._streams.open(client)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.close(client)
