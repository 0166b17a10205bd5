"""Builds every server of a layout: which exporter serves which page or gNMI tree."""

from collections.abc import Callable
from pathlib import Path

from common.errors import ConfigError
from common.units import NS_PER_MS
from simulator.counters.readings import Readings
from simulator.layout import Endpoint, Exporter, Flavour, Layout
from simulator.servers.addresses import served_endpoints
from simulator.servers.config import ServeConfig
from simulator.servers.gnmi.openconfig import OpenConfigTree
from simulator.servers.gnmi.query import Tree
from simulator.servers.gnmi.server import Credentials, GnmiServer, View
from simulator.servers.gnmi.sonic import SonicTree
from simulator.servers.io_time import IoTimes
from simulator.servers.pages import slurm
from simulator.servers.pages.dcgm import DcgmPage
from simulator.servers.pages.lustre import client_page, server_page
from simulator.servers.pages.node import node_page
from simulator.servers.pages.server import CONTENT_TYPE, Page, PageServer
from simulator.servers.reachability import Listener
from simulator.servers.snapshot import Latest
from simulator.servers.tls import self_signed

Render = Callable[[Readings, int | None], str]


def build_listeners(
    config: ServeConfig, layout: Layout, latest: Latest, io_times: IoTimes, credentials: Credentials
) -> dict[int, list[Listener]]:
    """Servers by the position of their device in the layout; -1 is Slurm, which is no device."""
    stamped = config.speed > 1
    found: dict[int, list[Listener]] = {}
    for endpoint in served_endpoints(layout, config.address_offset):
        if endpoint.exporter is Exporter.GNMI:
            listener: Listener = _switch(config, layout, latest, endpoint, credentials)
        else:
            listener = _page(layout, latest, io_times, endpoint, stamped=stamped)
        found.setdefault(layout.device_index.get(endpoint.device, -1), []).append(listener)
    return found


def gnmi_credentials(config: ServeConfig, layout: Layout, folder: Path) -> Credentials:
    """What the configuration asks for; a self-signed identity is written to ``folder``."""
    password = config.gnmi_password.get_secret_value()
    if not config.gnmi_tls:
        return Credentials(username=config.gnmi_username, password=password)
    key, chain = config.gnmi_key_file, config.gnmi_cert_file
    if (key is None) != (chain is None):
        raise ConfigError("simulator: gnmi_cert_file and gnmi_key_file belong together")
    if key is None or chain is None:
        endpoints = served_endpoints(layout, config.address_offset)
        key, chain = self_signed(folder, [one.host for one in endpoints if one.exporter is Exporter.GNMI])
    return Credentials(key.read_bytes(), chain.read_bytes(), config.gnmi_username, password)


def flavour_of(config: ServeConfig, layout: Layout, switch: str) -> Flavour:
    return config.leaf_flavour if switch in layout.leaves else config.spine_flavour


def _switch(
    config: ServeConfig, layout: Layout, latest: Latest, endpoint: Endpoint, credentials: Credentials
) -> GnmiServer:
    current = latest.of_exporter(layout.endpoint_index[Exporter.GNMI, endpoint.device])
    view = View(current, latest)
    if flavour_of(config, layout, endpoint.device) is Flavour.SONIC:
        tree: Tree = SonicTree(layout, endpoint.device, config.sonic_aliases)
    else:
        tree = OpenConfigTree(layout, endpoint.device)
    return GnmiServer(endpoint.address, tree, view, credentials)


def _page(layout: Layout, latest: Latest, io_times: IoTimes, endpoint: Endpoint, *, stamped: bool) -> PageServer:
    current = latest.of_exporter(layout.endpoint_index.get((endpoint.exporter, endpoint.device)))
    render = _renderer(layout, io_times, endpoint)

    def page() -> str:
        return render(current().readings, latest().now_ns // NS_PER_MS if stamped else None)

    if endpoint.exporter is Exporter.SLURM:
        return PageServer(Page(endpoint.host, endpoint.port, page, slurm.PATH, "application/json"))
    return PageServer(Page(endpoint.host, endpoint.port, page, "/metrics", CONTENT_TYPE))


def _renderer(layout: Layout, io_times: IoTimes, endpoint: Endpoint) -> Render:
    device = endpoint.device
    match endpoint.exporter:
        case Exporter.DCGM:
            return DcgmPage(layout, device).render
        case Exporter.NODE:
            return node_page(layout, device).render
        case Exporter.LUSTRE if device in layout.servers:
            return server_page(layout, device, io_times).render
        case Exporter.LUSTRE:
            return client_page(layout, device).render
        case _:
            gpus_per_host = len(layout.gpus) // len(layout.hosts)
            return lambda readings, _: slurm.jobs_document(readings, gpus_per_host)
