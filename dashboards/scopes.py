"""What the lines of a panel are: ports, queues, GPUs, …; how one is selected, called, and opened."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from dashboards.model import DrillDown
from dashboards.queries import CLUSTER, DEVICES, with_index

PORT_BOARD, DEVICE_BOARD, NODE_BOARD = "fabricscope-port", "fabricscope-device", "fabricscope-node"
GPU_BOARD, JOB_BOARD = "fabricscope-gpu-one", "fabricscope-job"
OPENS_PORT = DrillDown(PORT_BOARD, ("device", "port"))
OPENS_DEVICE = DrillDown(DEVICE_BOARD, ("device",))
OPENS_NODE = DrillDown(NODE_BOARD, ("device",))
OPENS_GPU = DrillDown(GPU_BOARD, ("device", "gpu"))
OPENS_JOB = DrillDown(JOB_BOARD, ("job",))


def _as_it_is(expr: str) -> str:
    return expr


@dataclass(frozen=True)
class Scope:
    """labels: matchers of all series. by: labels that identify one line, beside the cluster's.

    noun: in the plural, for titles. legend: '' where all lines are of one object. named: adds labels that people read.
    opens: the board of one of them.
    """

    labels: str
    by: tuple[str, ...]
    noun: str
    legend: str
    opens: DrillDown
    named: Callable[[str], str] = _as_it_is

    def of(self, labels: str) -> "Scope":
        """The same of other series."""
        return replace(self, labels=labels)

    @property
    def grouping(self) -> str:
        return ", ".join(("cluster", *self.by))


PORTS = Scope(DEVICES, ("device", "port"), "ports", "{{device}} {{port}}", OPENS_PORT)
QUEUES = Scope(DEVICES, ("device", "port", "queue"), "queues", "{{device}} {{port}} q{{queue}}", OPENS_PORT)
SWITCHES = Scope(DEVICES, ("device",), "switches", "{{device}}", OPENS_DEVICE)
NODES = Scope(DEVICES, ("device",), "nodes", "{{device}}", OPENS_NODE)
NICS = Scope(DEVICES, ("device", "port"), "NICs", "{{device}} {{port}}", OPENS_NODE)
GPUS = Scope(DEVICES, ("device", "gpu"), "GPUs", "{{device}} GPU {{index}}", OPENS_GPU, with_index)
STORAGE_TARGETS = Scope(
    DEVICES + ',side="server",fs!=""', ("device", "fs", "target"), "targets", "{{fs}} {{target}}", OPENS_NODE
)

# Objects: all lines of a panel are of one port, switch, node or GPU; their panels lead to what it is a part of.
_ONE_PORT = CLUSTER + ',device=~"$device",port=~"$port"'
_ONE_DEVICE = CLUSTER + ',device=~"$device"'
_ONE_GPU = CLUSTER + ',device=~"$device",gpu=~"$gpu"'
ONE_PORT = Scope(_ONE_PORT, ("device", "port"), "ports", "", OPENS_DEVICE)
ONE_PORTS_QUEUES = Scope(_ONE_PORT, ("device", "port", "queue"), "queues", "queue {{queue}}", OPENS_DEVICE)
PORTS_OF_ONE = Scope(_ONE_DEVICE, ("device", "port"), "ports", "{{port}}", OPENS_PORT)
NICS_OF_ONE = Scope(_ONE_DEVICE, ("device", "port"), "NICs", "{{port}}", DrillDown("fabricscope-fabric"))
GPUS_OF_ONE = Scope(_ONE_DEVICE, ("device", "gpu"), "GPUs", "GPU {{index}}", OPENS_GPU, with_index)
ONE_SWITCH = Scope(_ONE_DEVICE, ("device",), "switches", "", DrillDown("fabricscope-links"))
ONE_NODE = Scope(_ONE_DEVICE, ("device",), "nodes", "", DrillDown("fabricscope-gpu"))
ONE_GPU = Scope(_ONE_GPU, ("device", "gpu"), "GPUs", "", OPENS_NODE)
