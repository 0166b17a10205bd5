"""Settings and inventory for a simulator: what an operator would write for a real cluster."""

from pathlib import Path
from typing import Any

import yaml

from simulator.layout import GPU_MODEL, Endpoint, Exporter, Flavour, Layout
from simulator.servers.addresses import served_endpoints
from simulator.servers.config import ServeConfig
from simulator.servers.listeners import flavour_of
from simulator.servers.pages import slurm

_SOURCES = {Exporter.DCGM: "dcgm", Exporter.NODE: "node_exporter", Exporter.LUSTRE: "lustre"}
_HEADER = "# Written by `fabricscope simulate`: collects from the simulated cluster.\n"


def settings_text(config: ServeConfig, layout: Layout, path: Path, wall_ns: int, event_ns: int) -> dict[Path, str]:
    """Text of the settings file at ``path`` and of the inventory file beside it, by file.

    wall_ns, event_ns: one moment by the wall clock and in simulated time, from which the collectors of a fast
    simulation compute the time.
    """
    inventory = path.with_name(f"{path.stem}.inventory.yaml")
    simulated_time = {"wall_ns": wall_ns, "event_ns": event_ns, "speed": config.speed}
    settings = {
        "global": {
            "cluster": "simulated",
            "data_dir": str(path.parent / "data"),
            **({"simulated_time": simulated_time} if config.speed != 1 else {}),
        },
        **collection(config, layout, inventory),
        "analytics": {"engine": {"interval_s": config.cluster.interval_s}},
    }
    return {inventory: _HEADER + _yaml(inventory_document(layout)), path: _HEADER + _yaml(settings)}


def collection(config: ServeConfig, layout: Layout, inventory: Path) -> dict[str, Any]:
    """What is collected, and from where. Intervals are real time: a fast simulation is read more often."""
    interval_s = round(config.cluster.interval_s / config.speed, 3)
    endpoints = served_endpoints(layout, config.address_offset)
    (scheduler,) = (one for one in endpoints if one.exporter is Exporter.SLURM)
    jobs = {"name": "slurm", "url": f"http://{scheduler.address}{slurm.PATH}", "interval_s": interval_s}
    return {
        "scrape_configs": [_scrape(exporter, endpoints, interval_s) for exporter in _SOURCES],
        "gnmi_configs": [
            job for flavour in Flavour if (job := _gnmi(config, layout, flavour, endpoints, interval_s))["targets"]
        ],
        "job_sources": [jobs],
        "inventory": {"file": str(inventory)},
    }


def inventory_document(layout: Layout) -> dict[str, Any]:
    """Roles, racks, rails, which NIC serves which GPU, storage targets, mounts; links come by LLDP, jobs from Slurm."""
    devices = []
    for device in layout.devices:
        places = {"pod": device.pod, "rack": device.rack, "rail": device.rail}
        devices.append(
            {"name": device.name, "role": device.role.value} | {key: text for key, text in places.items() if text}
        )
    return {
        "devices": devices,
        "gpus": [
            {
                "device": gpu.device,
                "uuid": gpu.uuid,
                "index": gpu.index,
                "nic_port": layout.nics[gpu.nic].name,
                "model": GPU_MODEL,
            }
            for gpu in layout.gpus
        ],
        "storage_targets": [
            {"filesystem": layout.filesystem, "target": target.name, "server": target.server}
            for target in layout.targets
        ],
        "mounts": [{"device": host, "filesystem": layout.filesystem} for host in layout.hosts],
    }


def _scrape(exporter: Exporter, endpoints: list[Endpoint], interval_s: float) -> dict[str, Any]:
    return {
        "job_name": exporter.value,
        "source": _SOURCES[exporter],
        "scrape_interval": interval_s,
        "static_configs": [
            {"targets": [endpoint.address], "labels": {"device": endpoint.device}}
            for endpoint in endpoints
            if endpoint.exporter is exporter
        ],
    }


def _gnmi(
    config: ServeConfig, layout: Layout, flavour: Flavour, endpoints: list[Endpoint], interval_s: float
) -> dict[str, Any]:
    return {
        "job_name": f"gnmi-{flavour}",
        "source": "sonic" if flavour is Flavour.SONIC else "arista",
        "interval_s": interval_s,
        "tls": {"insecure_skip_verify": True} if config.gnmi_tls else {"insecure": True},
        "targets": [
            {"address": endpoint.address, "device": endpoint.device}
            for endpoint in endpoints
            if endpoint.exporter is Exporter.GNMI and flavour_of(config, layout, endpoint.device) is flavour
        ],
    }


def _yaml(document: dict[str, Any]) -> str:
    text: str = yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, width=120)
    return text
