"""Which cluster is simulated, what breaks on it, and when."""

from dataclasses import dataclass

JOBS = 3


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """name, target: as of ``fabricscope simulate --fault``. words: what happens there."""

    name: str
    target: str
    words: str


# Hosts are dealt out to the jobs in turn: node4 works for the first, node5 for the second, and all read from scratch.
FAULTS = (
    PlannedFault("slow-receiver", "node4/mlx5_2", "PCIe of a host stalls, so one of its NICs pauses its leaf"),
    PlannedFault("gpu-thermal-throttle", "node5/3", "a heat sink lost contact, so a GPU gets too warm under load"),
    PlannedFault("slow-storage-target", "scratch/OST0001", "a storage target serves 6 % of its throughput"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The run, in real time.

    warm_up_s: from the first job on, two checkpoints. begin_s: from the order until the faults begin, all at once.
    shown_s: from then until the pictures are taken: a GPU takes a minute to get hot, and plots need a minute to be
    worth a look. recovery_s: after the repair, in which nothing may be opened.
    """

    hosts: int = 64
    interval_s: float = 10.0
    seed: int = 1
    warm_up_s: float = 300.0
    begin_s: float = 5.0
    shown_s: float = 100.0
    fault_s: float = 240.0
    recovery_s: float = 240.0
