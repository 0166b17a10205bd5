"""SimulatorConfig: how large the simulated cluster is, what runs on it, and the seed that fixes everything else."""

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from simulator.compute.work.kind import WorkKind
from simulator.conditions.config import Conditions
from simulator.shapes.check import check_shape
from simulator.shapes.shape import Shape, Sizes, usual_sizes


class JobMix(BaseModel):
    """The jobs that the cluster runs. Those that train compute and exchange, read data and write checkpoints."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    jobs: int = Field(2, ge=0, le=64, description="jobs that run side by side; the hosts are divided among them")
    compute_s: float = Field(1.2, gt=0, description="compute time of one iteration at full clocks")
    allreduce_bytes: float = Field(
        14e9, gt=0, description="gradient bytes that each GPU's ring carries in one iteration"
    )
    load_bytes: float = Field(0.6e9, ge=0, description="bytes that each host reads from the file system per iteration")
    checkpoint_period_s: float = Field(240.0, gt=0, description="time between two checkpoints of a job")
    checkpoint_bytes: float = Field(60e9, gt=0, description="bytes that each host writes in one checkpoint")
    lifetime_s: float = Field(1500.0, gt=0, description="how long a job runs before the next one takes its hosts")
    gap_s: float = Field(20.0, ge=0, description="idle time between two jobs on the same hosts")
    kinds: tuple[WorkKind, ...] = Field(
        (WorkKind.DATA_PARALLEL,), min_length=1, description="what the jobs do: slots take them in turn and keep theirs"
    )


class SimulatorConfig(BaseModel):
    """The simulated cluster. Numbers left at 0 follow from ``hosts``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    hosts: int = Field(8, ge=2, le=4096, description="GPU hosts")
    gpus_per_host: int = Field(8, ge=1, le=8, description="GPUs, and as many NICs, of a host (single-rail: one NIC)")
    shape: Shape = Field(Shape.TWO_TIER, description="how hosts are connected: two-tier, three-tier, rail-only, …")
    oversubscription: float = Field(
        1.0, ge=1, le=64, description="host capacity of a leaf by its uplink capacity (three-tier: at the cores)"
    )
    hosts_per_pod: int = Field(
        0, ge=0, description="hosts that share their leaves; 0: 16, from 1025 hosts on 64, or half of them"
    )
    rails_per_leaf: int = Field(
        0, ge=0, le=8, description="NIC positions that one leaf serves; 0: 2 up to 16 hosts, else 1"
    )
    spines: int = Field(
        0,
        ge=0,
        le=128,
        description="spine switches (three-tier: aggregation switches of a pod); 0: 4 up to 16 hosts, else half the "
        "number of hosts, 64 from 1025 on (three-tier: 16, from 1025 hosts on 32)",
    )
    hosts_per_rack: int = Field(4, ge=1, description="hosts in one rack (one power feed)")
    storage_servers: int = Field(
        0, ge=0, le=512, description="storage servers (OSS), two NICs each; 0: one for 8 hosts, at least 2"
    )
    targets_per_server: int = Field(2, ge=1, le=16, description="storage targets (OST) of one server")
    filesystem: str = Field("scratch", pattern="^[^/]+$", description="name of the parallel file system")
    nic_gbps: float = Field(400.0, gt=0, description="speed of host NICs and leaf host ports")
    uplink_gbps: float = Field(0.0, ge=0, description="speed of leaf–spine links; 0: 800 up to 16 hosts, else 400")
    jobs: JobMix = JobMix()
    conditions: Conditions = Field((), description="ordinary behaviour that is no fault: name and strength of each")
    seed: int = Field(1, ge=0, description="fixes UUIDs, noise, random fault targets")
    boot_s: tuple[float, float] = Field((0.0, 0.0), description="shortest and longest time that a host takes to boot")
    step_ms: int = Field(10, ge=1, le=50, description="internal step of the model")
    interval_s: float = Field(10.0, gt=0, description="how often the cluster is read: clears the interval peaks")

    @model_validator(mode="after")
    def _fits(self) -> "SimulatorConfig":
        if self.nics_per_host % self.leaf_rails:
            raise ValueError(f"rails_per_leaf {self.leaf_rails}: must divide gpus_per_host {self.gpus_per_host}")
        check_shape(self)
        return self

    @field_validator("boot_s")
    @classmethod
    def _in_order(cls, boot_s: tuple[float, float]) -> tuple[float, float]:
        if not 0.0 <= boot_s[0] <= boot_s[1]:
            raise ValueError(f"{boot_s}: expected the shortest and the longest time, seconds, 0 or more")
        return boot_s

    @property
    def _usual(self) -> Sizes:
        return usual_sizes(self.shape, self.hosts, self.nics_per_host)

    @property
    def nics_per_host(self) -> int:
        return 1 if self.shape is Shape.SINGLE_RAIL else self.gpus_per_host

    @property
    def pod_hosts(self) -> int:
        return self.hosts_per_pod or self._usual.pod_hosts

    @property
    def leaf_rails(self) -> int:
        return self.rails_per_leaf or self._usual.leaf_rails

    @property
    def spine_count(self) -> int:
        """Switches above each leaf: the spines, or in three tiers the aggregation switches of a pod."""
        return self.spines or self._usual.spines

    @property
    def server_count(self) -> int:
        return self.storage_servers or max(2, self.hosts // 8)

    @property
    def leaves_per_pod(self) -> int:
        return self.nics_per_host // self.leaf_rails

    @property
    def uplink_bits_per_second(self) -> float:
        """Speed of the link from a leaf to each switch above it."""
        if self.oversubscription > 1.0 and self.shape is not Shape.THREE_TIER:
            down = self.pod_hosts * self.leaf_rails * self.nic_gbps
            return 1e9 * down / self.spine_count / self.oversubscription
        return 1e9 * (self.uplink_gbps or self._usual.uplink_gbps)

    @property
    def core_bits_per_second(self) -> float:
        """Speed of the link from an aggregation switch to each of its cores, which are as many as its leaves."""
        return self.uplink_bits_per_second / self.oversubscription
