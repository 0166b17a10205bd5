"""All good targets in one process: ``python -m tests.acceptance.soak.good PORT COUNT INTERVAL FOLDER``.

Hosts with a GPU page, switches with gNMI, and chassis of 64 GPUs beside one that is always there. While the file
``FOLDER/NUMBER`` exists, chassis NUMBER has lost its 64 GPUs and answers all the same: a critical fault.
"""

import asyncio
import itertools
import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.acceptance.soak import addresses
from tests.acceptance.soak.addresses import good_addresses
from tests.acceptance.soak.gnmi_frames import BEGIN, Behaviour, message, serve_streams
from tests.acceptance.soak.hostile_pages import serve_pages
from tests.conformance.collectors.gnmi_peer import SYNC, response
from tests.servers.answers import Answer, respond

GPUS, CHASSIS_GPUS, PORTS = 8, 64, 16
_PAGE = """\
DCGM_FI_DEV_GPU_TEMP{{gpu="{gpu}",UUID="GPU-{gpu}"}} {temperature}
DCGM_FI_DEV_POWER_USAGE{{gpu="{gpu}",UUID="GPU-{gpu}"}} {power}
DCGM_FI_DEV_GPU_UTIL{{gpu="{gpu}",UUID="GPU-{gpu}"}} {use}
DCGM_FI_DEV_SM_CLOCK{{gpu="{gpu}",UUID="GPU-{gpu}"}} {clock}
DCGM_FI_DEV_XID_ERRORS{{gpu="{gpu}",UUID="GPU-{gpu}"}} 0
"""


async def serve(port: int, count: int, interval_s: float, lost: Path) -> None:
    """For ever."""
    hosts, switches = addresses.hosts_and_switches(count)
    await serve_pages(_page(lambda: range(GPUS)), good_addresses(addresses.HOSTS, hosts), port, None)
    for number, address in enumerate(good_addresses(addresses.CHASSIS, addresses.CHASSIS_COUNT)):
        await serve_pages(_chassis(lost / str(number)), [address], port, None)
    await serve_streams(_switch(interval_s), good_addresses(addresses.SWITCHES, switches), port)
    await asyncio.Event().wait()


def _chassis(lost: Path) -> Answer:
    return _page(lambda: range(1 if lost.exists() else 1 + CHASSIS_GPUS))


def _page(gpus: Callable[[], Iterable[int]]) -> Answer:
    """Values that move a little, as those of real GPUs: an exporter that repeats itself is found as frozen."""
    dice = random.Random(1)

    async def answer(writer: asyncio.StreamWriter) -> None:
        lines = (
            _PAGE.format(
                gpu=gpu,
                temperature=dice.randint(50, 54),
                power=round(dice.uniform(480, 520), 1),
                use=dice.randint(95, 100),
                clock=dice.choice((1965, 1980)),
            )
            for gpu in gpus()
        )
        await respond("".join(lines).encode())(writer)

    return answer


def _switch(interval_s: float) -> Behaviour:
    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(BEGIN)
        for number in itertools.count(1):
            for port in range(PORTS):
                counters = f"/interfaces/interface[name=Ethernet{port}]/state/counters"
                octets = number * 1_000_000
                values = (("in-octets", octets), ("out-octets", octets), ("in-errors", 0), ("in-discards", 0))
                writer.write(message(response(*values, prefix=counters)))
            if number == 1:
                writer.write(message(SYNC))
            await writer.drain()
            await asyncio.sleep(interval_s)

    return send


if __name__ == "__main__":
    port, count, interval_s, folder = sys.argv[1:]
    asyncio.run(serve(int(port), int(count), float(interval_s), Path(folder)))
