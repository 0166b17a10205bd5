"""All hostile targets of one protocol in one process: ``python -m tests.acceptance.soak.hostile PORT COUNT INTERVAL
FOLDER http|https|gnmi …``. FOLDER has the certificates of those that speak TLS."""

import asyncio
import ssl
import sys
from pathlib import Path

from tests.acceptance.soak.addresses import hostile_addresses
from tests.acceptance.soak.gnmi_frames import serve_streams
from tests.acceptance.soak.hostile_pages import answers, serve_pages, speaks_no_tls
from tests.acceptance.soak.hostile_switches import behaviours
from tests.acceptance.soak.kinds import KINDS, Protocol, counts
from tests.servers.certificates import Certificates


async def serve(port: int, count: int, interval_s: float, certificates: Certificates, served: set[str]) -> None:
    """For ever."""
    pages, streams = answers(), behaviours(interval_s)
    for kind in KINDS:
        if kind.protocol not in served:
            continue
        addresses = hostile_addresses(kind.name, counts(count)[kind.name])
        if kind.protocol is Protocol.GNMI:
            await serve_streams(streams[kind.name], addresses, port)
        elif kind.name == "tls_absent":
            await serve_streams(speaks_no_tls, addresses, port)
        else:
            tls = _tls(certificates) if kind.protocol is Protocol.HTTPS else None
            await serve_pages(pages[kind.name], addresses, port, tls)
    await asyncio.Event().wait()


def _tls(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate("server"), certificates.key("server"))
    return context


if __name__ == "__main__":
    port, count, interval_s, folder, *served = sys.argv[1:]
    asyncio.run(serve(int(port), int(count), float(interval_s), Certificates(Path(folder)), set(served)))
