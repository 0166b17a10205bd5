"""The families that are run both ways: unkind clusters of eight hosts, and telemetry as it comes."""

from evaluation.families.family import Family, FaultChoice
from evaluation.families.plans import FamilyPlan, plans

SEED = 301  # of no other evaluation
HOURS = 0.3  # simulated, of one cluster: two or three faults, each with time to recover
CLUSTERS = 1  # of each family
_UNKIND = ("pcie-hiccups", "chip-spread", "application-xids")
_WORK = ("data-parallel", "inference")
# Faults that need no running job: where there is none yet, a plan would be another one than what was served
_FAULTS = FaultChoice(
    kinds=(
        *("link-down", "dirty-optic", "slow-receiver", "straggler-gpu"),
        *("gpu-thermal-throttle", "xid", "slow-storage-target"),
    )
)

FAMILIES = (
    Family(
        name="intervals-and-losses",
        stands_for="each exporter at its own interval, and bursts of lost collections",
        conditions=_UNKIND,
        work=_WORK,
        faults=_FAULTS,
        collection="mixed-intervals+lossy",
    ),
    Family(
        name="without-pause-time",
        stands_for="the same with switches and NICs that count pause frames alone",
        conditions=_UNKIND,
        work=_WORK,
        faults=_FAULTS,
        collection="mixed-intervals+lossy+frames-only",
    ),
    Family(
        name="caches-and-clocks",
        stands_for="exporters with caches, switches with wrong clocks, Slurm that is polled slowly, an old inventory",
        conditions=_UNKIND,
        work=_WORK,
        faults=_FAULTS,
        collection="cached+skewed-clocks+slow-slurm+stale-inventory",
    ),
)


def planned() -> list[FamilyPlan]:
    """Every cluster: the first of each family, then the second."""
    return [plan for number in range(CLUSTERS) for family in FAMILIES for plan in plans(family, SEED + number, HOURS)]
