"""How hostile gNMI devices behave, by the name of their kind."""

import asyncio
from collections.abc import Mapping

from tests.acceptance.soak.gnmi_frames import BEGIN, END, PING, SETTINGS, Behaviour, message
from tests.conformance.collectors.gnmi_peer import SYNC, response

TINY_PER_S = 2000  # four times the quota of the settings
_ROUNDS_PER_S = 5
_FLOOD_FRAMES = 5000


def behaviours(interval_s: float) -> Mapping[str, Behaviour]:
    return {
        "gnmi_pings": _flood(PING),
        "gnmi_settings": _flood(SETTINGS),
        "gnmi_tiny_updates": _tiny_updates,
        "gnmi_never_syncs": _never_syncs(interval_s),
        "gnmi_closes": _closes,
        "gnmi_half_open": _half_open,
    }


def _flood(frame: bytes) -> Behaviour:
    async def flood(writer: asyncio.StreamWriter) -> None:
        writer.write(SETTINGS)
        while True:
            writer.write(frame * _FLOOD_FRAMES)
            await writer.drain()

    return flood


async def _tiny_updates(writer: asyncio.StreamWriter) -> None:
    writer.write(BEGIN + message(SYNC))
    while True:
        writer.write(message(response(("in-octets", 1))) * (TINY_PER_S // _ROUNDS_PER_S))
        await writer.drain()
        await asyncio.sleep(1 / _ROUNDS_PER_S)


def _never_syncs(interval_s: float) -> Behaviour:
    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(BEGIN)
        while True:
            writer.write(message(response(("in-octets", 1))))
            await writer.drain()
            await asyncio.sleep(interval_s)

    return send


async def _closes(writer: asyncio.StreamWriter) -> None:
    writer.write(BEGIN + message(response(("in-octets", 1))) + END)
    await writer.drain()


async def _half_open(writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()
