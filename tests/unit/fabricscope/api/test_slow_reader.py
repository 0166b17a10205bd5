"""A client of the event stream that does not read: what waits for it is bounded, and nobody waits for it."""

import asyncio
import socket
from dataclasses import replace as changed
from urllib.parse import urlsplit

import aiohttp

from tests.unit.fabricscope.api.test_api import next_picture
from tests.unit.fabricscope.api.traffic import incident
from tests.unit.traffic import publish_incidents
from tests.waiting import DEADLINE_S

ROUNDS, INCIDENTS = 30, 40
LONG = ("x" * 20_000,)  # of each incident: a picture of 0.8 MB, of which sockets of the kernel hold a few


async def test_a_reader_that_does_not_read_gets_the_newest_picture_and_holds_back_nobody(api, bus, monkeypatch):
    for wait in ("PERIOD_S", "UNCHANGED_S"):
        monkeypatch.setattr(f"fabricscope.api.routes.stream.{wait}", 0.01)
    stuck = socket.socket()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    stuck.connect((urlsplit(api.url).hostname, urlsplit(api.url).port))
    stuck.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")

    everything = aiohttp.ClientTimeout(total=DEADLINE_S)
    async with (
        aiohttp.ClientSession(timeout=everything, read_bufsize=2**22) as session,
        session.get(f"{api.url}/api/v1/stream") as answer,
    ):
        for number in range(1, ROUNDS + 1):
            found = [changed(incident(f"i{n}", gpu_seconds=float(number)), gaps=LONG) for n in range(INCIDENTS)]
            await publish_incidents(bus, *found)
            while {one["gpu_seconds"] for one in (await next_picture(answer))["incidents"]} != {float(number)}:
                pass

    newest = f'"gpu_seconds":{float(ROUNDS)}'.encode()
    received = bytearray()
    stuck.setblocking(False)
    async with asyncio.timeout(DEADLINE_S):
        while newest not in received[-100_000:]:
            received += await asyncio.get_running_loop().sock_recv(stuck, 65_536)
    stuck.close()
    assert received.count(b"event: picture") < ROUNDS / 2
