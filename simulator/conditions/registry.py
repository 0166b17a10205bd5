"""``CONDITIONS``: all conditions by the names that ``ConditionConfig`` uses."""

from simulator.conditions.base import Condition
from simulator.conditions.files import MetadataLoad, OneStripeFiles
from simulator.conditions.hashing import HashCollisions
from simulator.conditions.hiccups import PcieHiccups
from simulator.conditions.jobs import ApplicationXids, CancelledJobs, UserCrashes
from simulator.conditions.noise import NoiseWithMemory
from simulator.conditions.power import ChipSpread, PowerCap
from simulator.conditions.recorded import RecordedH100
from simulator.conditions.storage import HddTargets, OtherClients, StorageRebuild

CONDITIONS: dict[str, type[Condition]] = {
    condition.name: condition
    for condition in (
        PcieHiccups,
        PowerCap,
        ChipSpread,
        ApplicationXids,
        UserCrashes,
        CancelledJobs,
        HashCollisions,
        OtherClients,
        OneStripeFiles,
        StorageRebuild,
        MetadataLoad,
        HddTargets,
        NoiseWithMemory,
        RecordedH100,
    )
}
