"""Finds what other programs know of the cluster, asks for the rest, and writes the first settings."""

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from common.documents.bounded_yaml import BYTES_MAX, parse_bounded
from common.errors import ConfigError
from common.printing import printable
from fabricscope.first_settings.cluster import Cluster
from fabricscope.first_settings.documents import GNMI_PORTS, Wanted, inventory_text, settings_text
from fabricscope.first_settings.lldp import parse_neighbours
from fabricscope.first_settings.slurm import parse_node_names
from fabricscope.first_settings.targets import PORTS, devices_of, source_of
from fabricscope.settings import load_settings
from ingest.collectors.exposition.discovery import parse_groups
from ingest.collectors.inventory.parse import parse_inventory
from telemetry.topology import Role

SETTINGS, INVENTORY = "fabricscope.yaml", "inventory.yaml"
LLDP = ("lldpcli", "-f", "json", "show", "neighbors")
SLURM = ("scontrol", "show", "nodes", "--json")
COMMAND_S = 20.0
CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Sources:
    """Where to look. targets: ``[SOURCE=]FILE``, lldp: ``[DEVICE=]FILE``, discover: commands of this machine too."""

    targets: Sequence[str] = ()
    lldp: Sequence[str] = ()
    slurm_nodes: Sequence[Path] = ()
    discover: bool = True


def init(folder: Path, sources: Sources, wanted: Wanted, *, force: bool, ask: bool) -> None:
    """Writes both files into ``folder`` and prints what is in them.

    ConfigError when one is there and not ``force``; that or BadInput for a source that cannot be used. Nothing is
    written then.
    """
    paths = [folder / SETTINGS, folder / INVENTORY]
    try:
        there = [path for path in paths if path.exists()]
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}") from None
    if there and not force:
        raise ConfigError(f"{there[0]}: is there already; --force writes over it")
    cluster = Cluster()
    for line in find(cluster, sources):
        print(printable(line))
    files = _target_files(cluster, sources.targets)
    wanted = replace(wanted, files=files, jobs_from_slurm=sources.discover and shutil.which("squeue") is not None)
    if ask:
        wanted = _ask(cluster, wanted)
    wanted = replace(wanted, cluster=wanted.cluster or CLUSTER)
    texts = (settings_text(cluster, wanted, paths[1].absolute()), inventory_text(cluster))
    summary = _summary(*texts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}") from None
    print(f"{paths[1]}: {_count(cluster)}")
    print(f"{paths[0]}:")
    for line in summary:
        print(f"  {printable(line)}")
    print(f"Next: fabricscope collect --config {paths[0]}")


def _summary(settings: str, inventory: str) -> list[str]:
    """What the settings configure; ConfigError when either text would be refused. Nothing of it stays."""
    parse_inventory(inventory, INVENTORY)
    with TemporaryDirectory(prefix="fabricscope-init-") as folder:
        path = Path(folder) / SETTINGS
        path.write_text(settings)
        try:
            return load_settings(path).summary()
        except ConfigError as error:  # of the options, and not of a file that is gone by now
            raise ConfigError(re.sub(rf"^{re.escape(str(path))}:\d+:\d+: ", "", str(error), flags=re.M)) from None


def find(cluster: Cluster, sources: Sources) -> list[str]:
    """Adds what the sources know; a line for each that was asked, and for what was left out."""
    lines = []
    for given in sources.lldp:
        name, _, file = given.rpartition("=")
        lines.append(_add_lldp(cluster, _read(Path(file)), name or socket.gethostname(), file))
    for path in sources.slurm_nodes:
        lines.append(_add_slurm(cluster, _read(path), str(path)))
    if sources.discover:
        if not sources.lldp and (body := _run(LLDP)) is not None:
            lines.append(_add_lldp(cluster, body, socket.gethostname(), "lldpcli"))
        if not sources.slurm_nodes and (body := _run(SLURM)) is not None:
            lines.append(_add_slurm(cluster, body, "scontrol"))
    return lines + cluster.leave_out_shared_addresses()


def _add_lldp(cluster: Cluster, body: bytes, device: str, where: str) -> str:
    found, left_out = parse_neighbours(body, device, where)
    cluster.add_neighbours(found)
    rest = f", {left_out} left out: without a name, or one that an inventory cannot hold" if left_out else ""
    return f"{where}: {len(found)} neighbours of {device}{rest}"


def _add_slurm(cluster: Cluster, body: bytes, where: str) -> str:
    names = parse_node_names(body, where)
    cluster.add_hosts(names)
    return f"{where}: {len(set(names))} nodes of Slurm"


def _target_files(cluster: Cluster, targets: Sequence[str]) -> dict[str, tuple[Path, ...]]:
    """By source. Their devices are hosts of the cluster."""
    files: dict[str, tuple[Path, ...]] = {}
    for given in targets:
        source, _, name = given.rpartition("=")
        path = Path(name)
        groups = parse_groups(parse_bounded(_read(path), name) or [], name)
        source = source or source_of(groups, name)
        files[source] = (*files.get(source, ()), path.absolute())
        cluster.add_hosts(devices_of(groups))
        print(printable(f"{name}: {sum(len(group.targets) for group in groups)} targets of {source}"))
    return files


def _ask(cluster: Cluster, wanted: Wanted) -> Wanted:
    """For what no option gave; an empty answer is none."""
    if not wanted.cluster:
        wanted = replace(wanted, cluster=typer.prompt("Name of the cluster", default=CLUSTER))
    roles = list(cluster.roles().values())
    if roles.count(Role.HOST) and not wanted.exporters:
        text = f"Exporters on each of {roles.count(Role.HOST)} hosts ({', '.join(PORTS)}; several with commas)"
        answer = typer.prompt(text, default="", value_proc=lambda text: _known(_words(text), PORTS))
        wanted = replace(wanted, exporters=tuple(answer))
    if cluster.addresses and not wanted.gnmi:
        text = f"gNMI of {len(cluster.addresses)} switches ({', '.join(GNMI_PORTS)})"
        answer = typer.prompt(text, default="", value_proc=lambda text: _known(_words(text)[:1], GNMI_PORTS))
        wanted = replace(wanted, gnmi="".join(answer))
    if not wanted.alertmanager:
        wanted = replace(wanted, alertmanager=typer.prompt("Address of Alertmanager (http://…)", default=""))
    if not wanted.remote_write:
        text = "Address for Prometheus remote write (http://…/api/v1/write)"
        wanted = replace(wanted, remote_write=typer.prompt(text, default=""))
    return wanted


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _known(words: list[str], known: dict[str, int]) -> list[str]:
    for word in words:
        if word not in known:
            raise typer.BadParameter(f"{word}: expected {', '.join(known)}")
    return words


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _count(cluster: Cluster) -> str:
    roles = [role.value for role in cluster.roles().values()]
    counted = [f"{roles.count(role)} {role}" for role in sorted(set(roles))]
    return ", ".join([*counted, f"{len(cluster.links)} links"]) if roles else "no devices yet"


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


def _run(command: Sequence[str]) -> bytes | None:
    """Its output; None where there is no such command, or it has nothing to say, as without its daemon."""
    if shutil.which(command[0]) is None:
        return None
    try:
        return subprocess.run(command, capture_output=True, timeout=COMMAND_S, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        print(printable(f"{' '.join(command)}: {error}"), file=sys.stderr)
        return None
