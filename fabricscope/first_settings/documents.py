"""The settings file and the inventory of a cluster that was found. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fabricscope.first_settings.cluster import Cluster
from fabricscope.first_settings.targets import PORTS
from telemetry.topology import Role

GNMI_PORTS = {"sonic": 8080, "arista": 6030, "openconfig": 9339, "junos": 32767, "cisco": 50051}
_SETTINGS = """\
# Settings of Fabricscope, written by `fabricscope init`. All keys with their meaning: fabricscope config print
# Then: fabricscope check config FILE; fabricscope collect --config FILE
"""
_INVENTORY = """\
# What the devices do not report about themselves, written by `fabricscope init`. Add pods, racks and rails, which pages
# then name. A name may be several: node[1-8]. The file is read again when it changes.
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What nobody can find, or somebody has to choose.

    exporters: sources that run on each host. files: lists of targets by source. gnmi: source of the switches, or
    empty. jobs_from_slurm: its commands are on this machine.
    """

    cluster: str
    data_dir: str = "data"
    exporters: tuple[str, ...] = ()
    files: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    gnmi: str = ""
    alertmanager: str = ""
    remote_write: str = ""
    jobs_from_slurm: bool = False


def settings_text(cluster: Cluster, wanted: Wanted, inventory: Path) -> str:
    document: dict[str, Any] = {"global": {"cluster": wanted.cluster, "data_dir": wanted.data_dir}}
    if jobs := _scrape_jobs(cluster, wanted):
        document["scrape_configs"] = jobs
    if wanted.gnmi and cluster.addresses:
        document["gnmi_configs"] = [_gnmi_job(cluster, wanted.gnmi)]
    if wanted.jobs_from_slurm:
        document["job_sources"] = [{"name": "slurm", "command": ["squeue", "--json"]}]
        document["node_sources"] = [{"name": "slurm-nodes", "command": ["scontrol", "show", "nodes", "--json"]}]
    document["inventory"] = {"file": str(inventory)}
    if wanted.alertmanager:
        receiver = {"name": "alertmanager", "type": "alertmanager", "url": wanted.alertmanager}
        document["alerting"] = {"receivers": [receiver]}
    if wanted.remote_write:
        document["remote_write"] = [{"url": wanted.remote_write}]
    return _SETTINGS + _yaml(document)


def inventory_text(cluster: Cluster) -> str:
    devices = [{"name": name, "role": role.value} for name, role in cluster.roles().items()]
    document: dict[str, Any] = {"devices": devices}
    if cluster.links:
        document["links"] = [{"from": one, "to": other} for one, other in sorted(cluster.links)]
    return _INVENTORY + _yaml(document)


def _scrape_jobs(cluster: Cluster, wanted: Wanted) -> list[dict[str, Any]]:
    hosts = [name for name, role in cluster.roles().items() if role is Role.HOST]
    jobs = []
    for source in dict.fromkeys((*wanted.exporters, *wanted.files)):
        job: dict[str, Any] = {"job_name": source, "source": source}
        if source in wanted.exporters and hosts:
            job["static_configs"] = [
                {"targets": [f"{name}:{PORTS[source]}"], "labels": {"device": name}} for name in hosts
            ]
        if source in wanted.files:
            job["file_sd_configs"] = [{"files": [str(file) for file in wanted.files[source]]}]
        if len(job) > 2:
            jobs.append(job)
    return jobs


def _gnmi_job(cluster: Cluster, source: str) -> dict[str, Any]:
    port = GNMI_PORTS[source]
    targets = [
        {"address": f"[{address}]:{port}" if ":" in address else f"{address}:{port}", "device": name}
        for name, address in sorted(cluster.addresses.items())
    ]
    return {"job_name": "switches", "source": source, "targets": targets}


def _yaml(document: dict[str, Any]) -> str:
    text: str = yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, width=120, allow_unicode=True)
    return text
