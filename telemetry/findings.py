"""Findings: one detector's claim about one object."""

from dataclasses import dataclass
from enum import StrEnum

from telemetry.objects import ObjectRef


class FindingKind(StrEnum):
    """What can be claimed: the closed set that detectors emit and correlation understands."""

    PFC_PAUSE_RECEIVED = "pfc_pause_received"  # port: its peer pauses it for much of the time
    PFC_PAUSE_SENT = "pfc_pause_sent"  # port: it pauses its peer
    ECN_MARKING = "ecn_marking"  # port: far more ECN marks than normal
    QUEUE_CONGESTED = "queue_congested"  # port: egress queue near the pause threshold
    LOSSLESS_DROPS = "lossless_drops"  # port: drops on a lossless queue
    PAUSE_STORM = "pause_storm"  # port: paused all the time and sends nothing, or a watchdog says so
    PFC_WITHOUT_ECN = "pfc_without_ecn"  # device: pauses its senders and marks nothing
    ECMP_IMBALANCE = "ecmp_imbalance"  # device: its uplinks carry very different loads
    BGP_SESSION = "bgp_session"  # device: a session that was established is not any more
    LINK_DOWN = "link_down"  # port
    LINK_FLAPPING = "link_flapping"  # port
    LINK_ERRORS = "link_errors"  # port: FEC, CRC or symbol errors, bit error ratio
    LINK_SLOW = "link_slow"  # port: speed or width below its rating
    OVERHEATED = "overheated"  # rack or device: warmer than its power explains, or than equipment is made for
    PART_FAILED = "part_failed"  # device: a power supply, fan or sensor is not well any more
    TARGET_SILENT = "target_silent"  # device: its telemetry stopped
    TARGET_FROZEN = "target_frozen"  # device: its telemetry repeats itself
    DEVICE_REBOOTED = "device_rebooted"  # device: counters started again
    GPU_THROTTLED = "gpu_throttled"  # gpu: clocks held down by heat or power
    GPU_XID = "gpu_xid"  # gpu: the driver reported an XID error
    GPU_LOST = "gpu_lost"  # gpu: its series vanished while its host still answers
    GPU_ECC = "gpu_ecc"  # gpu: memory lost bits, or loses too many that could be repaired
    GPU_ROW_REMAP = "gpu_row_remap"  # gpu: rows of its memory were replaced, wait for it, or cannot be
    GPU_NVLINK_ERRORS = "gpu_nvlink_errors"  # gpu: its NVLinks repeat or retrain
    GPU_PCIE = "gpu_pcie"  # gpu: fewer PCIe lanes than it had, or too many replays
    GPU_HUNG = "gpu_hung"  # gpu: a kernel that runs for ever and computes nothing
    STRAGGLER = "straggler"  # gpu: unlike the other members of its job
    JOB_STALLED = "job_stalled"  # job: all its GPUs wait
    JOB_SLOWED = "job_slowed"  # job: works less than it always did
    STORAGE_SLOW = "storage_slow"  # storage target: latency up or throughput collapsed
    METADATA_STORM = "metadata_storm"  # storage target: many times its usual metadata operations
    CHECKPOINT_LATE = "checkpoint_late"  # job: writing one takes far longer than usual
    CHECKPOINT_OVERDUE = "checkpoint_overdue"  # job: none for more than twice its period
    CHECKPOINT_COLLIDING = "checkpoint_colliding"  # job: another job writes its own at the same time
    CAPACITY = "capacity"  # port, device, storage target: will be full soon
    WEAR = "wear"  # port, gpu: wears out, and will reach its limit soon
    DEVIATION = "deviation"  # any: unlike its own normal


class FindingState(StrEnum):
    ACTIVE = "active"
    CLEARED = "cleared"  # fresh telemetry shows that it is over; missing telemetry never does


@dataclass(frozen=True, slots=True)
class Evidence:
    """One value against its normal. unit as in the catalogue; normal is None where nothing was learned yet."""

    series: str
    value: float
    normal: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, as of ``observed_ns``. ``id`` stays the same from onset to cleared.

    onset_ns:    event time of the first sample that shows it.
    observed_ns: event time of the newest sample that this version rests on.
    score:       how far from normal, 1.0 = the detector's own limit.
    confidence:  0..1.
    evidence:    strongest first, at most five.
    """

    id: str
    kind: FindingKind
    object: ObjectRef
    detector: str
    state: FindingState
    onset_ns: int
    observed_ns: int
    score: float
    confidence: float
    evidence: tuple[Evidence, ...]
