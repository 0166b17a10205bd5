"""Faults of one GPU."""

from simulator.compute.figures import COMPUTE
from simulator.compute.gpus import NVLINK_BYTES_PER_S, NVLINK_RATED_BYTES_PER_S
from simulator.fabric.parameters import PCIE_BYTES_PER_S
from simulator.faults.base import Fault, gpu_names
from simulator.layout import Layout
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, gpu


class _OnGpu(Fault):
    target_form = "host/index or host/UUID"
    gpu = -1

    @classmethod
    def targets(cls, layout: Layout) -> list[str]:
        return gpu_names(layout)

    @property
    def root(self) -> ObjectRef:
        unit = self.machine.layout.gpus[self.gpu]
        return gpu(unit.device, unit.uuid)

    @property
    def reach(self) -> tuple[str, ...]:
        return (self.machine.layout.gpus[self.gpu].device,)


class StragglerGpu(_OnGpu):
    """The clock is stuck below its peers' without any throttle reason: the GPU is always busy, its peers wait.

    45 % of the clock: assumption.
    """

    name = "straggler-gpu"
    kind = IncidentKind.STRAGGLER
    LOST_CLOCK = 0.45

    def begin(self) -> None:
        self.gpu = self.choose_gpu()
        self.hold(self.machine.gpus.stuck, self.gpu, max(0.1, 1.0 - self.LOST_CLOCK * self.strength), min)

    def end(self) -> None:
        self.release()


class HungGpu(_OnGpu):
    """A kernel never returns: the GPU looks busy and computes nothing, its peers spin and wait for it."""

    name = "hung-gpu"
    kind = IncidentKind.GPU_FAULT

    def begin(self) -> None:
        self.gpu = self.choose_gpu()
        self.hold(self.machine.gpus.hung, self.gpu, True, max)

    def end(self) -> None:
        self.release()


class GpuThermalThrottle(_OnGpu):
    """The heat sink lost contact: the GPU reaches its slowdown temperature and the driver lowers its clock.

    Three times the resistance: assumption.
    """

    name = "gpu-thermal-throttle"
    kind = IncidentKind.GPU_FAULT
    MORE_RESISTANCE = 2.0

    def begin(self) -> None:
        self.gpu = self.choose_gpu()
        self.hold(self.machine.gpus.cooling, self.gpu, self.MORE_RESISTANCE * self.strength, sum)

    def end(self) -> None:
        self.release()


class GpuMemoryWears(_OnGpu):
    """A memory row wears out: single-bit errors, then one that ECC cannot correct; the row is remapped.

    Rate and time: assumption, so that a campaign sees it.
    """

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
    """XID 79: the GPU falls off the bus (NVIDIA's XID catalogue). Its series vanish, its job dies, its host takes no
    further job.
    """

    name = "xid"
    kind = IncidentKind.GPU_FAULT
    CODE = 79

    def begin(self) -> None:
        self.gpu = self.choose_gpu()
        self.machine.drain(self.machine.layout.gpus[self.gpu].device, True)
        self.machine.lose_gpu(self.gpu, self.CODE)
        self.hold(self.machine.off_the_bus, self.gpu, True, max)

    def end(self) -> None:
        self.release()
        host = self.machine.layout.gpus[self.gpu].device
        self.machine.drain(host, False)
        self.machine.power([host], False, "lost its host")
        self.machine.power([host], True, "")


class NvlinkDown(_OnGpu):
    """The NVLinks of a GPU fail (XID 74): what it exchanged with its neighbours over 450 GB/s crosses PCIe. Its kernels
    wait for that, tensor cores idle in between, and its peers wait for it; clock, heat and power limit are as ever.

    The part of compute time that is exchange follows from its NVLink traffic; PCIe makes that part longer by the ratio
    of the rates. A weak fault (strength below 1) leaves some of the links. Kokolis et al. (Revisiting Reliability in
    Large-Scale Machine Learning Research Clusters, 2024) list NVLink among the causes of failed jobs.
    """

    name = "nvlink-down"
    kind = IncidentKind.GPU_FAULT
    accepted = (IncidentKind.STRAGGLER,)
    strengths = (0.1, 1.0)
    XID = 74  # NVIDIA's XID 74: NVLink error

    def begin(self) -> None:
        self.gpu = self.choose_gpu()
        gpus = self.machine.gpus
        exchange = NVLINK_BYTES_PER_S[COMPUTE] / NVLINK_RATED_BYTES_PER_S
        left = (1.0 - self.strength) * NVLINK_RATED_BYTES_PER_S + self.strength * PCIE_BYTES_PER_S
        pace = 1.0 / (1.0 - exchange + exchange * NVLINK_RATED_BYTES_PER_S / left)
        self.hold(gpus.pace, self.gpu, pace, min)
        if self.strength == 1.0:
            self.hold(gpus.nvlink, self.gpu, False, min)
        gpus.xid[self.gpu] = self.XID

    def end(self) -> None:
        self.release()
