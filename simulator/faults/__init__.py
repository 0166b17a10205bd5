"""``FAULTS``: all faults by the names that the command line and schedules use."""

from simulator.faults.base import Fault
from simulator.faults.cables import DirtyOptic, LinkDown, LinkFlap, SpeedDowngrade
from simulator.faults.congestion import Incast, SlowReceiver
from simulator.faults.gpus import GpuMemoryWears, GpuThermalThrottle, HungGpu, StragglerGpu, Xid
from simulator.faults.power import PlannedRebootWave, RackCooling, RackPowerLoss
from simulator.faults.storage import LateCheckpoint, SlowStorageTarget
from simulator.faults.switches import SpineDown, SwitchReboot
from simulator.faults.telemetry import ExporterFrozen

FAULTS: dict[str, type[Fault]] = {
    fault.name: fault
    for fault in (
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
}
