"""The detectors, one a file; ``detectors()`` is the list of all."""

from analytics.config import DetectionConfig
from analytics.detectors.environment.inlet_hot import InletHot
from analytics.detectors.environment.part_failed import PartFailed
from analytics.detectors.environment.rack_hot import RackHot
from analytics.detectors.fabric.bgp_session import BgpSession
from analytics.detectors.fabric.ecmp_imbalance import EcmpImbalance
from analytics.detectors.fabric.ecn_marking import EcnMarking
from analytics.detectors.fabric.fec_budget import FecBudget, FecMargin
from analytics.detectors.fabric.ib_symbol_errors import IbSymbolErrors
from analytics.detectors.fabric.link_bounced import LinkBounced
from analytics.detectors.fabric.link_down import LinkDown
from analytics.detectors.fabric.link_errors import LinkErrors
from analytics.detectors.fabric.link_flapping import LinkFlapping
from analytics.detectors.fabric.link_slow import LinkSlow
from analytics.detectors.fabric.lossless_drops import LosslessDrops
from analytics.detectors.fabric.pause_storm import PauseStorm
from analytics.detectors.fabric.pfc_pause import pfc_pauses
from analytics.detectors.fabric.pfc_without_ecn import PfcWithoutEcn
from analytics.detectors.fabric.queue_congested import QueueCongested
from analytics.detectors.general.deviation import Deviation
from analytics.detectors.general.peers import deviating_peers, slow_peers
from analytics.detectors.general.runs_out import runs_out
from analytics.detectors.gpu.gpu_clock_held import GpuClockHeld
from analytics.detectors.gpu.gpu_ecc import GpuEcc
from analytics.detectors.gpu.gpu_hot import GpuHot
from analytics.detectors.gpu.gpu_hung import GpuHung
from analytics.detectors.gpu.gpu_lost import GpuLost
from analytics.detectors.gpu.gpu_nvlink_errors import GpuNvlinkErrors
from analytics.detectors.gpu.gpu_pcie import GpuPcie
from analytics.detectors.gpu.gpu_power_limit import GpuPowerLimit
from analytics.detectors.gpu.gpu_row_remap import GpuRowRemap
from analytics.detectors.gpu.gpu_throttle import GpuThrottle
from analytics.detectors.gpu.gpu_xid import GpuXid
from analytics.detectors.gpu.program_error import ProgramError
from analytics.detectors.jobs.checkpoint_colliding import CheckpointColliding
from analytics.detectors.jobs.checkpoint_late import CheckpointLate
from analytics.detectors.jobs.checkpoint_member import CheckpointMember
from analytics.detectors.jobs.checkpoint_overdue import CheckpointOverdue
from analytics.detectors.jobs.collective_below_baseline import CollectiveBelowBaseline
from analytics.detectors.jobs.job_idle import JobIdle
from analytics.detectors.jobs.job_slowed import JobSlowed
from analytics.detectors.jobs.job_stalled import JobStalled
from analytics.detectors.jobs.straggler import Straggler
from analytics.detectors.jobs.tcp_fallback import TcpFallback
from analytics.detectors.spec import Detector
from analytics.detectors.storage.metadata_storm import MetadataStorm
from analytics.detectors.storage.storage_slow import StorageSlow
from analytics.detectors.storage.storage_throughput import StorageThroughput
from analytics.detectors.storage.storage_timeouts import StorageTimeouts
from analytics.detectors.storage.storage_wait import StorageWait
from analytics.detectors.telemetry.device_rebooted import DeviceRebooted
from analytics.detectors.telemetry.series_vanished import SeriesVanished
from analytics.detectors.telemetry.software_changed import SoftwareChanged
from analytics.detectors.telemetry.target_cut_off import TargetCutOff
from analytics.detectors.telemetry.target_frozen import TargetFrozen
from analytics.detectors.telemetry.target_silent import TargetSilent


def detectors(config: DetectionConfig) -> tuple[Detector, ...]:
    """Every detector, with the site's limits."""
    return (
        *pfc_pauses(config.pause_ratio_max, config.link_bits_per_second),
        PauseStorm(bits_per_second=config.link_bits_per_second),
        PfcWithoutEcn(ratio_max=config.pause_ratio_max, bits_per_second=config.link_bits_per_second),
        EcnMarking(),
        QueueCongested(threshold_bytes=config.pause_threshold_bytes),
        LosslessDrops(queues=config.lossless_queues),
        LinkDown(),
        LinkBounced(),
        LinkFlapping(),
        LinkErrors(),
        FecBudget(bits_per_second=config.link_bits_per_second),
        FecMargin(bits_per_second=config.link_bits_per_second),
        IbSymbolErrors(bits_per_second=config.link_bits_per_second),
        LinkSlow(),
        EcmpImbalance(bits_per_second=config.link_bits_per_second),
        BgpSession(),
        GpuThrottle(),
        GpuClockHeld(),
        GpuHot(),
        GpuXid(),
        ProgramError(),
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
        StorageWait(),
        StorageTimeouts(),
        Straggler(),
        slow_peers(),
        deviating_peers(),
        JobSlowed(),
        JobIdle(),
        JobStalled(),
        CheckpointLate(),
        CheckpointMember(),
        CheckpointOverdue(),
        CheckpointColliding(),
        TcpFallback(),
        CollectiveBelowBaseline(share=config.collective_baseline_share),
        TargetSilent(),
        TargetCutOff(),
        TargetFrozen(),
        DeviceRebooted(),
        SoftwareChanged(),
        Deviation(metrics=tuple(config.scored), least=config.scored),
        *runs_out(config),
    )
