"""Which Grafana board shows the domain of an incident: pages link to it, and boards to each other."""

from collections.abc import Mapping

from telemetry.kinds import Domain

BOARD_OF: Mapping[Domain, str] = {
    Domain.FABRIC: "fabricscope-fabric",
    Domain.DEVICE: "fabricscope-links",
    Domain.GPU: "fabricscope-gpu",
    Domain.STORAGE: "fabricscope-storage",
    Domain.POWER: "fabricscope-power",
    Domain.CAPACITY: "fabricscope-capacity",
    Domain.TELEMETRY: "fabricscope-pipeline",
    Domain.UNKNOWN: "fabricscope-incidents",
}
"""The uid of the board, as in ``dashboards/boards``."""
