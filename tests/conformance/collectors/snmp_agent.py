"""A switch as an SNMP agent describes it, a collector of it, and a wire that damages what the agent says."""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext
from ingest.collectors.snmp.collector import SnmpCollector, snmp_collectors
from ingest.collectors.snmp.config import Config
from ingest.ledger import Ledger
from telemetry.samples import SampleBatch
from tests.servers.snmpd import COMMUNITY, Objects

NOW_NS = 1_760_000_000 * NS_PER_S
IF, IFX = "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1"


def interfaces(count: int, octets: int = 1000, errors: int = 7) -> dict[str, tuple[str, object]]:
    """Ports Ethernet0, Ethernet4, …, all up, with numbers that differ by port."""
    found: dict[str, tuple[str, object]] = {}
    for port in range(1, count + 1):
        found |= {
            f"{IF}.2.{port}": ("string", f"etp{port}"),
            f"{IF}.4.{port}": ("integer", 9100),
            f"{IF}.7.{port}": ("integer", 1),
            f"{IF}.8.{port}": ("integer", 1),
            f"{IF}.13.{port}": ("counter", port),
            f"{IF}.14.{port}": ("counter", errors),
            f"{IFX}.1.{port}": ("string", f"Ethernet{4 * (port - 1)}"),
            f"{IFX}.6.{port}": ("counter64", octets + port),
            f"{IFX}.10.{port}": ("counter64", 2**40 + port),
            f"{IFX}.11.{port}": ("counter64", 5),
            f"{IFX}.15.{port}": ("gauge", 400_000),
            f"{IFX}.18.{port}": ("string", f"to spine{port}"),
        }
    return found


def collector(folder: Path, address: str, ledger: Ledger, **settings: object) -> SnmpCollector:
    """One that does not wait between requests."""
    (folder / "community").write_text(COMMUNITY + "\n")
    given: dict[str, object] = {"community_file": folder / "community"} if "user" not in settings else {}
    given |= {
        "requests_per_s": 1000,
        "request_timeout_s": 20,
        "timeout_s": 45,
        "targets": [{"address": address, "device": "leaf1"}],
    }
    config = Config.model_validate({**given, **settings})
    (made,) = snmp_collectors([config], CollectorContext(ledger, lambda: 7, ThreadPoolExecutor(1)))
    return made


def values(batch: SampleBatch) -> dict[str, float]:
    return dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))


def of_port(batch: SampleBatch, port: str) -> dict[str, float]:
    """The values of one port, without the labels device and port."""
    labels = 'device="leaf1"', f'port="{port}"'
    found = {key: value for key, value in values(batch).items() if labels[1] in key}
    for label in labels:
        found = {key.replace(label, "").strip(): value for key, value in found.items()}
    return {
        key.replace("{,", "{").replace(",,", ",").replace(",}", "}").replace("{}", ""): value
        for key, value in found.items()
    }


Damage = Callable[[bytes], Iterable[bytes]]
"""What the collector gets instead of one datagram of the agent."""


class Wire(asyncio.DatagramProtocol):
    """Between collector and agent. damage: of what the agent answers. requests: how many the collector has sent.

    stranger: sends the answers from a port of its own instead of the one that was asked.
    """

    def __init__(self, port: int, damage: Damage, *, stranger: bool = False) -> None:
        self._port, self._stranger = port, stranger
        self.damage = damage
        self.requests: list[bytes] = []
        self._client: asyncio.DatagramTransport
        self._agents: list[asyncio.DatagramTransport] = []

    async def open(self) -> str:
        """Its address."""
        loop = asyncio.get_running_loop()
        self._client, _ = await loop.create_datagram_endpoint(lambda: self, ("127.0.0.1", 0))
        host, port = self._client.get_extra_info("sockname")[:2]
        return f"{host}:{port}"

    def close(self) -> None:
        for each in (self._client, *self._agents):
            each.close()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.requests.append(data)
        asyncio.get_running_loop().create_task(self._forward(data, addr))

    async def _forward(self, data: bytes, addr: tuple[str, int]) -> None:
        wire = self

        class Agent(asyncio.DatagramProtocol):
            def datagram_received(self, answer: bytes, _: object) -> None:
                sender = agent if wire._stranger else wire._client
                for piece in wire.damage(answer):
                    sender.sendto(piece, addr)

        loop = asyncio.get_running_loop()
        agent, _ = await loop.create_datagram_endpoint(Agent, ("127.0.0.1", 0))
        self._agents.append(agent)
        with suppress(OSError):
            agent.sendto(data, ("127.0.0.1", self._port))


def served(*parts: Objects) -> dict[str, tuple[str, object]]:
    """Several tables."""
    return {oid: value for part in parts for oid, value in part.items()}


_PHYSICAL, _SENSOR = "1.3.6.1.2.1.47.1.1.1.1", "1.3.6.1.2.1.99.1.1.1"


def sensor(index: int, description: str, kind: int, scale: int, precision: int, value: int, status: int = 1) -> Objects:
    """A row of ENTITY-SENSOR-MIB, with its description."""
    return {
        f"{_PHYSICAL}.2.{index}": ("string", description),
        f"{_SENSOR}.1.{index}": ("integer", kind),
        f"{_SENSOR}.2.{index}": ("integer", scale),
        f"{_SENSOR}.3.{index}": ("integer", precision),
        f"{_SENSOR}.4.{index}": ("integer", value),
        f"{_SENSOR}.5.{index}": ("integer", status),
    }
