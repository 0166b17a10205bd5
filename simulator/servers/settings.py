"""Settings and inventory for a simulator: what an operator would write for a real cluster."""

from pathlib import Path
from typing import Any

import yaml

from simulator.collection.config import Inventory
from simulator.layout import GPU_MODEL, Exporter, Flavour, Layout
from simulator.servers.addresses import served_endpoints
from simulator.servers.collection.inventory import device_entry, recorded_document
from simulator.servers.collection.job_settings import gnmi_jobs, scrape_jobs
from simulator.servers.collection.plan import CollectionPlan
from simulator.servers.config import ServeConfig
from simulator.servers.job_settings import SOURCES, gnmi_job, scrape_job
from simulator.servers.listeners import flavour_of
from simulator.servers.pages import slurm

_HEADER = "# Written by `fabricscope simulate`: collects from the simulated cluster.\n"


def settings_text(config: ServeConfig, layout: Layout, path: Path, wall_ns: int, event_ns: int) -> dict[Path, str]:
    """Text of the settings file at ``path`` and, unless nobody keeps one, of the inventory file beside it, by file.

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
    document = _inventory(config, layout)
    texts = {inventory: _HEADER + _yaml(document)} if document else {}
    return {**texts, path: _HEADER + _yaml(settings)}


def collection(config: ServeConfig, layout: Layout, inventory: Path) -> dict[str, Any]:
    """What is collected, and from where. Intervals are real time: a fast simulation is read more often."""
    interval_s = round(config.cluster.interval_s / config.speed, 3)
    endpoints = served_endpoints(layout, config.address_offset)
    of_exporter = {exporter: [one for one in endpoints if one.exporter is exporter] for exporter in Exporter}
    switches = {
        flavour: found
        for flavour in Flavour
        if (found := [o for o in of_exporter[Exporter.GNMI] if flavour_of(config, layout, o.device) is flavour])
    }
    plan = _plan(config, layout)
    if plan is None:
        scraped = [scrape_job(exporter.value, exporter, of_exporter[exporter], interval_s) for exporter in SOURCES]
        streamed = [gnmi_job(f"gnmi-{one}", config, one, found, interval_s) for one, found in switches.items()]
    else:
        scraped, streamed = scrape_jobs(config, plan, endpoints), gnmi_jobs(config, plan, switches)
        interval_s = round(plan.job_interval_s / config.speed, 3)
    (scheduler,) = of_exporter[Exporter.SLURM]
    jobs = {"name": "slurm", "url": f"http://{scheduler.address}{slurm.PATH}", "interval_s": interval_s}
    file = {"inventory": {"file": str(inventory)}} if _inventory(config, layout) else {}
    sources = [jobs] if plan is None or plan.config.jobs_known else []
    return {"scrape_configs": scraped, "gnmi_configs": streamed, "job_sources": sources, **file}


def _plan(config: ServeConfig, layout: Layout) -> CollectionPlan | None:
    return CollectionPlan(config.collection, config.cluster, layout, 0) if config.collection is not None else None


def _inventory(config: ServeConfig, layout: Layout) -> dict[str, Any]:
    """The inventory file's content; {} when nobody keeps one."""
    plan = _plan(config, layout)
    if plan is None or plan.config.inventory == Inventory():
        return inventory_document(layout)
    return recorded_document(plan, layout)


def inventory_document(layout: Layout) -> dict[str, Any]:
    """Roles, places, ASICs, which NIC serves a GPU, storage targets, mounts; links come by LLDP, jobs from Slurm."""
    return {
        "devices": [device_entry(device) for device in layout.devices],
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


def _yaml(document: dict[str, Any]) -> str:
    text: str = yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, width=120)
    return text
