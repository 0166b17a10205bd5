"""Faults of one GPU."""

from simulator.faults.base import Fault
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, gpu


class _OnGpu(Fault):
    target_form = "host/index or host/UUID"
    gpu = -1

    @property
    def root(self) -> ObjectRef:
        unit = self.machine.layout.gpus[self.gpu]
        return gpu(unit.device, unit.uuid)

    @property
    def reach(self) -> tuple[str, ...]:
        return (self.machine.layout.gpus[self.gpu].device,)


class StragglerGpu(_OnGpu):
    """The clock is stuck below its peers' without any throttle reason: the GPU is always busy, its peers wait."""

    name = "straggler-gpu"
    kind = IncidentKind.STRAGGLER
    LOST_CLOCK = 0.45

    def begin(self) -> None:
        self.gpu = self.choose_gpu()
        self.machine.gpus.stuck[self.gpu] = max(0.1, 1.0 - self.LOST_CLOCK * self.strength)

    def end(self) -> None:
        self.machine.gpus.stuck[self.gpu] = 1.0


class HungGpu(_OnGpu):
    """A kernel never returns: the GPU looks busy and computes nothing, its peers spin and wait for it."""

    name = "hung-gpu"
    kind = IncidentKind.GPU_FAULT

    def begin(self) -> None:
        self.gpu = self.choose_gpu()
        self.machine.gpus.hung[self.gpu] = True

    def end(self) -> None:
        self.machine.gpus.hung[self.gpu] = False


class GpuThermalThrottle(_OnGpu):
    """The heat sink lost contact: the GPU reaches its slowdown temperature and the driver lowers its clock."""

    name = "gpu-thermal-throttle"
    kind = IncidentKind.GPU_FAULT
    MORE_RESISTANCE = 2.0

    def begin(self) -> None:
        self.gpu = self.choose_gpu()
        self.machine.gpus.cooling[self.gpu] = 1.0 + self.MORE_RESISTANCE * self.strength

    def end(self) -> None:
        self.machine.gpus.cooling[self.gpu] = 1.0


class GpuMemoryWears(_OnGpu):
    """A memory row wears out: single-bit errors, then one that ECC cannot correct; the row is remapped."""

    name = "gpu-memory-wears"
    kind = IncidentKind.GPU_FAULT
    ERRORS_PER_S, LOST_AFTER_S, XID = 1.0, 60.0, 63  # NVIDIA's XID 63: row remapping recorded

    def begin(self) -> None:
        self.gpu = self.choose_gpu()
        self._lost = False

    def step(self, elapsed_s: float) -> None:
        gpus, machine = self.machine.gpus, self.machine
        gpus.bit_errors[self.gpu, 0] += self.rng.poisson(self.ERRORS_PER_S * self.strength * machine.dt)
        if elapsed_s >= self.LOST_AFTER_S and not self._lost:
            self._lost = True
            gpus.bit_errors[self.gpu, 1] += 1.0
            gpus.remapped_rows[self.gpu, 1] += 1.0
            gpus.xid[self.gpu] = self.XID

    def end(self) -> None:
        """The row is out of use."""


class Xid(_OnGpu):
    """XID 79: the GPU falls off the bus. Its series vanish, its job dies, its host takes no further job."""

    name = "xid"
    kind = IncidentKind.GPU_FAULT
    CODE = 79

    def begin(self) -> None:
        self.gpu = self.choose_gpu()
        self.machine.drain(self.machine.layout.gpus[self.gpu].device, True)
        self.machine.lose_gpu(self.gpu, self.CODE)

    def end(self) -> None:
        host = self.machine.layout.gpus[self.gpu].device
        self.machine.drain(host, False)
        self.machine.power([host], False, "lost its host")
        self.machine.power([host], True, "")
