"""What the fabric is drawn and incidents are explained from: the cluster now, or as of a time of a replay."""

from typing import Protocol

from fabricscope.api.wall.newest import NewestSamples
from fabricscope.api.wall.plan import Fabric
from fabricscope.api.wall.traffic import Traffic
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.topology import Topology


class Shown(Protocol):
    """incidents, findings: by id. gpu_info: the newest samples that name GPUs."""

    @property
    def incidents(self) -> dict[str, Incident]: ...
    @property
    def findings(self) -> dict[str, Finding]: ...
    @property
    def topology(self) -> Topology: ...
    @property
    def gpu_info(self) -> NewestSamples: ...
    def fabric(self) -> Fabric: ...
    def traffic(self) -> Traffic: ...
