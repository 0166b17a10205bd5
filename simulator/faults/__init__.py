"""``FAULTS``: all faults by the names that the command line and schedules use, and what each of them can break."""

from simulator.faults.base import Fault
from simulator.faults.cables import CableSwap, DirtyOptic, LinkDown, LinkFlap, SpeedDowngrade
from simulator.faults.congestion import Incast, SlowReceiver
from simulator.faults.feeds import PduPhaseLoss, RowPowerLoss
from simulator.faults.gpus import GpuMemoryWears, GpuThermalThrottle, HungGpu, NvlinkDown, StragglerGpu, Xid
from simulator.faults.hosts import FanWallFailure, NicDriverPush, RdmaOverSockets
from simulator.faults.jobs import NcclHang
from simulator.faults.pauses import LosslessMisconfigured, PfcDeadlock
from simulator.faults.power import PlannedRebootWave, RackCooling, RackPowerLoss, RollingReboot
from simulator.faults.storage import LateCheckpoint, SlowStorageTarget, StorageServerDown
from simulator.faults.switches import LeafDown, LineCardDown, RoutingDaemonDown, SpineDown, SwitchReboot
from simulator.faults.telemetry import ExporterFrozen
from simulator.layout import Layout

_STANDARD: tuple[type[Fault], ...] = (
    SlowReceiver,
    Incast,
    DirtyOptic,
    LinkDown,
    LinkFlap,
    SpeedDowngrade,
    SpineDown,
    SwitchReboot,
    GpuThermalThrottle,
    Xid,
    StragglerGpu,
    HungGpu,
    GpuMemoryWears,
    SlowStorageTarget,
    LateCheckpoint,
    ExporterFrozen,
    RackPowerLoss,
    RackCooling,
    PlannedRebootWave,
)
_FURTHER: tuple[type[Fault], ...] = (
    LeafDown,
    StorageServerDown,
    LineCardDown,
    PduPhaseLoss,
    RowPowerLoss,
    FanWallFailure,
    RoutingDaemonDown,
    NicDriverPush,
    PfcDeadlock,
    RdmaOverSockets,
    NvlinkDown,
    LosslessMisconfigured,
    CableSwap,
    NcclHang,
    RollingReboot,
)
FAULTS: dict[str, type[Fault]] = {fault.name: fault for fault in (*_STANDARD, *_FURTHER)}
STANDARD = tuple(fault.name for fault in _STANDARD)
"""The faults of the standard campaigns, whose plans follow from a seed and the order of these names."""


def targets(layout: Layout, name: str) -> list[str]:
    """Every target that the fault ``name`` can break in this cluster, each as a schedule names it.

    An empty target lets the seed choose among fewer (links between switches of a pod, spines); a campaign that draws
    from these breaks leaf and spine ports, cables of hosts and storage servers, any GPU, any switch.
    """
    return FAULTS[name].targets(layout)
