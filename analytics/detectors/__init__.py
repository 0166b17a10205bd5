"""The detectors, one a file; ``detectors()`` is the list that the engine runs, in this order."""

from analytics.config import DetectionConfig
from analytics.detectors.base import Detector
from analytics.detectors.bgp_session import BgpSession
from analytics.detectors.checkpoint_colliding import CheckpointColliding
from analytics.detectors.checkpoint_late import CheckpointLate
from analytics.detectors.checkpoint_overdue import CheckpointOverdue
from analytics.detectors.deviation import Deviation
from analytics.detectors.device_rebooted import DeviceRebooted
from analytics.detectors.ecmp_imbalance import EcmpImbalance
from analytics.detectors.ecn_marking import EcnMarking
from analytics.detectors.fec_budget import FecBudget
from analytics.detectors.gpu_ecc import GpuEcc
from analytics.detectors.gpu_hung import GpuHung
from analytics.detectors.gpu_lost import GpuLost
from analytics.detectors.gpu_nvlink_errors import GpuNvlinkErrors
from analytics.detectors.gpu_pcie import GpuPcie
from analytics.detectors.gpu_power_limit import GpuPowerLimit
from analytics.detectors.gpu_row_remap import GpuRowRemap
from analytics.detectors.gpu_throttle import GpuThrottle
from analytics.detectors.gpu_xid import GpuXid
from analytics.detectors.ib_symbol_errors import IbSymbolErrors
from analytics.detectors.inlet_hot import InletHot
from analytics.detectors.job_slowed import JobSlowed
from analytics.detectors.job_stalled import JobStalled
from analytics.detectors.link_down import LinkDown
from analytics.detectors.link_errors import LinkErrors
from analytics.detectors.link_flapping import LinkFlapping
from analytics.detectors.link_slow import LinkSlow
from analytics.detectors.lossless_drops import LosslessDrops
from analytics.detectors.metadata_storm import MetadataStorm
from analytics.detectors.part_failed import PartFailed
from analytics.detectors.pause_storm import PauseStorm
from analytics.detectors.peers import odd_peers, slow_peers
from analytics.detectors.pfc_pause import PfcPause
from analytics.detectors.pfc_without_ecn import PfcWithoutEcn
from analytics.detectors.queue_congested import QueueCongested
from analytics.detectors.rack_hot import RackHot
from analytics.detectors.series_vanished import SeriesVanished
from analytics.detectors.storage_slow import StorageSlow
from analytics.detectors.storage_throughput import StorageThroughput
from analytics.detectors.straggler import Straggler
from analytics.detectors.target_frozen import TargetFrozen
from analytics.detectors.target_silent import TargetSilent
from telemetry.findings import FindingKind


def detectors(config: DetectionConfig) -> tuple[Detector, ...]:
    """Every detector, with the site's limits."""
    return (
        PfcPause(FindingKind.PFC_PAUSE_RECEIVED, config.pause_ratio_max, config.link_bits_per_second),
        PfcPause(FindingKind.PFC_PAUSE_SENT, config.pause_ratio_max, config.link_bits_per_second),
        PauseStorm(),
        PfcWithoutEcn(),
        EcnMarking(),
        QueueCongested(config.pause_threshold_bytes),
        LosslessDrops(config.lossless_queues),
        LinkDown(),
        LinkFlapping(),
        LinkErrors(),
        FecBudget(config.link_bits_per_second),
        IbSymbolErrors(config.link_bits_per_second),
        LinkSlow(),
        EcmpImbalance(config.link_bits_per_second),
        BgpSession(),
        GpuThrottle(),
        GpuXid(),
        GpuLost(),
        GpuHung(),
        GpuEcc(),
        GpuRowRemap(),
        GpuNvlinkErrors(),
        GpuPcie(),
        GpuPowerLimit(),
        SeriesVanished(),
        RackHot(),
        InletHot(),
        PartFailed(),
        StorageSlow(),
        StorageThroughput(),
        MetadataStorm(),
        Straggler(),
        slow_peers(),
        odd_peers(),
        JobSlowed(),
        JobStalled(),
        CheckpointLate(),
        CheckpointOverdue(),
        CheckpointColliding(),
        TargetSilent(),
        TargetFrozen(),
        DeviceRebooted(),
        Deviation(config.scored),
    )
