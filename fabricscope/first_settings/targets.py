"""Lists of targets that a Prometheus has: of which exporter they are, and of which devices. Pure."""

from collections.abc import Sequence

from common.errors import ConfigError
from fabricscope.first_settings.cluster import is_name
from ingest.collectors.exposition.discovery import TargetGroup

PORTS = {"dcgm": 9400, "node_exporter": 9100, "lustre": 32221, "amd": 5000}
"""Where the exporters of these sources listen unless somebody changed it."""


def source_of(groups: Sequence[TargetGroup], where: str) -> str:
    """By the ports of the targets. ConfigError when they are of no exporter, or of several."""
    ports = {address.rpartition(":")[2] for group in groups for address in group.targets}
    sources = {source for source, port in PORTS.items() if str(port) in ports}
    if len(sources) == 1 and len(ports) == 1:
        return sources.pop()
    known = ", ".join(f"{port} ({source})" for source, port in PORTS.items())
    raise ConfigError(f"{where}: ports {', '.join(sorted(ports)) or 'none'}, expected one of {known}; else SOURCE=FILE")


def devices_of(groups: Sequence[TargetGroup]) -> list[str]:
    """What the label device names; a target without it is known by its host, unless that is an address."""
    named = [group.labels.get("device") or address.rpartition(":")[0] for group in groups for address in group.targets]
    return [name for name in named if is_name(name) and not name.replace(".", "").isdigit() and ":" not in name]
