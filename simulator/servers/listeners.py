"""Builds every server of a layout: which exporter serves which page or gNMI tree."""

from collections.abc import Callable
from pathlib import Path

from common.errors import ConfigError
from common.units import NS_PER_MS
from simulator.counters.readings import Readings
from simulator.layout import Endpoint, Exporter, Flavour, Layout
from simulator.servers.addresses import served_endpoints
from simulator.servers.collection.omitted import omitting
from simulator.servers.collection.plan import CollectionPlan
from simulator.servers.collection.polls import Polls
from simulator.servers.collection.samples import SampleLosses
from simulator.servers.config import ServeConfig
from simulator.servers.gnmi.openconfig import OpenConfigTree
from simulator.servers.gnmi.query import Tree
from simulator.servers.gnmi.server import Credentials, GnmiServer, View
from simulator.servers.gnmi.sonic import SonicTree
from simulator.servers.io_time import IoCounts
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
    config: ServeConfig,
    layout: Layout,
    latest: Latest,
    io_times: IoCounts,
    credentials: Credentials,
    plan: CollectionPlan | None = None,
) -> dict[int, list[Listener]]:
    """Servers by the position of their device in the layout; -1 is Slurm, which is no device.

    plan: how their telemetry is collected, None: perfectly.
    """
    found: dict[int, list[Listener]] = {}
    for endpoint in served_endpoints(layout, config.address_offset):
        if endpoint.exporter is Exporter.GNMI:
            listener: Listener = _switch(config, layout, latest, endpoint, credentials, plan)
        else:
            listener = _page(config, layout, latest, io_times, endpoint, plan)
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
    config: ServeConfig,
    layout: Layout,
    latest: Latest,
    endpoint: Endpoint,
    credentials: Credentials,
    plan: CollectionPlan | None,
) -> GnmiServer:
    current = latest.of_exporter(layout.endpoint_index[Exporter.GNMI, endpoint.device])
    absent = plan.config.absent if plan is not None else ()
    if flavour_of(config, layout, endpoint.device) is Flavour.SONIC:
        tree: Tree = SonicTree(layout, endpoint.device, config.sonic_aliases, omitting(absent, "sonic"))
    else:
        tree = OpenConfigTree(layout, endpoint.device, omitting(absent, "arista", "openconfig"))
    if plan is None:
        return GnmiServer(endpoint.address, tree, View(current, latest), credentials)
    drawn = plan.target(endpoint)
    losses = None
    if drawn.losses is not None:
        losses = SampleLosses(drawn.losses, _elapsed(plan, latest), plan.cluster.interval_s / config.speed)
    return GnmiServer(endpoint.address, tree, View(current, latest, drawn.clock), credentials, losses)


def _page(
    config: ServeConfig,
    layout: Layout,
    latest: Latest,
    io_times: IoCounts,
    endpoint: Endpoint,
    plan: CollectionPlan | None,
) -> PageServer:
    current = latest.of_exporter(layout.endpoint_index.get((endpoint.exporter, endpoint.device)))
    render = _renderer(layout, io_times, endpoint, plan.config.absent if plan is not None else ())
    polls = _polls(config, latest, endpoint, plan) if plan is not None else None
    stamped = config.speed > 1

    def page() -> str:
        return render(current().readings, latest().now_ns // NS_PER_MS if stamped else None)

    if endpoint.exporter is Exporter.SLURM:
        return PageServer(Page(endpoint.host, endpoint.port, page, slurm.PATH, "application/json"), polls)
    return PageServer(Page(endpoint.host, endpoint.port, page, "/metrics", CONTENT_TYPE), polls)


def _polls(config: ServeConfig, latest: Latest, endpoint: Endpoint, plan: CollectionPlan) -> Polls:
    elapsed = _elapsed(plan, latest)
    if endpoint.exporter is Exporter.SLURM:
        rng = plan.draws.rng("durations", "slurm")
        return Polls(plan.job_losses, None, rng, plan.job_interval_s, elapsed, config.speed)
    drawn = plan.target(endpoint)
    return Polls(drawn.losses, plan.config.durations, drawn.durations, drawn.timeout_s, elapsed, config.speed)


def _elapsed(plan: CollectionPlan, latest: Latest) -> Callable[[], int]:
    """Simulated time since the start."""
    return lambda: latest().now_ns - plan.start_ns


def _renderer(layout: Layout, io_times: IoCounts, endpoint: Endpoint, absent: tuple[str, ...]) -> Render:
    device = endpoint.device
    match endpoint.exporter:
        case Exporter.DCGM:
            return DcgmPage(layout, device, omitting(absent, "dcgm")).render
        case Exporter.NODE:
            return node_page(layout, device, omitting(absent, "node_exporter")).render
        case Exporter.LUSTRE if device in layout.servers:
            return server_page(layout, device, io_times, omitting(absent, "lustre")).render
        case Exporter.LUSTRE:
            return client_page(layout, device, omitting(absent, "lustre")).render
        case _:
            gpus_per_host = len(layout.gpus) // len(layout.hosts)
            return lambda readings, _: slurm.jobs_document(readings, gpus_per_host)
