"""``python -m tests.acceptance.crash.outside.pages JOURNAL TARGETS``: targets whose values say which page they are on.

Journal: ``["sent", seconds, target, number]`` before a page is sent, ``["read", target, number]`` once a client has
read it for certain: it has asked again over the same connection.
"""

import asyncio
import sys
import time
from pathlib import Path

from tests.acceptance.crash.outside.journal import Journal
from tests.acceptance.crash.samples import METRIC, SERIES, Sample, interface_of, value_of


class _Target:
    def __init__(self, target: int) -> None:
        self.target, self.number = target, 0
        self.journal: Journal

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = 0
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                if sent:
                    self.journal.write(["read", self.target, sent])
                self.number += 1
                sent = self.number
                self.journal.write(["sent", time.monotonic(), self.target, sent])
                writer.write(_page(self.target, sent))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def _page(target: int, number: int) -> bytes:
    values = [(interface_of(series), value_of(Sample(target, series, number))) for series in range(SERIES)]
    body = "".join(f'{METRIC}{{device="{interface}"}} {value}\n' for interface, value in values).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def _run(path: Path, count: int) -> None:
    targets = [_Target(target) for target in range(count)]
    servers = [await asyncio.start_server(one.serve, "127.0.0.1", 0, start_serving=False) for one in targets]
    journal = Journal(path, [server.sockets[0].getsockname()[1] for server in servers])
    for one, server in zip(targets, servers, strict=True):
        one.journal = journal
        await server.start_serving()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1]), int(sys.argv[2])))
