"""Jobs of collectors as settings: one entry of ``scrape_configs`` or ``gnmi_configs``."""

from collections.abc import Iterable
from typing import Any

from simulator.layout import Endpoint, Exporter, Flavour
from simulator.servers.config import ServeConfig

SOURCES = {Exporter.DCGM: "dcgm", Exporter.NODE: "node_exporter", Exporter.LUSTRE: "lustre"}


def scrape_job(name: str, exporter: Exporter, endpoints: Iterable[Endpoint], interval_s: float) -> dict[str, Any]:
    return {
        "job_name": name,
        "source": SOURCES[exporter],
        "scrape_interval": interval_s,
        "static_configs": [
            {"targets": [endpoint.address], "labels": {"device": endpoint.device}} for endpoint in endpoints
        ],
    }


def gnmi_job(
    name: str, config: ServeConfig, flavour: Flavour, endpoints: Iterable[Endpoint], interval_s: float
) -> dict[str, Any]:
    return {
        "job_name": name,
        "source": "sonic" if flavour is Flavour.SONIC else "arista",
        "interval_s": interval_s,
        "tls": {"insecure_skip_verify": True} if config.gnmi_tls else {"insecure": True},
        "targets": [{"address": endpoint.address, "device": endpoint.device} for endpoint in endpoints],
    }
