"""gNMI servers over readings that a test sets: one SONiC leaf and one OpenConfig spine on free ports."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from simulator.layout import Exporter, Layout
from simulator.servers.gnmi.openconfig import OpenConfigTree
from simulator.servers.gnmi.query import Tree
from simulator.servers.gnmi.server import Credentials, GnmiServer, View
from simulator.servers.gnmi.sonic import SonicTree
from simulator.servers.snapshot import Latest
from tests.servers.process import free_port
from tests.unit.simulator.servers.readings import filled_readings, small_layout


@dataclass
class Switches:
    """leaf, spine: the servers. latest: what they serve; publish to it to change their values."""

    layout: Layout
    latest: Latest
    leaf: GnmiServer
    spine: GnmiServer


@asynccontextmanager
async def serving_switches(credentials: Credentials | None = None) -> AsyncIterator[Switches]:
    layout = small_layout()
    latest = Latest(filled_readings(layout))
    trees: dict[str, Tree] = {"leaf1": SonicTree(layout, "leaf1"), "spine1": OpenConfigTree(layout, "spine1")}
    servers = []
    for switch, tree in trees.items():
        view = View(latest.of_exporter(layout.endpoint_index[Exporter.GNMI, switch]), latest)
        servers.append(GnmiServer(f"127.0.0.1:{free_port()}", tree, view, credentials or Credentials()))
    for server in servers:
        await server.open()
    try:
        yield Switches(layout, latest, *servers)
    finally:
        for server in servers:
            await server.close()
