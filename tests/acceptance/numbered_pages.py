"""Targets that number their samples themselves: what they were asked for is known without the program's own counts."""

import asyncio
from collections import defaultdict

SERIES = 5
_METRIC = 'node_network_receive_bytes_total{device="eth%d"} %d\n'
_GONE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


class NumberedPages:
    """``count`` targets of node_exporter's kind. All values of a page are its number: 1, 2, … for each target.

    received: by the target's address, the pages that a client has read for certain, as it asked again over the same
    connection. While ``is_open`` is False a target answers 503, with no number.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._servers: list[asyncio.Server] = []
        self._numbers: defaultdict[str, int] = defaultdict(int)
        self._unconfirmed: dict[str, int] = {}
        self.received: defaultdict[str, set[int]] = defaultdict(set)
        self.is_open = True

    @property
    def addresses(self) -> list[str]:
        return [f"127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in self._servers]

    @property
    def samples(self) -> int:
        """Of all pages that were received."""
        return SERIES * sum(map(len, self.received.values()))

    @property
    def is_settled(self) -> bool:
        """Whether each page that was sent was received, or its connection is gone."""
        return not self._unconfirmed

    async def start(self) -> None:
        for _ in range(self._count):
            self._servers.append(await asyncio.start_server(self._serve, "127.0.0.1", 0))

    async def stop(self) -> None:
        for server in self._servers:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = writer.get_extra_info("sockname")
        address = f"{host}:{port}"
        sent: int | None = None
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                if sent is not None:
                    self.received[address].add(sent)
                sent = self._answer(address, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
        finally:
            self._unconfirmed.pop(address, None)

    def _answer(self, address: str, writer: asyncio.StreamWriter) -> int | None:
        """The page's number, None without a page."""
        self._unconfirmed.pop(address, None)
        if not self.is_open:
            writer.write(_GONE)
            return None
        number = self._numbers[address] = self._unconfirmed[address] = self._numbers[address] + 1
        body = "".join(_METRIC % (series, number) for series in range(SERIES)).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        return number
